"""Small views of nothing in particular, for tests of what carries them."""

import numpy as np

from gemel.geometry import SE3
from gemel.stages.reconstruct.views import Views


def ring_poses(count: int, *, radius_m: float = 0.5, height_m: float = 0.4) -> SE3:
    """Cameras on a circle that look at the origin."""
    angles = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    eyes = np.stack([radius_m * np.cos(angles), radius_m * np.sin(angles), np.full(count, height_m)], axis=-1)
    return SE3.look_at(eyes, np.zeros((count, 3)), np.broadcast_to(np.array([0.0, 0.0, 1.0]), (count, 3)))


def blank_views(count: int, *, width: int = 16, height: int = 12) -> Views:
    """Black images without an object."""
    return Views(
        camera_names=("camera",) * count,
        images=np.zeros((count, height, width, 3), np.float32),
        masks=np.zeros((count, height, width), np.float32),
        ignore=np.zeros((count, height, width), bool),
        Ts_world_camera=ring_poses(count),
        intrinsics=np.tile([20.0, 20.0, width / 2, height / 2], (count, 1)),
    )
