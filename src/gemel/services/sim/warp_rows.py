"""Rows of arrays on a device: written without moving the rest. This file's whole point is warp, so it imports it."""

from typing import Any

import numpy as np
import warp as wp  # noqa: TID253
from jaxtyping import Int

from gemel.services.sim.warp_kernel import scatter


def write_rows(field: Any, rows: Int[np.ndarray, " row"], values: np.ndarray) -> None:
    """Write (row, ...) values into some rows of a `wp.array` of floats, vectors or matrices of floats."""
    count = field.shape[0]
    width = field.size * wp.types.type_size(field.dtype) // max(count, 1)
    if not width or not len(rows):
        return
    flat = wp.array(ptr=field.ptr, dtype=wp.float32, shape=(count, width), device=field.device, copy=False)
    given = np.ascontiguousarray(np.broadcast_to(values, (len(rows), *np.shape(values)[1:])), dtype=np.float32)
    wp.launch(
        scatter, dim=(len(rows), width), device=field.device,
        inputs=[
            wp.array(given.reshape(len(rows), width), dtype=wp.float32, device=field.device),
            wp.array(rows.astype(np.int32), dtype=int, device=field.device), flat,
        ],
    )  # fmt: skip
