"""Segment: frames and prompts become masks."""
