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
    """Each in its own frame: origin in the middle of its bounding box, axes as the world's during the scan."""
    placements: Mapping[str, SE3]
    """`T_world_object` of each object during the scan."""
    links: Mapping[str, SplatMesh]
    """What the robot's links look like, in their own frames, by link."""
    table: SplatMesh | None
    """The table top in the world frame; parts that no view saw are invented."""
    articulated: Mapping[str, ArticulatedObject]
    background: Gaussians | None
    cameras: tuple[Camera, ...]
    """Refined cameras, with what uncertainty remains."""
    Ts_world_base: SE3
    """Where the robot's root links stand, batch (root,); empty without a robot."""
    joint_offsets: Float[np.ndarray, " joint"]
    """Add to logged joint positions [rad or m], in the order of the capture's joints."""
    joint_offset_sigmas: Float[np.ndarray, " joint"]
    joint_plays: Float[np.ndarray, " joint"]
    """Half the play between encoder and link [rad]: the link trails the reading by so much when it moves."""
    is_metric: bool
    """Whether lengths are metres; False when nothing in the log fixes the scale."""
