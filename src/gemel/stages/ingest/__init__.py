"""Raw logs -> Capture."""
