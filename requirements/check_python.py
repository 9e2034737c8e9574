"""Stops `make install` early, with words, on a Python that Gemel does not support."""

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 12):
    sys.exit(
        f"Gemel needs Python 3.11 (everything) or 3.12 (without torch); this is {sys.version.split()[0]}.\n"
        "  What to do: make install PYTHON=python3.11"
    )
