"""The twin: robot, objects, scene and what is believed of them; engine-neutral."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import BlobRef
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.robot import RobotModel
from gemel.artifacts.task import Task
from gemel.geometry import SE3, Inertia


@dataclass(frozen=True, eq=False)
class Twin:
    """Draws of its belief are simulable scenes; its reconstruction is what cameras see."""

    robot: RobotModel | None
    reconstruction: Reconstruction
    belief: Belief
    colliders: Mapping[str, tuple[BlobRef, ...]]
    """Convex pieces of each object: tables with one column `vertices` (v, 3), whose convex hull is the piece, in the
    object's frame [m]."""
    initial_poses: Mapping[str, SE3]
    """`T_world_object` at the start, by object: at rest on the table."""
    task: Task | None = None
    inertias: Mapping[str, Inertia] = field(default_factory=dict)
    """What each object would be with uniform density; holds where the belief says nothing."""
    collider_gaps_m: Mapping[str, float] = field(default_factory=dict)
    """Largest distance between the surface that touches and the surface that is seen, by object [m]."""
    table_height_m: float | None = 0.0
    """Height of the table top in the world, a horizontal plane [m]; None without a table."""
    joints: tuple[str, ...] = ()
    """The robot model's joint of each logged joint, in the order of the reconstruction's offsets; empty for none."""
