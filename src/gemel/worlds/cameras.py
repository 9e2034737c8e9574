"""Camera rigs as the lab's notes describe them: two fixed cameras, and one on each wrist.

These are the guesses that the user is given. Where the cameras really are is drawn from the world's seed, see
`hidden.py`.
"""

import math

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.geometry import SE3, Pinhole
from gemel.worlds.machine import Machine

_X = np.array([1.0, 0.0, 0.0])
_UP = np.array([0.0, 0.0, 1.0])
_FIXED_VIEW_DEG = 47.0
_WRIST_VIEW_DEG = 76.0
_FIXED_SIGMA = (math.radians(1.5), 0.008)
"""What the lab believes of its calibration: standard deviations [rad] and [m]."""


def push_rig(size: tuple[int, int], *, arm_occlusion: bool) -> tuple[Camera, ...]:
    """Front and side over the table; with occlusion the second looks over the arm's shoulder."""
    work = np.array([0.44, 0.0, 0.02])
    front = _fixed("front", np.array([1.02, 0.42, 0.56]), work, size)
    eye = np.array([-0.06, 0.52, 0.62]) if arm_occlusion else np.array([0.90, -0.58, 0.52])
    side = _fixed("side", eye, work, size)
    wrist = _wrist("wrist", "link6", np.array([0.070, 0.0, 0.022]), np.array([0.048, 0.0, 0.222]), _X, size)
    return front, side, wrist


def handover_rig(size: tuple[int, int], *, arm_occlusion: bool) -> tuple[Camera, ...]:
    """High and low in front of the two arms, and one camera on each wrist."""
    middle = np.array([0.0, 0.0, 0.14])
    high = _fixed("high", np.array([0.86, 0.0, 0.86]), middle - 0.06 * _UP, size)
    eye = np.array([0.62, -0.62, 0.34]) if arm_occlusion else np.array([0.95, 0.0, 0.30])
    low = _fixed("low", eye, middle, size)
    wrists = [
        _wrist(
            f"{side}_wrist",
            f"{side}_link_6",
            np.array([0.060, 0.0, 0.060]),
            np.array([0.20, 0.0, 0.004]),
            _UP,
            size,
        )
        for side in ("left", "right")
    ]
    return high, low, *wrists


def rig_for(machine: Machine, size: tuple[int, int], *, arm_occlusion: bool) -> tuple[Camera, ...]:
    """The rig that belongs to a machine."""
    make = handover_rig if len(machine.arms) > 1 else push_rig
    return make(size, arm_occlusion=arm_occlusion)


def _fixed(name: str, eye: np.ndarray, target: np.ndarray, size: tuple[int, int]) -> Camera:
    T_world_camera = SE3.look_at(eye, target, _UP)
    return _camera(name, size, _FIXED_VIEW_DEG, T_world_camera, "world")


def _wrist(name: str, link: str, eye: np.ndarray, target: np.ndarray, up: np.ndarray, size: tuple[int, int]) -> Camera:
    """A camera on a link, all three vectors in the link's frame; `up` is the side on which the camera is mounted."""
    return _camera(name, size, _WRIST_VIEW_DEG, SE3.look_at(eye, target, up), link)


def _camera(name: str, size: tuple[int, int], view_deg: float, T_parent_camera: SE3, parent: str) -> Camera:
    width, height = size
    focal = 0.5 * width / math.tan(math.radians(0.5 * view_deg))
    return Camera(
        name=name,
        width=width,
        height=height,
        model=Pinhole(width, height, focal, focal, 0.5 * width, 0.5 * height),
        parent=parent,
        T_parent_camera=T_parent_camera,
        focal_sigma_px=0.005 * focal,
        rotation_sigma_rad=_FIXED_SIGMA[0],
        translation_sigma_m=_FIXED_SIGMA[1],
    )
