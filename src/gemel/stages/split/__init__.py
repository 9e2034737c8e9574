"""Capture -> calibration, validation, sealed holdout."""
