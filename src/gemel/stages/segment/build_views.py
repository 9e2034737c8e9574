"""Which frames are segmented, and the views made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.split import FitData
from gemel.geometry import SE3
from gemel.stages.segment.config import SegmentConfig
from gemel.stages.segment.robot_shape import RobotShape
from gemel.stages.segment.view import View

_ROTATION_SIGMA_RAD, _TRANSLATION_SIGMA_M = 0.035, 0.01
_JOINT_SIGMA, _DELAY_SIGMA_S = 0.01, 0.03
_STEP = 1e-4
_LEAST_CONTRAST = 24.0
"""Levels of 255 between dark and bright pixels of a camera that sees something; noise in the dark has fewer."""


@dataclass(frozen=True)
class Shot:
    """One frame that is to be segmented."""

    episode: str
    camera: str
    step: int


def choose_shots(fit: FitData, config: SegmentConfig) -> list[Shot]:
    """Frames of all calibration and validation episodes, scans densely, trials sparsely."""
    records = [*fit.calibration, *fit.validation]
    scans = [r for r in records if r.kind is EpisodeKind.SCAN]
    trials = [r for r in records if r.kind is not EpisodeKind.SCAN]
    dense = _shots(scans, config.every_n_steps)
    if len(dense) > config.max_frames:
        dense = _shots(scans, config.every_n_steps * -(-len(dense) // config.max_frames))
    left = max(config.max_frames - len(dense), 0)
    sparse = _shots(trials, config.every_n_task_steps)
    if len(sparse) > left:
        sparse = _shots(trials, config.every_n_task_steps * -(-len(sparse) // max(left, 1))) if left else []
    return dense + sparse


def _shots(records: list[EpisodeRecord], every: int) -> list[Shot]:
    return [
        Shot(record.id, stream.camera, step)
        for record in records
        for stream in record.streams
        for step in range(0, min(record.step_count, stream.frame_count), every)
    ]


def build_views(
    shots: list[Shot], fit: FitData, frames: Frames, robot: RobotShape | None, *, working_width: int,
    on_progress: Callable[[float], None],
) -> list[View]:  # fmt: skip
    """Views of the shots, in their order."""
    camera_from_name = {camera.name: camera for camera in fit.cameras}
    groups: dict[tuple[str, str], list[Shot]] = {}
    for shot in shots:
        groups.setdefault((shot.episode, shot.camera), []).append(shot)
    view_from_shot: dict[Shot, View] = {}
    for (episode_id, name), group in groups.items():
        place = _Place(camera_from_name[name], frames.episode(episode_id), fit, robot)
        images = frames.images(episode_id, name, [shot.step for shot in group])
        for shot, image in zip(group, images, strict=True):
            view_from_shot[shot] = place.view(shot, resized(image, working_width))
            on_progress(len(view_from_shot) / len(shots))
    return [view_from_shot[shot] for shot in shots]


def blind_cameras(views: list[View]) -> list[str]:
    """Cameras none of whose views shows anything: covered, broken, or left in the dark."""
    sees = {view.camera: False for view in views}
    for view in views:
        if not sees[view.camera]:
            dark, bright = np.percentile(view.image, [2.0, 98.0])
            sees[view.camera] = bool(bright - dark > _LEAST_CONTRAST)
    return [camera for camera, is_seeing in sees.items() if not is_seeing]


def resized(image: UInt8[np.ndarray, "h w *c"], width: int) -> UInt8[np.ndarray, "h2 w2 *c"]:
    """The image no wider than that."""
    if image.shape[1] <= width:
        return image
    import cv2

    height = round(image.shape[0] * width / image.shape[1])
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA))


class _Place:
    """Where one camera is during one episode."""

    def __init__(self, camera: Camera, episode: Episode, fit: FitData, robot: RobotShape | None) -> None:
        self._camera, self._episode, self._robot = camera, episode, robot
        self._names = [joint.model_joint for joint in fit.joints]

    def view(self, shot: Shot, image: UInt8[np.ndarray, "h w 3"]) -> View:
        camera, robot = self._camera, self._robot
        model = None if camera.model is None else camera.model.scaled(image.shape[1] / camera.width)
        joints = self._joints(shot.step, 0.0)
        links = robot.link_poses(joints) if robot is not None else {}
        pose = self._pose(shot.step, links)
        drifts, sigmas = self._drifts(shot.step, joints, pose)
        mask = (
            robot.silhouette(links, model, pose)
            if robot is not None and model is not None and pose is not None
            else None
        )
        return View(
            shot.episode, shot.camera, shot.step, image,
            is_fixed=camera.parent == WORLD and not camera.has_pose_per_frame,
            is_scan=self._episode.kind is EpisodeKind.SCAN, model=model, T_world_camera=pose,
            rotation_sigma_rad=camera.rotation_sigma_rad or _ROTATION_SIGMA_RAD,
            translation_sigma_m=camera.translation_sigma_m or _TRANSLATION_SIGMA_M,
            drifts=drifts, drift_sigmas=sigmas, robot=mask,
        )  # fmt: skip

    def _joints(self, step: int, later_s: float) -> dict[str, float]:
        time_s = self._episode.times_s[step] + self._camera.time_offset_s + later_s
        values = [np.interp(time_s, self._episode.times_s, column) for column in self._episode.joint_positions.T]
        return {name: float(value) for name, value in zip(self._names, values, strict=True) if name}

    def _pose(self, step: int, links: dict[str, SE3]) -> SE3 | None:
        camera = self._camera
        if camera.name in self._episode.camera_poses:
            return self._episode.camera_poses[camera.name][step]
        if camera.T_parent_camera is None or camera.parent == WORLD:
            return camera.T_parent_camera
        return links[camera.parent] @ camera.T_parent_camera if camera.parent in links else None

    def _drifts(
        self, step: int, joints: dict[str, float], pose: SE3 | None
    ) -> tuple[Float[np.ndarray, "6 k"], Float[np.ndarray, " k"]]:
        """How the camera moves with each joint's offset and with its own delay, by finite differences."""
        if pose is None or self._robot is None or self._camera.parent == WORLD:
            return np.zeros((6, 0)), np.zeros(0)
        columns = [self._motion(step, {**joints, name: value + _STEP}, pose) / _STEP for name, value in joints.items()]
        later, sooner = (self._motion(step, self._joints(step, t), pose) for t in (0.05, -0.05))
        columns.append((later - sooner) / 0.1)
        return np.stack(columns, axis=1), np.array([_JOINT_SIGMA] * len(joints) + [_DELAY_SIGMA_S])

    def _motion(self, step: int, joints: dict[str, float], pose: SE3) -> Float[np.ndarray, "6"]:
        assert self._robot is not None
        moved = self._pose(step, self._robot.link_poses(joints))
        assert moved is not None
        relative = pose.inverse() @ moved
        return np.concatenate([relative.translation, relative.rotation.log()])


def episodes_of(views: list[View]) -> Iterator[tuple[str, list[int]]]:
    """Each episode with the places of its views."""
    for episode in dict.fromkeys(view.episode for view in views):
        yield episode, [i for i, view in enumerate(views) if view.episode == episode]
