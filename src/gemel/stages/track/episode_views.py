"""The frames of an episode as the tracker looks at them: undistorted, with cameras, robot and plates in place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.split import FitData
from gemel.errors import SourceError
from gemel.geometry import Pinhole
from gemel.services.kinematics.calibrated_robot import CalibratedRobot
from gemel.services.kinematics.joint_log import JointLog, joint_log
from gemel.services.render.renderer import Renderer
from gemel.services.tracking.view import View
from gemel.stages.track.scenery import Scenery, plate

MaskOf = Callable[[str, str, str, int], "Bool[np.ndarray, 'h w'] | None"]
"""Mask of (object, episode, camera, step), or None where there is none that can be trusted."""
_PLATE_FRAMES = 150
"""About so many frames make a plate."""
_MARGIN_PX = 3
"""What is so near to robot or object may be it, at 160 px."""


@dataclass(frozen=True, eq=False)
class Lab:
    """Cameras, robot and scenery of one capture."""

    fit: FitData
    frames: Frames
    cameras: tuple[Camera, ...]
    """Those that are looked through, with pinhole models."""
    lenses: tuple[Camera, ...]
    """The same with the models that the images were taken with."""
    robot: CalibratedRobot | None
    scenery: Scenery
    plates: Mapping[str, Float32[np.ndarray, "h w 3"]]

    @property
    def delays_s(self) -> Float[np.ndarray, " camera"]:
        """When each camera's image was taken, after the frame's time [s]."""
        offsets_s = np.array([camera.time_offset_s for camera in self.cameras])
        return offsets_s - offsets_s.mean()

    def frame_times_s(self, episode: Episode) -> Float[np.ndarray, " t"]:
        """When frames were taken on the robot's clock, in the middle of the cameras' own times [s]."""
        return episode.times_s + float(np.mean([camera.time_offset_s for camera in self.cameras]))

    def views(self, record: EpisodeRecord, steps: Sequence[int]) -> Iterator[list[View]]:
        """The views of each step."""
        episode = self.frames.episode(record.id)
        log = None if self.robot is None else joint_log(
            self.robot.tree, self.fit.joints, episode.times_s, episode.joint_positions
        )  # fmt: skip
        streams = [self.frames.images(record.id, camera.name, steps) for camera in self.cameras]
        for step, *images in zip(steps, *streams, strict=True):
            yield [self._view(c, image, episode, log, step) for c, image in enumerate(images)]

    def _view(self, c: int, image: np.ndarray, episode: Episode, log: JointLog | None, step: int) -> View:
        camera = self.cameras[c]
        assert isinstance(camera.model, Pinhole)
        straight, is_known = _undistorted(self.lenses[c], image)
        links = np.zeros((0, 4, 4))
        if self.robot is not None and log is not None:
            time_s = np.array([episode.times_s[step] + camera.time_offset_s])
            links = self.robot.link_poses(log, time_s)[0]
        T_camera_world = self._camera_pose(camera, episode, links, step)
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

    def _camera_pose(self, camera: Camera, episode: Episode, links: np.ndarray, step: int) -> np.ndarray:
        """`T_camera_world`."""
        if camera.name in episode.camera_poses:
            return episode.camera_poses[camera.name][step].inverse().as_matrix()
        assert camera.T_parent_camera is not None
        T = camera.T_parent_camera.as_matrix()
        if camera.parent != WORLD and self.robot is not None:
            T = links[self.robot.tree.link(camera.parent)] @ T
        return np.asarray(np.linalg.inv(T))


def open_lab(
    fit: FitData, frames: Frames, reconstruction: Reconstruction, *, robot: Any, objects: Sequence[str],
    mask_of: MaskOf, renderer: Renderer, has_moving_cameras: bool,
) -> Lab:  # fmt: skip
    """Everything that is the same for all episodes; `robot` is the compiled model (`mujoco.MjModel`) or None."""
    lenses = _chosen(reconstruction.cameras, robot is not None, has_moving_cameras)
    calibrated = CalibratedRobot(robot, fit.joints, reconstruction) if robot is not None else None
    scenery = Scenery(reconstruction, robot, None if calibrated is None else calibrated.tree, renderer)
    cameras = tuple(replace(camera, model=camera.model.undistorted()) for camera in lenses if camera.model is not None)
    lab = Lab(fit, frames, cameras, lenses, calibrated, scenery, {})
    return replace(
        lab, plates={c.name: found for c in cameras if (found := _plate(lab, c, objects, mask_of)) is not None}
    )


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


def _plate(lab: Lab, camera: Camera, objects: Sequence[str], mask_of: MaskOf) -> np.ndarray | None:
    """What a camera that stands still sees without robot and objects; None for one that moves, or without masks."""
    if camera.parent != WORLD or camera.has_pose_per_frame:
        return None
    lens = next(c for c in lab.lenses if c.name == camera.name)
    nothing = np.zeros((camera.height, camera.width, 3), dtype=np.float32)
    single = replace(lab, cameras=(camera,), lenses=(lens,), plates={camera.name: nothing})
    trials = [r for r in (*lab.fit.calibration, *lab.fit.validation) if r.kind is EpisodeKind.TASK]
    images, is_free, last = [], [], None
    for record in trials:
        masks = _masks_of(record, camera.name, objects, mask_of)
        steps = list(masks)[:: max(len(masks) * len(trials) // _PLATE_FRAMES, 1)]
        for step, (view,) in zip(steps, single.views(record, steps), strict=True):
            images.append(view.image)
            is_free.append(_free(view, [straight_mask(lens, mask) for mask in masks[step]]))
            last = view
    if last is None:
        return None
    links = np.tile(np.eye(4), (0 if lab.robot is None else len(lab.robot.tree.links), 1, 1))
    return plate(images, is_free, lab.scenery.draw(links, last.T_camera_world, last.intrinsics, last.shape))


def _masks_of(
    record: EpisodeRecord, camera: str, objects: Sequence[str], mask_of: MaskOf
) -> dict[int, list[np.ndarray]]:
    """Masks of all objects, at the steps that have them."""
    found = {step: [mask_of(name, record.id, camera, step) for name in objects] for step in range(record.step_count)}
    complete = {step: [mask for mask in masks if mask is not None] for step, masks in found.items()}
    return {step: masks for step, masks in complete.items() if len(masks) == len(objects)}


def _free(view: View, masks: Sequence[np.ndarray]) -> np.ndarray:
    """Pixels that show neither robot nor objects, nor are near to them."""
    from scipy.ndimage import binary_dilation

    taken = np.any([*masks, np.isfinite(view.robot_depth)], axis=0)
    reach = max(round(_MARGIN_PX * view.shape[1] / 160), 1)
    return view.is_known & ~np.asarray(binary_dilation(taken, iterations=reach))


def _undistorted(camera: Camera, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The image 0 to 1 as a pinhole camera would have taken it, and which of its pixels are known."""
    values = image.astype(np.float32) / np.float32(255.0)
    if isinstance(camera.model, Pinhole) or camera.model is None:
        return values, np.ones(values.shape[:2], dtype=bool)
    straight, is_known = camera.model.undistort(values)
    return np.asarray(straight, dtype=np.float32), is_known


def straight_mask(camera: Camera, mask: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """A mask as a pinhole camera would have it."""
    if isinstance(camera.model, Pinhole) or camera.model is None:
        return mask
    return np.asarray(camera.model.undistort(mask[..., None].astype(np.float32))[0][..., 0] > 0.5)
