"""Reconstruction and Belief -> Twin."""
