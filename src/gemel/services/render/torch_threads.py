"""Keeps torch to one thread while our own kernels use the cores.

Fits call torch for many small operations between renderings. Its OpenMP threads then only spin beside the renderer's,
which costs most when another job wants the cores too.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Within, torch computes on one thread; afterwards on as many as before."""
    import torch

    count = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(count)
