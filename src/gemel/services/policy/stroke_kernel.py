"""What sequences of strokes cost: motions of an object put one after the other, many at once. All about numba."""

import math

import numba  # noqa: TID253
import numpy as np


@numba.njit(cache=True, nogil=True, fastmath=True)
def plan_costs(poses, leaves, spent_s, strokes, goal, reach, weights):  # type: ignore[no-untyped-def]
    """Costs (pose, stroke) of making each stroke where the object lies in each of the poses (pose, 3).

    `leaves` (pose, 3) are where the tip is, x and y in the object's frame and its place on the way round [m]; `spent_s`
    (pose,) is the time until then. Columns of `strokes`: motion in the object's frame (x, y, yaw), start and end in it
    (x, y each), place of the start on the way round, seconds that it takes, its usual error [m]. `reach` are lowest x
    and y, highest x and y [m]; `weights` are metres for a radian, metres for a second, length of the way round [m],
    walking speed [m/s], seconds that are left. Infinite where it is out of reach or of time.
    """
    arm_m, second_m, around_m, speed_m_s, left_s = weights
    costs = np.empty((len(poses), len(strokes)))
    for row in range(len(poses)):
        x, y, yaw = poses[row]
        c, s = math.cos(yaw), math.sin(yaw)
        for k in range(len(strokes)):
            dx, dy, turn, sx, sy, ex, ey, place, seconds, error = strokes[k]
            costs[row, k] = np.inf
            first_x, first_y = x + c * sx - s * sy, y + s * sx + c * sy
            last_x, last_y = x + c * ex - s * ey, y + s * ex + c * ey
            if min(first_x, last_x) < reach[0] or min(first_y, last_y) < reach[1]:
                continue
            if max(first_x, last_x) > reach[2] or max(first_y, last_y) > reach[3]:
                continue
            apart = abs(leaves[row, 2] - place)
            straight = math.sqrt((leaves[row, 0] - sx) ** 2 + (leaves[row, 1] - sy) ** 2)
            way = max(straight, min(apart, around_m - apart))
            total_s = spent_s[row] + way / speed_m_s + seconds
            if total_s > left_s:
                continue
            off_x, off_y = x + c * dx - s * dy - goal[0], y + s * dx + c * dy - goal[1]
            off = (yaw + turn - goal[2] + math.pi) % (2.0 * math.pi) - math.pi
            far = math.sqrt(off_x * off_x + off_y * off_y) + arm_m * abs(off)
            costs[row, k] = math.sqrt(far * far + error * error) + second_m * total_s
    return costs
