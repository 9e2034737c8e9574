"""Segmenters, each behind the same function signature."""
