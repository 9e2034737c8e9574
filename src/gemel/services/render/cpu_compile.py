"""How the CPU kernels are compiled: cached on disk, without the interpreter lock, with numpy's rules for division.

This file's whole point is numba, so it imports numba at module level.

`nogil` is what lets cpu_threads.py run kernels side by side on plain Python threads. Why not numba's own `prange`:
its `workqueue` layer aborts the process when two Python threads render at once, its `omp` layer brings a second
OpenMP runtime that spins against torch's (a prototype ran 20 times slower) and kills forked children.

numba renews its cache by the date of the file that holds the kernel, not of the files that it calls: after editing
a called file, touch the callers or delete `__pycache__`.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit  # noqa: TID253 - this file exists for numba

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile an entry point that Python calls."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function))


def part(function: Function) -> Function:
    """Compile a function that only kernels call; LLVM inlines it where that pays."""
    return cast(Function, njit(error_model="numpy", nogil=True, boundscheck=False)(function))
