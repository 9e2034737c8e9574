"""The commands that reproduce every figure that the documentation states."""
