"""Tracked poses as starts of simulations: what lies on the table lies on it, not a hair above or inside."""

import numpy as np

from gemel.geometry import SE3, SO3

_MOST_TILT_RAD, _MOST_HEIGHT_M = 0.1, 0.02


def laid_down(tracked: SE3, rest: SE3 | None) -> SE3:
    """The pose with height and tilt of the resting object, where it is near to that; else as tracked."""
    if rest is None:
        return tracked
    turn = (tracked.rotation @ rest.rotation.inverse()).as_matrix()
    yaw = float(np.arctan2(turn[1, 0] - turn[0, 1], turn[0, 0] + turn[1, 1]))
    flat = SO3.exp(np.array([0.0, 0.0, yaw])) @ rest.rotation
    height = float(tracked.translation[2] - rest.translation[2])
    if float(flat.angle_to(tracked.rotation)) > _MOST_TILT_RAD or abs(height) > _MOST_HEIGHT_M:
        return tracked
    return SE3(flat, np.array([*tracked.translation[:2], rest.translation[2]]))
