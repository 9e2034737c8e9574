"""What was reconstructed from frames: shapes, looks, calibrated cameras and robot."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import BlobRef
from gemel.artifacts.camera import Camera
from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3


@dataclass(frozen=True)
class ArticulatedObject:
    """An object with joints of its own, entered as a model file."""

    format: str
    """`mjcf` or `urdf`."""
    model: BlobRef


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Shapes and looks in the world frame, with the cameras and the robot that explain the frames."""

    objects: Mapping[str, SplatMesh]
    articulated: Mapping[str, ArticulatedObject]
    background: Gaussians | None
    cameras: tuple[Camera, ...]
    """Refined cameras, with what uncertainty remains."""
    T_world_base: SE3
    """Robot base."""
    joint_offsets: Float[np.ndarray, " joint"]
    """Add to logged joint positions [rad or m]."""
    joint_offset_sigmas: Float[np.ndarray, " joint"]
    is_metric: bool
    """Whether lengths are metres; False when nothing in the log fixes the scale."""
