"""A robot as a reconstruction found it: where its links are at any time, with offsets and play applied."""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import JointSignal
from gemel.artifacts.reconstruction import Reconstruction
from gemel.services.kinematics.joint_log import JointLog
from gemel.services.kinematics.tree import kinematic_tree


class CalibratedRobot:
    """Forward kinematics with the joint offsets, half plays and base poses of a reconstruction."""

    def __init__(self, model: Any, joints: tuple[JointSignal, ...], reconstruction: Reconstruction) -> None:
        """`model` is the compiled `mujoco.MjModel`; `joints` are the capture's."""
        from gemel.services.kinematics.forward import ForwardKinematics

        self.tree = kinematic_tree(model)
        self._forward = ForwardKinematics(self.tree)
        self._offsets, self._plays = np.zeros(len(self.tree.joints)), np.zeros(len(self.tree.joints))
        for column, signal in enumerate(joints):
            if signal.model_joint:
                self._offsets[self.tree.joint(signal.model_joint)] = reconstruction.joint_offsets[column]
                self._plays[self.tree.joint(signal.model_joint)] = reconstruction.joint_plays[column]
        self._Ts_world_root = reconstruction.Ts_world_base.as_matrix()

    def link_poses(self, log: JointLog, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n link 4 4"]:
        """`Ts_world_link` at times of the robot's clock."""
        import torch

        q = log.at(times_s) - self._plays * log.side_at(times_s)
        poses = self._forward.link_poses(
            torch.as_tensor(q),
            offsets=torch.as_tensor(self._offsets),
            Ts_world_root=torch.as_tensor(self._Ts_world_root),
        )
        return poses.numpy()
