"""What calibration is given: a robot with cameras, and what they saw."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32

from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.stages.reconstruct.calibration.robot_rig import RobotRig


@dataclass(frozen=True, eq=False)
class Problem:
    """Views of a scene at rest, in which only the robot moves."""

    rig: RobotRig
    surface: RobotSurface
    images: tuple[Float32[np.ndarray, "h w 3"], ...]
    """One for each of the rig's views, RGB 0 to 1."""
    occupied: tuple[Bool[np.ndarray, "h w"], ...]
    """Pixels of each view that show neither table nor robot."""
    reduction: tuple[int, ...]
    """By how much each camera's images were reduced."""
