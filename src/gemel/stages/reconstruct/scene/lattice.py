"""Even-sided triangles in the plane."""

import numpy as np
from jaxtyping import Float, Int

Box = Float[np.ndarray, "2 2"]
"""Low and high corner, x and y [m]."""


def lattice(box: Box, edge_m: float) -> tuple[Float[np.ndarray, "v 2"], Int[np.ndarray, "f 3"]]:
    """Even-sided triangles that cover a rectangle, seen from above counter-clockwise."""
    size = box[1] - box[0]
    rise_m = np.sqrt(0.75) * edge_m
    columns, rows = int(np.ceil(size[0] / edge_m)) + 2, int(np.ceil(size[1] / rise_m)) + 1
    j, i = np.mgrid[:rows, :columns]
    x = box[0, 0] + (i + 0.5 * (j % 2) - 0.5) * edge_m
    vertices = np.stack([x, box[0, 1] + j * rise_m], axis=-1).reshape(-1, 2)
    a = (j * columns + i)[:-1, :-1]
    b, c, d = a + 1, a + columns, a + columns + 1
    is_even = (j % 2 == 0)[:-1, :-1, None]
    first = np.where(is_even, np.stack([a, b, c], -1), np.stack([a, b, d], -1))
    second = np.where(is_even, np.stack([b, d, c], -1), np.stack([a, d, c], -1))
    return vertices, np.concatenate([first.reshape(-1, 3), second.reshape(-1, 3)]).astype(np.int64)
