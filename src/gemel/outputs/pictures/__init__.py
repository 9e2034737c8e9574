"""Pictures of what a stage did, as uint8 RGB arrays; only write.py touches files."""
