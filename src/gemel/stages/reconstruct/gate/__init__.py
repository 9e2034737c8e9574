"""The gate: what a reconstruction has to show before anything is built on it."""
