"""The true poses behind a recording's frames, and how far estimated ones are from them after one rigid gauge."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.camera import WORLD
from gemel.geometry import SE3, SO3
from gemel.services.kinematics.tree import kinematic_tree
from gemel.worlds.truth import Truth

_MEAN_JITTER_S = 0.0024
"""Mean of the frames' own delay: 3 ms times the mean of a standard half-normal variable."""
_ARM_M = 0.3
"""Length at which a turn counts as much as a shift when poses are aligned."""


class TruePoses:
    """Where cameras and links truly were in one episode of a recording."""

    def __init__(self, truth: Truth, model: Any, episode: int = 0) -> None:
        from scipy.interpolate import CubicSpline

        from gemel.services.kinematics.forward import ForwardKinematics

        self._truth, self._tree = truth, kinematic_tree(model)
        self._forward = ForwardKinematics(self._tree)
        log = truth.episodes[episode]
        self._first_s, self._last_s = float(log.times_s[0]), float(log.times_s[-1])
        self._curve = CubicSpline(log.times_s, log.joint_positions, axis=0)
        self._camera_from_name = {camera.name: camera for camera in truth.cameras}

    def links(self, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n link 4 4"]:
        """`Ts_world_link` at times of the robot's clock."""
        import torch

        q = np.tile(self._tree.rest, (len(times_s), 1))
        logged = self._curve(np.clip(times_s, self._first_s, self._last_s))
        q[:, : logged.shape[1]] = logged
        roots = np.stack([pose.as_matrix() for pose in self._truth.T_world_bases.values()])
        return self._forward.link_poses(torch.as_tensor(q), Ts_world_root=torch.as_tensor(roots)).numpy()

    def middles_s(self, names: "list[str]", stamps_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """When, on the robot's clock, frames with these stamps were taken, on average over their own delays [s]."""
        offsets_s = np.array([self._camera_from_name[name].time_offset_s for name in names])
        return np.asarray(stamps_s + offsets_s - _MEAN_JITTER_S)

    def cameras(self, names: "list[str]", stamps_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 4 4"]:
        """`Ts_world_camera` at the middle of the frames with these stamps."""
        poses = []
        for row, name in zip(self.links(self.middles_s(names, stamps_s)), names, strict=True):
            camera = self._camera_from_name[name]
            assert camera.T_parent_camera is not None
            parent = np.eye(4) if camera.parent == WORLD else row[self._tree.link(camera.parent)]
            poses.append(parent @ camera.T_parent_camera.as_matrix())
        return np.stack(poses)


@dataclass(frozen=True)
class PoseError:
    """Means over poses."""

    rotation_deg: float
    translation_mm: float


def gauge(given: Float[np.ndarray, "n 4 4"], true: Float[np.ndarray, "n 4 4"]) -> SE3:
    """The one rigid motion that brings given poses nearest to the true ones: positions and axes (Kabsch 1976)."""
    P, Q = _marks(given), _marks(true)
    U, _, Vt = np.linalg.svd((P - P.mean(axis=0)).T @ (Q - Q.mean(axis=0)))
    R = Vt.T @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(Vt.T @ U.T)))]) @ U.T
    return SE3(SO3.from_matrix(R), Q.mean(axis=0) - R @ P.mean(axis=0))


def pose_error(
    given: Float[np.ndarray, "n 4 4"], true: Float[np.ndarray, "n 4 4"], groups: Int[np.ndarray, " n"]
) -> PoseError:
    """Error after one gauge, averaged first over the views of each camera, then over cameras."""
    moved = gauge(given, true).as_matrix() @ given
    trace = np.einsum("nij,nij->n", moved[:, :3, :3], true[:, :3, :3])
    angle_deg = np.degrees(np.arccos(np.clip(0.5 * (trace - 1.0), -1.0, 1.0)))
    shift_mm = 1e3 * np.linalg.norm(moved[:, :3, 3] - true[:, :3, 3], axis=1)
    kinds = np.unique(groups)
    return PoseError(
        float(np.mean([angle_deg[groups == kind].mean() for kind in kinds])),
        float(np.mean([shift_mm[groups == kind].mean() for kind in kinds])),
    )


def _marks(T: Float[np.ndarray, "n 4 4"]) -> Float[np.ndarray, "m 3"]:
    return np.concatenate([T[:, :3, 3], *(T[:, :3, 3] + _ARM_M * T[:, :3, k] for k in range(3))])
