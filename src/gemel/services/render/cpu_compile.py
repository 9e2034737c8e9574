"""How the CPU kernels are compiled: cached on disk, without the interpreter lock, with numpy's rules for division.

This file's whole point is numba, so it imports numba at module level.

`nogil` is what lets cpu_threads.py run kernels side by side on plain Python threads. Why not numba's own `prange`:
by its documentation the `workqueue` layer does not allow two Python threads at once and the `omp` layer (GNU) no fork;
and a prototype with a second OpenMP runtime spinning beside torch's ran 20 times slower.

numba renews its cache when the file that holds a kernel changes, but not when a file changes that the kernel calls. So
every kernel gets a closure cell with a hash of all kernel sources: numba makes closures part of the cache key.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

from numba import njit  # noqa: TID253 - this file exists for numba

Function = TypeVar("Function", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def sources_hash() -> str:
    """SHA-256 over the sources of all kernels, in this folder."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name.startswith(("cpu_", "simd", "spherical_harmonics")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _with_hash(function: Callable[..., Any]) -> FunctionType:
    """The same function with one closure cell that holds the sources' hash."""
    plain = cast(FunctionType, function)
    code = plain.__code__.replace(co_freevars=(*plain.__code__.co_freevars, "sources"))
    closure = (*(plain.__closure__ or ()), CellType(sources_hash()))
    made = FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, closure)
    made.__qualname__, made.__module__, made.__doc__ = plain.__qualname__, plain.__module__, plain.__doc__
    return made


def kernel(function: Function) -> Function:
    """Compile an entry point that Python calls."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(_with_hash(function)))


def part(function: Function) -> Function:
    """Compile a function that only kernels call; LLVM inlines it where that pays."""
    return cast(Function, njit(error_model="numpy", nogil=True)(function))


def inlined(function: Function) -> Function:
    """Like `part`, and LLVM must inline it: for the innermost functions, whose constants then stay in registers."""
    return cast(Function, njit(error_model="numpy", nogil=True, forceinline=True)(function))
