"""Holdout, twin and beliefs -> Evidence."""
