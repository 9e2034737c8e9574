"""The frames of an episode as the tracker looks at them: undistorted, with cameras, robot and plates in place."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.split import FitData
from gemel.geometry import Pinhole
from gemel.services.kinematics.joint_log import joint_log
from gemel.services.render.renderer import Renderer
from gemel.services.tracking.lookout import Lookout, make_lookout
from gemel.services.tracking.scenery import plate
from gemel.services.tracking.view import View

MaskOf = Callable[[str, str, str, int], "Bool[np.ndarray, 'h w'] | None"]
"""Mask of (object, episode, camera, step), or None where there is none that can be trusted."""
_PLATE_FRAMES = 150
"""About so many frames make a plate."""
_MARGIN_PX = 3
"""What is so near to robot or object may be it, at 160 px."""


@dataclass(frozen=True, eq=False)
class Lab:
    """The cameras of one capture, and its frames."""

    fit: FitData
    frames: Frames
    lookout: Lookout

    def frame_times_s(self, episode: Episode) -> Float[np.ndarray, " t"]:
        """When frames were taken on the robot's clock, in the middle of the cameras' own times [s]."""
        return episode.times_s + self.lookout.offset_s

    def views(self, record: EpisodeRecord, steps: Sequence[int]) -> Iterator[list[View]]:
        """The views of each step."""
        episode, lookout = self.frames.episode(record.id), self.lookout
        log = None if lookout.robot is None else joint_log(
            lookout.robot.tree, self.fit.joints, episode.times_s, episode.joint_positions
        )  # fmt: skip
        streams = [self.frames.images(record.id, camera.name, steps) for camera in lookout.cameras]
        for step, *images in zip(steps, *streams, strict=True):
            poses = {name: series[step] for name, series in episode.camera_poses.items()}
            yield lookout.views(images, log, float(episode.times_s[step]), poses)


def open_lab(
    fit: FitData, frames: Frames, reconstruction: Reconstruction, *, robot: Any, objects: Sequence[str],
    mask_of: MaskOf, renderer: Renderer, has_moving_cameras: bool,
) -> Lab:  # fmt: skip
    """Everything that is the same for all episodes; `robot` is the compiled model (`mujoco.MjModel`) or None."""
    lookout = make_lookout(
        reconstruction, fit.joints, robot=robot, renderer=renderer, has_moving_cameras=has_moving_cameras
    )
    lab = Lab(fit, frames, lookout)
    plates = {c.name: found for c in lookout.cameras if (found := _plate(lab, c, objects, mask_of)) is not None}
    return replace(lab, lookout=replace(lab.lookout, plates=plates))


def _plate(lab: Lab, camera: Camera, objects: Sequence[str], mask_of: MaskOf) -> np.ndarray | None:
    """What a camera that stands still sees without robot and objects; None for one that moves, or without masks."""
    if camera.parent != WORLD or camera.has_pose_per_frame:
        return None
    lens = next(c for c in lab.lookout.lenses if c.name == camera.name)
    nothing = np.zeros((camera.height, camera.width, 3), dtype=np.float32)
    alone = replace(lab.lookout, cameras=(camera,), lenses=(lens,), plates={camera.name: nothing})
    single = replace(lab, lookout=alone)
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
    robot = lab.lookout.robot
    links = np.tile(np.eye(4), (0 if robot is None else len(robot.tree.links), 1, 1))
    return plate(images, is_free, lab.lookout.scenery.draw(links, last.T_camera_world, last.intrinsics, last.shape))


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


def straight_mask(camera: Camera, mask: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """A mask as a pinhole camera would have it."""
    if isinstance(camera.model, Pinhole) or camera.model is None:
        return mask
    return np.asarray(camera.model.undistort(mask[..., None].astype(np.float32))[0][..., 0] > 0.5)
