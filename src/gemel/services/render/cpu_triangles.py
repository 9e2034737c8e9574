"""The kernel that fills a depth buffer with triangles; see mesh_raster.py."""

import numpy as np

from gemel.services.render.cpu_compile import kernel, part


@part
def _edge(ax: float, ay: float, bx: float, by: float, x: float, y: float) -> float:
    """Twice the signed area of a, b and the pixel."""
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax)


@kernel
def fill_triangles(corners: np.ndarray, ids: np.ndarray, depth: np.ndarray, face_index: np.ndarray) -> None:
    """Draw triangles (t, 3, 3) of rows (x px, y px, 1/z) into depth (h, w) [m] and face_index (h, w).

    1/z is linear over the image, so depth is exact. Both windings are drawn. Nearer faces win, at equal depth the
    first.
    """
    height, width = depth.shape
    for t in range(len(corners)):
        ax, ay, aw = corners[t, 0]
        bx, by, bw = corners[t, 1]
        cx, cy, cw = corners[t, 2]
        area = _edge(ax, ay, bx, by, cx, cy)
        if area == 0.0:
            continue
        left = max(0, int(np.floor(min(ax, bx, cx) - 0.5)))
        right = min(width - 1, int(np.ceil(max(ax, bx, cx) - 0.5)))
        top = max(0, int(np.floor(min(ay, by, cy) - 0.5)))
        bottom = min(height - 1, int(np.ceil(max(ay, by, cy) - 0.5)))
        for row in range(top, bottom + 1):
            y = row + 0.5
            for column in range(left, right + 1):
                x = column + 0.5
                a = _edge(bx, by, cx, cy, x, y) / area
                b = _edge(cx, cy, ax, ay, x, y) / area
                c = 1.0 - a - b
                if a < 0.0 or b < 0.0 or c < 0.0:
                    continue
                z = 1.0 / (a * aw + b * bw + c * cw)
                if z < depth[row, column]:
                    depth[row, column] = z
                    face_index[row, column] = ids[t]
