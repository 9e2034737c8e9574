"""Gemel: from a robot's logs to a digital twin that knows how far it can be trusted.

Importing this package loads nothing heavy; `ARCHITECTURE.md` says where things are.
"""

__version__ = "0.1.0"
