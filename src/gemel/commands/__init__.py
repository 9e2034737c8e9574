"""The commands of `gemel`, one file each: a frozen dataclass whose field docstrings are its help, and `run`."""
