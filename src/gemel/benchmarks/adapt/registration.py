"""Where a twin's world and object frame lie in the task's: what a user registers once, before a policy runs on it.

A reconstruction's world is the robot's frame as calibration found it, and its object's axes are those of the scan. The
task speaks of the nominal object's place and heading on the table. The object's frame comes from laying the nominal
outline over the reconstructed surface; the world's from poses in which the object is known to have been, one rigid
motion for the whole capture.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.true_poses import gauge
from gemel.geometry import SE3
from gemel.services.policy.outcome import yaw_of


@dataclass(frozen=True, eq=False)
class Registration:
    """From what a twin says to what a task speaks of."""

    T_world_twin: SE3
    """The twin's world in the task's."""
    T_object_task: SE3
    """The task's object frame in the reconstructed object's."""

    def planar(self, T_twin_object: SE3) -> Float[np.ndarray, "3"]:
        """Place [m] and heading [rad] of the task's object."""
        pose = self.T_world_twin @ T_twin_object @ self.T_object_task
        return np.array([*pose.translation[:2], float(yaw_of(pose))])


def register(seen: Float[np.ndarray, "n 4 4"], known: Float[np.ndarray, "n 4 4"], T_object_task: SE3) -> Registration:
    """From poses `T_twin_object` in which the twin saw the object, and those of the task's object that are known."""
    return Registration(gauge(seen @ T_object_task.as_matrix(), known), T_object_task)
