"""The twin: robot, objects, scene and what is believed of them; engine-neutral."""

from collections.abc import Mapping
from dataclasses import dataclass

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import BlobRef
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.robot import RobotModel
from gemel.artifacts.task import Task
from gemel.geometry import SE3


@dataclass(frozen=True, eq=False)
class Twin:
    """Draws of its belief are simulable scenes; its reconstruction is what cameras see."""

    robot: RobotModel | None
    reconstruction: Reconstruction
    belief: Belief
    colliders: Mapping[str, tuple[BlobRef, ...]]
    """Convex pieces of each object, as meshes."""
    initial_poses: Mapping[str, SE3]
    """`T_world_object` at the start, by object."""
    task: Task | None = None
