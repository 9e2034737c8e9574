"""Cameras with the robot and the scenery before them: images of one moment become what the tracker looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, UInt8

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.capture import JointSignal
from gemel.artifacts.reconstruction import Reconstruction
from gemel.errors import SourceError
from gemel.geometry import SE3, Pinhole
from gemel.services.kinematics.calibrated_robot import CalibratedRobot
from gemel.services.kinematics.joint_log import JointLog
from gemel.services.render.renderer import Renderer
from gemel.services.tracking.scenery import Scenery
from gemel.services.tracking.view import View


@dataclass(frozen=True, eq=False)
class Lookout:
    """Cameras, robot and scenery, the same for all episodes."""

    cameras: tuple[Camera, ...]
    """Those that are looked through, with pinhole models."""
    lenses: tuple[Camera, ...]
    """The same with the models that the images were taken with."""
    robot: CalibratedRobot | None
    scenery: Scenery
    plates: Mapping[str, Float32[np.ndarray, "h w 3"]]
    """What cameras that stand still see without robot and objects, by camera; others are drawn."""

    @property
    def offset_s(self) -> float:
        """When frames are taken after their stamps, in the middle of the cameras' own times [s]."""
        return float(np.mean([camera.time_offset_s for camera in self.cameras]))

    @property
    def delays_s(self) -> Float[np.ndarray, " camera"]:
        """When each camera's image was taken, after the middle of all [s]."""
        return np.array([camera.time_offset_s for camera in self.cameras]) - self.offset_s

    def views(
        self,
        images: Sequence[UInt8[np.ndarray, "_ _ 3"]],
        log: JointLog | None,
        stamp_s: float,
        camera_poses: Mapping[str, SE3],
    ) -> list[View]:
        """One view per camera, of images with this stamp; `camera_poses` are those that the log itself brings."""
        return [self._view(c, image, log, stamp_s, camera_poses) for c, image in enumerate(images)]

    def _view(
        self, c: int, image: np.ndarray, log: JointLog | None, stamp_s: float, camera_poses: Mapping[str, SE3]
    ) -> View:
        camera = self.cameras[c]
        assert isinstance(camera.model, Pinhole)
        straight, is_known = _undistorted(self.lenses[c], image)
        links = np.zeros((0, 4, 4))
        if self.robot is not None and log is not None:
            links = self.robot.link_poses(log, np.array([stamp_s + camera.time_offset_s]))[0]
        T_camera_world = self._camera_pose(camera, camera_poses, links)
        k = np.array([camera.model.fx, camera.model.fy, camera.model.cx, camera.model.cy])
        place = (links, T_camera_world, k, is_known.shape)
        known = self.plates.get(camera.name)
        return View(
            camera=camera.name,
            image=straight,
            T_camera_world=T_camera_world,
            intrinsics=k,
            delay_s=float(self.delays_s[c]),
            surroundings=self.scenery.draw(*place) if known is None else known,
            robot_depth=self.scenery.robot_depth(*place),
            is_known=is_known,
        )

    def _camera_pose(self, camera: Camera, camera_poses: Mapping[str, SE3], links: np.ndarray) -> np.ndarray:
        """`T_camera_world`."""
        if camera.name in camera_poses:
            return camera_poses[camera.name].inverse().as_matrix()
        assert camera.T_parent_camera is not None
        T = camera.T_parent_camera.as_matrix()
        if camera.parent != WORLD and self.robot is not None:
            T = links[self.robot.tree.link(camera.parent)] @ T
        return np.asarray(np.linalg.inv(T))


def make_lookout(
    reconstruction: Reconstruction,
    joints: tuple[JointSignal, ...],
    *,
    robot: Any,
    renderer: Renderer,
    has_moving_cameras: bool,
) -> Lookout:
    """From a reconstruction, without plates; `robot` is the compiled model (`mujoco.MjModel`) or None."""
    lenses = _chosen(reconstruction.cameras, robot is not None, has_moving_cameras)
    calibrated = CalibratedRobot(robot, joints, reconstruction) if robot is not None else None
    scenery = Scenery(reconstruction, robot, None if calibrated is None else calibrated.tree, renderer)
    cameras = tuple(replace(camera, model=camera.model.undistorted()) for camera in lenses if camera.model is not None)
    return Lookout(cameras, lenses, calibrated, scenery, {})


def _chosen(cameras: Sequence[Camera], has_robot: bool, has_moving: bool) -> tuple[Camera, ...]:
    known = [c for c in cameras if c.is_calibrated and (has_robot or c.parent == WORLD or c.has_pose_per_frame)]
    still = [camera for camera in known if camera.parent == WORLD and not camera.has_pose_per_frame]
    chosen = still if len(still) >= 2 and not has_moving else known
    if not chosen:
        raise SourceError(
            "No camera has both intrinsics and a pose, so no object can be followed.",
            remedy="give each camera's model and mounting in twin.toml under [cameras.NAME]",
        )
    return tuple(chosen)


def _undistorted(camera: Camera, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The image 0 to 1 as a pinhole camera would have taken it, and which of its pixels are known."""
    values = image.astype(np.float32) / np.float32(255.0)
    if isinstance(camera.model, Pinhole) or camera.model is None:
        return values, np.ones(values.shape[:2], dtype=bool)
    straight, is_known = camera.model.undistort(values)
    return np.asarray(straight, dtype=np.float32), is_known
