"""How an object slides under a pusher, quasi-statically: the ellipsoidal limit surface. All about numba.

Without inertia a sliding object turns about the point that balances friction with the push. With the limit surface
taken as an ellipsoid (Howe and Cutkosky 1996; motion of a pushed object by Lynch, Maekawa and Tanie 1992) the motion
has a closed form in four numbers: the centre of friction, which for even friction lies under the centre of mass, the
friction radius c (largest moment over largest force), and the friction of the tip. Mass and friction of the table
cancel.
"""

import math

import numba  # noqa: TID253
import numpy as np

SUBSTEPS = 5


@numba.njit(cache=True, nogil=True, fastmath=True)
def pushed_poses(poses, tips_now, tips_after, physics, rectangles, tip_radius):  # type: ignore[no-untyped-def]
    """Poses (row, 3) after the tips went straight from `tips_now` to `tips_after` (row, 2), and how deep they pushed.

    `physics` (row, 4) are the centre of mass in the object's frame, x and y [m], tip friction and friction radius [m].
    The depth (row,) [m] is the sum over substeps of what the tip would have entered the object: zero without contact.
    """
    out, depths = np.empty_like(poses), np.zeros(len(poses), dtype=poses.dtype)
    for row in range(len(poses)):
        x, y, yaw = poses[row]
        cx, cy, mu, radius = physics[row]
        step_x = (tips_after[row, 0] - tips_now[row, 0]) / SUBSTEPS
        step_y = (tips_after[row, 1] - tips_now[row, 1]) / SUBSTEPS
        c, s = math.cos(yaw), math.sin(yaw)
        for k in range(SUBSTEPS):
            wx = tips_now[row, 0] + (k + 1) * step_x - x
            wy = tips_now[row, 1] + (k + 1) * step_y - y
            px, py = c * wx + s * wy, c * wy - s * wx
            distance, nx, ny = _nearest(px, py, rectangles)
            depth = tip_radius - distance
            if depth <= 0.0:
                continue
            depths[row] += depth
            ux, uy = c * step_x + s * step_y, c * step_y - s * step_x
            r = (px - distance * nx - cx, py - distance * ny - cy)
            vx, vy, turn = _twist(r, (nx, ny), (ux, uy), depth, mu, radius)
            moved_x, moved_y = vx + turn * cy, vy - turn * cx
            x, y, yaw = x + c * moved_x - s * moved_y, y + s * moved_x + c * moved_y, yaw + turn
            c, s = math.cos(yaw), math.sin(yaw)
        out[row, 0], out[row, 1], out[row, 2] = x, y, yaw
    return out, depths


@numba.njit(cache=True, nogil=True, fastmath=True)
def _nearest(px, py, rectangles):  # type: ignore[no-untyped-def]
    """Signed distance from a union of rectangles, and the outward direction there."""
    best, best_x, best_y = 1e9, 1.0, 0.0
    for k in range(len(rectangles)):
        qx, qy = px - rectangles[k, 0], py - rectangles[k, 1]
        dx, dy = abs(qx) - rectangles[k, 2], abs(qy) - rectangles[k, 3]
        sx, sy = (1.0 if qx >= 0.0 else -1.0), (1.0 if qy >= 0.0 else -1.0)
        if dx <= 0.0 and dy <= 0.0:
            distance = max(dx, dy)
            nx, ny = (sx, 0.0) if dx > dy else (0.0, sy)
        else:
            ox, oy = max(dx, 0.0), max(dy, 0.0)
            distance = math.sqrt(ox * ox + oy * oy)
            nx, ny = sx * ox / distance, sy * oy / distance
        if distance < best:
            best, best_x, best_y = distance, nx, ny
    return best, best_x, best_y


@numba.njit(cache=True, nogil=True, fastmath=True)
def _twist(r, n, u, depth, mu, radius):  # type: ignore[no-untyped-def]
    """Motion of the centre of friction and turn that clear `depth`, of a contact at r from the centre.

    n points out of the object, u is the tip's step; along the surface the tip drags the contact with it as far as
    friction allows.
    """
    (rx, ry), (nx, ny), (ux, uy) = r, n, u
    tx, ty = -ny, nx
    closing = -(ux * nx + uy * ny)
    part = min(1.0, depth / closing) if closing > 1e-9 else 0.0
    along = part * (ux * tx + uy * ty)
    wx, wy = -depth * nx + along * tx, -depth * ny + along * ty
    c2 = radius * radius
    below = c2 + rx * rx + ry * ry
    vx = ((c2 + rx * rx) * wx + rx * ry * wy) / below
    vy = (rx * ry * wx + (c2 + ry * ry) * wy) / below
    press, drag = -(vx * nx + vy * ny), vx * tx + vy * ty
    if press > 0.0 and abs(drag) <= mu * press:  # the force is within the cone: the contact sticks
        return vx, vy, (rx * vy - ry * vx) / c2
    side = mu if drag > 0.0 else -mu
    fx, fy = -nx + side * tx, -ny + side * ty
    turn = (rx * fy - ry * fx) / c2
    opening = -(nx * (fx - turn * ry) + ny * (fy + turn * rx))
    scale = depth / max(opening, 1e-6)
    return scale * fx, scale * fy, scale * turn
