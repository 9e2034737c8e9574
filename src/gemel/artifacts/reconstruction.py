"""What was reconstructed from frames: shapes, looks, calibrated cameras and robot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
class ColourResponse:
    """What each camera makes of some parts' colours: light * (gain * colour + offset), colours 0 to 1.

    Rows are in the order of the reconstruction's cameras. Light is exp(level + slope_x x + slope_y y) at a pixel whose
    direction is (x, y, 1) in the camera. Response and offset act on a Gaussian's colour as they do on a picture's.
    """

    gains: Float[np.ndarray, "camera 3"]
    """Per channel; 1 for the camera whose colours the parts have."""
    offsets: Float[np.ndarray, "camera 3"]
    lights: Float[np.ndarray, "camera 3"]
    """Level and two slopes, the mean over the camera's views; 0: lit as the parts' colours say."""


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
    scene_response: ColourResponse | None = None
    """What cameras make of the colours of links, table and background; None without a scene."""
    object_responses: Mapping[str, ColourResponse] = field(default_factory=dict)
    """The same for each object: the arm shades objects, and each has been fitted with its own light."""
    bare_table: Float[np.ndarray, "n 3"] | None = None
    """RGB of the table's Gaussians without objects on the table, 0 to 1, as trials show it; None where none tells."""
