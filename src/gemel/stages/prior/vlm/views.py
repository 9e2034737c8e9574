"""Which frames show an object to a model: of the scan, spread over cameras and time, where masks are sure."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord, JointSignal
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.split import FitData
from gemel.geometry import SE3
from gemel.stages.prior.vlm.picture import ObjectPicture

MaskOf = Callable[[str, str, str, int], "Bool[np.ndarray, 'h w'] | None"]
_LEAST_PART = 0.002
"""A mask smaller than this part of the image shows too little."""
_TRIED = 4
"""Frames looked at for each picture wanted, in case masks are missing."""


def object_pictures(
    name: str,
    count: int,
    reconstruction: Reconstruction,
    *,
    fit: FitData,
    frames: Frames,
    mask_of: MaskOf,
    robot: Any,
) -> tuple[ObjectPicture, ...]:
    """Up to `count` pictures of one object at rest; `robot` is the compiled robot model or None."""
    scans = [record for record in fit.calibration if record.kind is EpisodeKind.SCAN] or list(fit.calibration[:1])
    if not scans:
        return ()
    record, episode = scans[0], frames.episode(scans[0].id)
    found = []
    for camera, step in _tried(record, reconstruction.cameras, count):
        mask = mask_of(name, record.id, camera.name, step)
        if mask is None or mask.mean() < _LEAST_PART:
            continue
        T_world_camera = camera_pose(camera, episode, step, reconstruction, fit.joints, robot)
        if T_world_camera is None or camera.model is None:
            continue
        found.append(ObjectPicture(
            f"{camera.name} {record.id} {step}", frames.image(record.id, camera.name, step), mask, camera.model,
            T_world_camera.inverse() @ reconstruction.placements[name],
            0.5 * (reconstruction.objects[name].vertices.min(0) + reconstruction.objects[name].vertices.max(0)),
        ))  # fmt: skip
        if len(found) == count:
            break
    return tuple(found)


def _tried(record: EpisodeRecord, cameras: Sequence[Camera], count: int) -> list[tuple[Camera, int]]:
    """Frames to look at, best first: one of each fixed camera, moving ones evenly over time."""
    calibrated = [camera for camera in cameras if camera.is_calibrated]
    fixed = [(camera, 0) for camera in calibrated if camera.parent == WORLD and not camera.has_pose_per_frame]
    moving = [camera for camera in calibrated if camera.parent != WORLD or camera.has_pose_per_frame]
    steps = np.linspace(0, record.step_count - 1, _TRIED * count).round().astype(int)
    # Every fourth first, so that what is looked at early is already spread over the whole scan.
    order = [step for start in (2, 0, 1, 3) for step in steps[start::_TRIED]]
    return [*fixed[: max(count // 2, 1)], *((camera, int(step)) for step in order for camera in moving), *fixed]


def camera_pose(
    camera: Camera,
    episode: Episode,
    step: int,
    reconstruction: Reconstruction,
    joints: Sequence[JointSignal],
    robot: Any,
) -> SE3 | None:
    """`T_world_camera` of a frame: as logged, as mounted in the world, or carried by the robot; None if unknown."""
    if camera.name in episode.camera_poses:
        return episode.camera_poses[camera.name][step]
    if camera.T_parent_camera is None:
        return None
    if camera.parent == WORLD:
        return camera.T_parent_camera
    if robot is None:
        return None
    return _link_pose(camera, episode, step, reconstruction, joints, robot) @ camera.T_parent_camera


def _link_pose(
    camera: Camera,
    episode: Episode,
    step: int,
    reconstruction: Reconstruction,
    joints: Sequence[JointSignal],
    robot: Any,
) -> SE3:
    """`T_world_link` of the camera's link when the frame was taken, at calibrated joints and bases."""
    import torch

    from gemel.services.kinematics.forward import ForwardKinematics
    from gemel.services.kinematics.tree import kinematic_tree

    tree = kinematic_tree(robot)
    time_s = episode.times_s[step] + camera.time_offset_s
    q = tree.rest.copy()
    for column, signal in enumerate(joints):
        if signal.model_joint in tree.joint_names:
            logged = float(np.interp(time_s, episode.times_s, episode.joint_positions[:, column]))
            q[tree.joint(signal.model_joint)] = logged + reconstruction.joint_offsets[column]
    bases = reconstruction.Ts_world_base.as_matrix()
    roots = torch.as_tensor(bases) if len(bases) == len(tree.roots) else None
    poses = ForwardKinematics(tree).link_poses(torch.as_tensor(q)[None], Ts_world_root=roots)
    return SE3.from_matrix(poses[0, tree.link(camera.parent)].numpy())
