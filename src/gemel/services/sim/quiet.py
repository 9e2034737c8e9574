"""MuJoCo without its log: a simulation that breaks down is flagged, not printed and written to the working folder."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any


class _LogConfig(ctypes.Structure):
    """`mjLogConfig` of mjtype.h (MuJoCo 4.0); Python has no binding of it."""

    _fields_ = (
        ("logto_console", ctypes.c_bool),
        ("logto_file", ctypes.c_bool),
        ("logfile", ctypes.c_char * 1024),
        ("topics", ctypes.c_int),
    )


@contextmanager
def quiet_warnings() -> Iterator[None]:
    """Keep MuJoCo from printing and logging warnings; counters count them all the same."""
    library = mujoco_library()
    if library is None:
        yield
        return
    before = library.mju_getLogConfig()
    quiet = _LogConfig(False, False, before.logfile, before.topics)
    library.mju_setLogConfig(quiet)
    try:
        yield
    finally:
        library.mju_setLogConfig(before)


@cache
def mujoco_library() -> Any:
    """MuJoCo's own library, or None where it has no log to configure."""
    import mujoco

    for path in Path(mujoco.__file__).parent.glob("*mujoco*"):
        if path.suffix in (".dll", ".dylib") or path.name.startswith("libmujoco.so"):
            library = ctypes.CDLL(str(path))
            if hasattr(library, "mju_setLogConfig"):
                library.mju_getLogConfig.restype = _LogConfig
                library.mju_setLogConfig.argtypes = [_LogConfig]
                library.mju_setLogConfig.restype = None
                return library
    return None
