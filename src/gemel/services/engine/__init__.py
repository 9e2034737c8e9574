"""Map a pure function over many inputs: local processes here, a cluster behind the same protocol."""

from gemel.services.engine.engine import Engine, WorkerLostError, WorkFailedError
from gemel.services.engine.local import LocalEngine

__all__ = ["Engine", "LocalEngine", "WorkFailedError", "WorkerLostError"]
