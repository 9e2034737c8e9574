"""How an object slides under a pusher, quasi-statically. All about numba.

Without inertia a sliding object moves so that friction at its supports balances the push (Goyal, Ruina and Papadopoulos
1991). Each support bears a part of the weight and resists along its own velocity. The motion is found by turns, as
Weiszfeld (1937) found the median: with the speeds of the last turn each support is a linear damper, for which motion,
sticking and slipping of the tip have a closed form. Mass and friction of the table cancel, except that a push above the
table leans the object forward, so that the pressure's centre runs ahead of the centre of mass.
"""

import math

import numba  # noqa: TID253
import numpy as np

SUBSTEPS = 5
_TURNS = 3
_SQUARED_RADIUS = 0.0042
"""About the square of a small object's friction radius [m2], for the first turn."""
_LEANS_M = 5e-4
"""Shifts of the pressure's centre below this are not worth to balance anew [m]."""


@numba.njit(cache=True, nogil=True, fastmath=True)
def pushed_poses(poses, tips_now, tips_after, physics, rectangles, tip_radius, supports):  # type: ignore[no-untyped-def]
    """Poses (row, 3) after the tips went straight from `tips_now` to `tips_after` (row, 2), and how deep they pushed.

    `physics` (row, 5) are the centre of mass in the object's frame, x and y [m], tip friction, how far apart supports
    are against `supports`, and how far the pressure's centre leans ahead of a push [m]. `supports` (point, 3) are
    places in the object's frame [m] and the part of the weight that each bears where it is even. The depth (row,) [m]
    is the sum over substeps of what the tip would have entered the object: zero without contact.
    """
    out, depths = np.empty_like(poses), np.zeros(len(poses), dtype=poses.dtype)
    pressure, xs, ys = np.empty(len(supports)), np.empty(len(supports)), np.empty(len(supports))
    for row in range(len(poses)):
        x, y, yaw = poses[row]
        cx, cy, mu, spread, lean = physics[row]
        step_x = (tips_after[row, 0] - tips_now[row, 0]) / SUBSTEPS
        step_y = (tips_after[row, 1] - tips_now[row, 1]) / SUBSTEPS
        c, s = math.cos(yaw), math.sin(yaw)
        twist, leant = (0.0, 0.0, 0.0), (0.0, 0.0)
        for k in range(SUBSTEPS):
            wx = tips_now[row, 0] + (k + 1) * step_x - x
            wy = tips_now[row, 1] + (k + 1) * step_y - y
            px, py = c * wx + s * wy, c * wy - s * wx
            distance, nx, ny = _nearest(px, py, rectangles)
            depth = tip_radius - distance
            if depth <= 0.0:
                continue
            r, n = (px - distance * nx - cx, py - distance * ny - cy), (nx, ny)
            if depths[row] == 0.0:
                _balance(cx, cy, supports, pressure)
                for i in range(len(supports)):
                    xs[i], ys[i] = spread * (supports[i, 0] - cx), spread * (supports[i, 1] - cy)
                twist = (-nx, -ny, (r[1] * nx - r[0] * ny) / _SQUARED_RADIUS)
            depths[row] += depth
            clear = _cleared((c * step_x + s * step_y, c * step_y - s * step_x), n, depth)
            for turn in range(_TURNS if depths[row] == depth else 2):  # later substeps begin with the last one's speeds
                damping = _damping(twist, xs, ys, pressure)
                twist, force = _twist(r, n, clear, depth, mu, damping)
                if turn == 0 and lean > 0.0:
                    leant = _lean(force, leant, lean, (cx, cy), supports, pressure)
            moved_x, moved_y = twist[0] + twist[2] * cy, twist[1] - twist[2] * cx
            x, y, yaw = x + c * moved_x - s * moved_y, y + s * moved_x + c * moved_y, yaw + twist[2]
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
def _balance(cx, cy, supports, pressure):  # type: ignore[no-untyped-def]
    """Pressure at the supports: even but for a slope that balances the weight at (cx, cy), and nowhere below zero."""
    for i in range(len(supports)):
        pressure[i] = 1.0
    for _ in range(5):
        s0, sx, sy, sxx, sxy, syy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(len(supports)):
            if pressure[i] > 0.0:
                x, y, w = supports[i, 0] - cx, supports[i, 1] - cy, supports[i, 2]
                s0, sx, sy = s0 + w, sx + w * x, sy + w * y
                sxx, sxy, syy = sxx + w * x * x, sxy + w * x * y, syy + w * y * y
        a, bx, by = sxx * syy - sxy * sxy, sxy * sy - sx * syy, sx * sxy - sxx * sy
        scale = s0 * a + sx * bx + sy * by
        if scale < 1e-18:  # on a line or outside: as it was
            return
        is_same = True
        for i in range(len(supports)):
            value = a + bx * (supports[i, 0] - cx) + by * (supports[i, 1] - cy)
            borne = max(value * supports[i, 2] / scale, 0.0)
            is_same = is_same and (borne > 0.0) == (pressure[i] > 0.0)
            pressure[i] = borne
        if is_same:
            return


@numba.njit(cache=True, nogil=True, fastmath=True)
def _lean(force, leant, lean, centre, supports, pressure):  # type: ignore[no-untyped-def]
    """Balance anew, `lean` ahead of the centre along the force; returns where that is."""
    scale = lean / math.sqrt(force[0] ** 2 + force[1] ** 2 + 1e-18)
    ahead = (scale * force[0], scale * force[1])
    if abs(ahead[0] - leant[0]) + abs(ahead[1] - leant[1]) < _LEANS_M:
        return leant
    _balance(centre[0] + ahead[0], centre[1] + ahead[1], supports, pressure)
    return ahead


@numba.njit(cache=True, nogil=True, fastmath=True)
def _damping(twist, xs, ys, pressure):  # type: ignore[no-untyped-def]
    """The supports as dampers at these speeds: total, first moments and second moment about the centre."""
    total, mx, my, second = 0.0, 0.0, 0.0, 0.0
    vx, vy, turn = twist
    for i in range(len(xs)):
        x, y = xs[i], ys[i]
        w = pressure[i] / math.sqrt((vx - turn * y) ** 2 + (vy + turn * x) ** 2 + 1e-12)
        total += w
        mx += w * x
        my += w * y
        second += w * (x * x + y * y)
    return total, mx, my, second


@numba.njit(cache=True, nogil=True, fastmath=True)
def _answer(force, torque, damping):  # type: ignore[no-untyped-def]
    """Motion of the centre and turn under a force and a torque about the centre."""
    total, mx, my, second = damping
    turn = (torque - (mx * force[1] - my * force[0]) / total) / (second - (mx * mx + my * my) / total)
    return (force[0] + my * turn) / total, (force[1] - mx * turn) / total, turn


@numba.njit(cache=True, nogil=True, fastmath=True)
def _cleared(u, n, depth):  # type: ignore[no-untyped-def]
    """How the contact moves if it sticks: out of the tip's way, and along with the tip's step u as it does so."""
    closing = -(u[0] * n[0] + u[1] * n[1])
    part = min(1.0, depth / closing) if closing > 1e-9 else 0.0
    along = part * (u[1] * n[0] - u[0] * n[1])
    return -depth * n[0] - along * n[1], -depth * n[1] + along * n[0]


@numba.njit(cache=True, nogil=True, fastmath=True)
def _twist(r, n, clear, depth, mu, damping):  # type: ignore[no-untyped-def]
    """Motion of the centre and turn that clear `depth`, of a contact at r from the centre, and the force of the tip.

    n points out of the object; along the surface the tip drags the contact with it as far as friction allows.
    """
    (rx, ry), (nx, ny) = r, n
    ax, ay, aw = _answer((1.0, 0.0), -ry, damping)
    bx, by, bw = _answer((0.0, 1.0), rx, damping)
    m00, m10, m01, m11 = ax - aw * ry, ay + aw * rx, bx - bw * ry, by + bw * rx
    scale = 1.0 / (m00 * m11 - m01 * m10)
    fx, fy = scale * (m11 * clear[0] - m01 * clear[1]), scale * (m00 * clear[1] - m10 * clear[0])
    press, drag = -(fx * nx + fy * ny), fy * nx - fx * ny
    if press <= 0.0 or abs(drag) > mu * press:  # the force would be outside the cone: the contact slips
        side = mu if drag > 0.0 else -mu
        fx, fy = -nx - side * ny, -ny + side * nx
        opening = -(nx * (m00 * fx + m01 * fy) + ny * (m10 * fx + m11 * fy))
        push = depth / max(opening, 1e-9)
        fx, fy = push * fx, push * fy
    return (ax * fx + bx * fy, ay * fx + by * fy, aw * fx + bw * fy), (fx, fy)
