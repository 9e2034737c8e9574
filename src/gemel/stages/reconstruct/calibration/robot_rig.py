"""From the unknowns to poses: of every view's camera, and of every link as that view saw it.

Poses are differentiated numerically, all unknowns at once in one batch: they are few, smooth, and exact to 1e-9 in
double precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.camera import WORLD, Camera
from gemel.geometry import SE3, SO3, Pinhole
from gemel.services.kinematics.joint_log import JointLog
from gemel.services.kinematics.tree import WORLD as WORLD_LINK
from gemel.services.kinematics.tree import KinematicTree
from gemel.stages.reconstruct.calibration.unknowns import Unknowns

_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class ViewTimes:
    """Which frames are looked at: camera, episode and stamp of each view."""

    camera: Int[np.ndarray, " v"]
    """Index of the camera."""
    log: Int[np.ndarray, " v"]
    """Index of the joint log."""
    times_s: Float[np.ndarray, " v"]
    """The frame's stamp in its episode [s]."""


@dataclass(frozen=True, eq=False)
class Poses:
    """Where everything is for one value of the unknowns."""

    Ts_camera_world: Float[np.ndarray, "v 4 4"]
    Ts_world_link: Float[np.ndarray, "v link 4 4"]
    intrinsics: Float[np.ndarray, "v 4"]
    """fx, fy, cx, cy [px]."""


class RobotRig:
    """Cameras on a robot and around it, seen through its kinematics."""

    def __init__(
        self,
        tree: KinematicTree,
        cameras: Sequence[Camera],
        logs: Sequence[JointLog],
        views: ViewTimes,
        unknowns: Unknowns,
    ) -> None:
        from gemel.services.kinematics.forward import ForwardKinematics

        self.tree, self.cameras, self.logs, self.views, self.unknowns = (
            tree,
            tuple(cameras),
            tuple(logs),
            views,
            unknowns,
        )
        self._forward = ForwardKinematics(tree)
        self._joint_columns = [tree.joint(name) for name in unknowns.joints]
        self._parents = np.array([WORLD_LINK if c.parent == WORLD else tree.link(c.parent) for c in cameras])

    def poses(self, theta: Float[np.ndarray, " p"]) -> Poses:
        """Poses of all views."""
        Ts_world_link = self._link_poses(theta)
        mountings = np.stack([self.camera_mounting(theta, i).as_matrix() for i in range(len(self.cameras))])
        parents = self._parents[self.views.camera]
        Ts_world_parent = Ts_world_link[np.arange(len(parents)), parents]
        Ts_world_parent = np.where((parents == WORLD_LINK)[:, None, None], np.eye(4), Ts_world_parent)
        Ts_world_camera = Ts_world_parent @ mountings[self.views.camera]
        return Poses(_inverse(Ts_world_camera), Ts_world_link, self._intrinsics(theta))

    def base_poses(self, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, "root 4 4"]:
        """`Ts_world_root`."""
        roots = self.tree.Ts_parent_link[list(self.tree.roots)].as_matrix()
        for index in range(len(roots)):
            twist = theta[self.unknowns.base(index)]
            roots[index, :3, :3] = SO3.exp(twist[3:]).as_matrix() @ roots[index, :3, :3]
            roots[index, :3, 3] += twist[:3]
        return roots

    def camera_mounting(self, theta: Float[np.ndarray, " p"], index: int) -> SE3:
        """`T_parent_camera`."""
        camera = self.cameras[index]
        assert camera.T_parent_camera is not None
        twist = theta[self.unknowns.camera(camera.name)]
        return SE3(
            camera.T_parent_camera.rotation @ SO3.exp(twist[3:]),
            camera.T_parent_camera.translation + camera.T_parent_camera.rotation.as_matrix() @ twist[:3],
        )

    def camera_model(self, theta: Float[np.ndarray, " p"], index: int) -> Pinhole:
        """The camera's pinhole model with its focal length corrected."""
        model = self.cameras[index].model
        assert isinstance(model, Pinhole)
        scale = float(np.exp(theta[self.unknowns.log_focal(self.cameras[index].name)]))
        return Pinhole(model.width, model.height, model.fx * scale, model.fy * scale, model.cx, model.cy)

    def time_offset_s(self, theta: Float[np.ndarray, " p"], index: int) -> float:
        """What to add to a frame's stamp to get the robot's clock."""
        camera = self.cameras[index]
        return camera.time_offset_s + float(theta[self.unknowns.time(camera.name)])

    def jacobians(self, theta: Float[np.ndarray, " p"]) -> "PoseJacobians":
        """How the poses move with each unknown, as twists on the left."""
        here = self.poses(theta)
        cameras, links, focal = [], [], []
        for k in range(len(theta)):
            step = np.zeros_like(theta)
            step[k] = _STEP
            there, back = self.poses(theta + step), self.poses(theta - step)
            cameras.append(_twists(there.Ts_camera_world, back.Ts_camera_world, here.Ts_camera_world))
            links.append(_twists(there.Ts_world_link, back.Ts_world_link, here.Ts_world_link))
            focal.append((there.intrinsics[:, 0] - back.intrinsics[:, 0]) / (2.0 * _STEP * here.intrinsics[:, 0]))
        names = [self.cameras[index].name for index in self.views.camera]
        readout = np.array([self.unknowns.readout(name) for name in names])
        return PoseJacobians(
            here,
            np.stack(cameras, -1),
            np.stack(links, -1),
            np.stack(focal, -1),
            time=np.array([self.unknowns.time(name) for name in names]),
            readout=readout,
            readout_s=theta[readout],
        )

    def _link_poses(self, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, "v link 4 4"]:
        import torch

        offsets, plays = np.zeros(len(self.tree.joints)), np.zeros(len(self.tree.joints))
        offsets[self._joint_columns] = theta[self.unknowns.offsets()]
        plays[self._joint_columns] = theta[self.unknowns.plays()]
        shifts = np.array([self.time_offset_s(theta, index) for index in range(len(self.cameras))])
        times_s = self.views.times_s + shifts[self.views.camera]
        q = np.empty((len(times_s), len(self.tree.joints)))
        for index, log in enumerate(self.logs):
            chosen = self.views.log == index
            q[chosen] = log.at(times_s[chosen]) - plays * log.side_at(times_s[chosen])
        poses = self._forward.link_poses(
            torch.as_tensor(q), offsets=torch.as_tensor(offsets), Ts_world_root=torch.as_tensor(self.base_poses(theta))
        )
        return poses.numpy()

    def _intrinsics(self, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, "v 4"]:
        models = [self.camera_model(theta, index) for index in range(len(self.cameras))]
        rows = np.array([[model.fx, model.fy, model.cx, model.cy] for model in models])
        return rows[self.views.camera]


@dataclass(frozen=True, eq=False)
class PoseJacobians:
    """Poses at one value of the unknowns and how they move: twists (translation first) on the left."""

    poses: Poses
    cameras: Float[np.ndarray, "v 6 p"]
    """Of `Ts_camera_world`."""
    links: Float[np.ndarray, "v link 6 p"]
    """Of `Ts_world_link`."""
    log_focal: Float[np.ndarray, "v p"]
    time: Int[np.ndarray, " v"]
    """Which unknown is the clock of the view's camera: its column is the camera's motion in time."""
    readout: Int[np.ndarray, " v"]
    """Which unknown is the readout time of the view's camera."""
    readout_s: Float[np.ndarray, " v"]
    """Its value."""


def _twists(there: np.ndarray, back: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Left twist per unit of the step, from the difference of homogeneous matrices: dT T^-1."""
    D = (there - back) / (2.0 * _STEP) @ _inverse(here)
    return np.stack([D[..., 0, 3], D[..., 1, 3], D[..., 2, 3], D[..., 2, 1], D[..., 0, 2], D[..., 1, 0]], axis=-1)


def _inverse(T: np.ndarray) -> np.ndarray:
    """Inverse of rigid homogeneous matrices (..., 4, 4)."""
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    out = np.zeros_like(T)
    out[..., :3, :3] = R
    out[..., :3, 3] = -(R @ T[..., :3, 3:4])[..., 0]
    out[..., 3, 3] = 1.0
    return out
