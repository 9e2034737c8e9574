"""One frame that is to be segmented, with what is known about where it was taken from."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, UInt8

from gemel.geometry import SE3, CameraModel
from gemel.geometry.resample import pixel_centres


@dataclass(frozen=True, eq=False)
class View:
    """A frame at working size."""

    episode: str
    camera: str
    step: int
    image: UInt8[np.ndarray, "h w 3"]
    is_fixed: bool
    """Whether the camera stands still in the world."""
    is_scan: bool = False
    """Whether the episode only looks at a scene in which nothing but the robot moves."""
    model: CameraModel | None = None
    """Optics at working size, or None when nothing is known."""
    T_world_camera: SE3 | None = None
    """The best guess of its pose, or None without one."""
    rotation_sigma_rad: float = 0.035
    """How sure the pose is, about each axis."""
    translation_sigma_m: float = 0.01
    """How sure the pose is, along each axis [m]."""
    drifts: Float[np.ndarray, "6 k"] = field(default_factory=lambda: np.zeros((6, 0)))
    """How the camera moves in its own frame (shift [m], turn [rad]) per unit of each thing that is unknown for the
    whole log, such as a joint's offset or the camera's delay."""
    drift_sigmas: Float[np.ndarray, " k"] = field(default_factory=lambda: np.zeros(0))
    """Standard deviations of those unknowns [rad or m, s]."""
    robot: Bool[np.ndarray, "h w"] | None = None
    """Where the robot model covers the image, or None without a robot model."""

    @property
    def is_placed(self) -> bool:
        """Whether its optics and pose are known, at least as a guess."""
        return self.model is not None and self.T_world_camera is not None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width [px]."""
        return self.image.shape[0], self.image.shape[1]


@lru_cache(maxsize=16)
def pixel_rays(model: CameraModel) -> Float[np.ndarray, "h w 3"]:
    """Unit ray of every pixel in the camera frame."""
    rays = model.unproject(pixel_centres(model.width, model.height))
    rays.setflags(write=False)
    return rays
