"""What to look at after a twin is assembled: frames that nothing was fitted to, beside what the twin shows.

The robot is where the joint log says, the object where it was tracked. Only validation episodes are looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gemel.artifacts.blob import Blobs
from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeRecord
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.split import FitData
from gemel.artifacts.track import Tracks
from gemel.artifacts.twin import Twin
from gemel.outputs.pictures.sheet import Picture
from gemel.outputs.pictures.side_by_side import TwinFrame, side_by_side
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.calibrated_robot import CalibratedRobot
from gemel.services.render.renderer import make_renderer
from gemel.services.render.torch_threads import one_torch_thread
from gemel.trial_frames import tracked_trials, trial_frames

if TYPE_CHECKING:
    from gemel.services.render.twin_view import TwinView

_FRAMES = 4
"""Moments of each episode."""
_EPISODES = 6
"""At most so many episodes, evenly chosen."""


@dataclass(frozen=True)
class TwinLooks:
    """How like the twin's frames are to the real ones, over validation frames."""

    psnr_db: float
    """Median."""
    ssim: float
    """Median."""
    count: int


def twin_pictures(
    twin: Twin, fit: FitData, tracks: Tracks, frames: Frames, blobs: Blobs
) -> tuple[dict[str, Picture], Finding]:
    """By file name, a picture for each validation episode and camera; and how alike they are, or why there is none."""
    records = tracked_trials(fit.validation, tracks, _EPISODES)
    pictures, looks = episode_pictures(records, twin, fit, tracks, frames, blobs)
    return pictures, _not_shown(_obstacle(records, twin)) if looks is None else _looks_finding(looks)


def _obstacle(records: Sequence[EpisodeRecord], twin: Twin) -> str:
    """Why no frame of these episodes can be drawn; empty if some can."""
    if twin.robot is None:
        return "there is no robot model, so nothing says where the robot and the table are in its frames"
    if not (twin.reconstruction.links or twin.reconstruction.table):
        return "neither table nor robot was reconstructed"
    if not _cameras(twin):
        return "no camera has intrinsics and a mounting"
    return "" if records else "no object was tracked in any validation trial"


def _cameras(twin: Twin) -> list[Camera]:
    return [camera for camera in twin.reconstruction.cameras if camera.is_calibrated and not camera.has_pose_per_frame]


@one_torch_thread()
def episode_pictures(
    records: Sequence[EpisodeRecord], twin: Twin, fit: FitData, tracks: Tracks, frames: Frames, blobs: Blobs
) -> tuple[dict[str, Picture], TwinLooks | None]:
    """The same of some episodes; how alike they are is None without any that can be drawn."""
    from gemel.services.render.twin_view import TwinView

    if twin.robot is None or _obstacle(records, twin):
        return {}, None
    robot = CalibratedRobot(compile_stored_robot(twin.robot, blobs), fit.joints, twin.reconstruction)
    view = TwinView(twin.reconstruction, robot.tree.links, renderer=make_renderer("cpu"))
    pictures: dict[str, Picture] = {}
    shown: list[TwinFrame] = []
    for record in records:
        for camera in _cameras(twin):
            found = list(_frames_of(record, camera, fit, tracks, frames, robot, view))
            pictures[f"episode_{record.id}_{camera.name}"] = side_by_side(found)
            shown += found
    psnr, ssim = (float(np.median([getattr(frame, name) for frame in shown])) for name in ("psnr_db", "ssim"))
    return pictures, TwinLooks(psnr, ssim, len(shown))


def _looks_finding(looks: TwinLooks) -> Finding:
    """The same in words."""
    return Finding(
        code="twin-looks",
        severity=Severity.NOTE,
        message=f"Against {looks.count} validation frames, the twin's images have a median PSNR of "
        f"{looks.psnr_db:.1f} dB and SSIM of {looks.ssim:.2f}.",
        remedy="look at pictures/twin: real, twin and difference side by side",
        value=looks.psnr_db,
    )


def _not_shown(why: str) -> Finding:
    return Finding(
        code="twin-not-shown",
        severity=Severity.NOTE,
        message=f"The twin was not drawn beside real frames: {why}.",
        remedy="give what is missing, then `gemel run` again; simulation and exports do not need these pictures",
    )


def _frames_of(
    record: EpisodeRecord, camera: Camera, fit: FitData, tracks: Tracks, frames: Frames, robot: CalibratedRobot,
    view: "TwinView",
) -> Iterator[TwinFrame]:  # fmt: skip
    """A few moments of one episode as one camera saw them."""
    found = trial_frames(record, camera, _FRAMES, fit=fit, tracks=tracks, frames=frames, robot=robot)
    for stamp_s, real in found:
        point = view.viewpoint(camera.name, real.Ts_world_link)
        (drawn,) = view.draw(real.Ts_world_link, real.Ts_world_object, [point])
        psnr, ssim = likeness(real.image, drawn.colour)
        yield TwinFrame(f"{record.id} {camera.name} {stamp_s:.1f} s", real.image, drawn.colour, psnr, ssim)


def likeness(real: np.ndarray, drawn: np.ndarray) -> tuple[float, float]:
    """PSNR [dB] and mean SSIM of two whole images (h, w, 3), 0 to 1."""
    import torch

    from gemel.services.render.similarity import psnr_db, ssim_map

    a, b = torch.as_tensor(real), torch.as_tensor(drawn)
    return psnr_db(a, b, torch.ones(a.shape[:2])), float(ssim_map(a, b).mean())
