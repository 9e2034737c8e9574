"""The robot's own description: an MJCF or URDF file with everything that it refers to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gemel.artifacts.blob import BlobRef


@dataclass(frozen=True)
class RobotJoint:
    """One joint of the model, as far as a log has to agree with it."""

    name: str
    kind: str
    """`hinge` [rad] or `slide` [m]."""
    low: float = -math.inf
    """Lower limit [rad or m]."""
    high: float = math.inf
    """Upper limit [rad or m]."""


@dataclass(frozen=True)
class RobotModel:
    """A robot model, self-contained: the description and its meshes are kept in the store."""

    name: str
    format: str
    """`mjcf` or `urdf`."""
    root: str
    """Path of the description inside `files`."""
    files: Mapping[str, BlobRef]
    """Every file that the description needs, by path relative to a common folder."""
    joints: tuple[RobotJoint, ...]
    links: tuple[str, ...]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all hinge and slide joints, in the model's order."""
        return tuple(joint.name for joint in self.joints)
