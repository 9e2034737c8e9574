"""What to look at after a twin is assembled: frames that nothing was fitted to, beside what the twin shows.

The robot is where the joint log says, the object where it was tracked. Only validation episodes are looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gemel.artifacts.blob import Blobs
from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.split import FitData
from gemel.artifacts.track import Track, Tracks
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3
from gemel.outputs.pictures.sheet import Picture
from gemel.outputs.pictures.side_by_side import TwinFrame, side_by_side
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.calibrated_robot import CalibratedRobot
from gemel.services.kinematics.joint_log import joint_log
from gemel.services.render.renderer import make_renderer
from gemel.services.render.torch_threads import one_torch_thread

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
) -> tuple[dict[str, Picture], TwinLooks | None]:
    """By file name, one picture for each validation episode and camera; and how alike they are, None without any."""
    tracked = [r for r in fit.validation if r.kind is EpisodeKind.TASK and _tracks_of(r, tracks)]
    return episode_pictures(tracked[:: -(-len(tracked) // _EPISODES) or 1], twin, fit, tracks, frames, blobs)


@one_torch_thread()
def episode_pictures(
    records: Sequence[EpisodeRecord], twin: Twin, fit: FitData, tracks: Tracks, frames: Frames, blobs: Blobs
) -> tuple[dict[str, Picture], TwinLooks | None]:
    """The same of some episodes."""
    from gemel.services.render.twin_view import TwinView

    if twin.robot is None or not records or not (twin.reconstruction.links or twin.reconstruction.table):
        return {}, None
    robot = CalibratedRobot(compile_stored_robot(twin.robot, blobs), fit.joints, twin.reconstruction)
    view = TwinView(twin.reconstruction, robot.tree.links, renderer=make_renderer("cpu"))
    pictures: dict[str, Picture] = {}
    shown: list[TwinFrame] = []
    for record in records:
        for camera in twin.reconstruction.cameras:
            if camera.is_calibrated and not camera.has_pose_per_frame:
                found = list(_frames_of(record, camera, fit, tracks, frames, robot, view))
                pictures[f"episode_{record.id}_{camera.name}"] = side_by_side(found)
                shown += found
    if not shown:
        return {}, None
    psnr, ssim = (float(np.median([getattr(frame, name) for frame in shown])) for name in ("psnr_db", "ssim"))
    return pictures, TwinLooks(psnr, ssim, len(shown))


def looks_finding(looks: TwinLooks) -> Finding:
    """The same in words."""
    return Finding(
        code="twin-looks",
        severity=Severity.NOTE,
        message=f"Against {looks.count} validation frames, the twin's images have a median PSNR of "
        f"{looks.psnr_db:.1f} dB and SSIM of {looks.ssim:.2f}.",
        remedy="look at pictures/twin: real, twin and difference side by side",
        value=looks.psnr_db,
    )


def _tracks_of(record: EpisodeRecord, tracks: Tracks) -> list[Track]:
    return [track for track in tracks.tracks if track.episode == record.id]


def _frames_of(
    record: EpisodeRecord, camera: Camera, fit: FitData, tracks: Tracks, frames: Frames, robot: CalibratedRobot,
    view: "TwinView",  # type: ignore[name-defined]
) -> Iterator[TwinFrame]:  # fmt: skip
    """A few moments of one episode as one camera saw them."""
    episode = frames.episode(record.id)
    log = joint_log(robot.tree, fit.joints, episode.times_s, episode.joint_positions)
    steps = np.linspace(0, len(episode.times_s) - 1, _FRAMES + 1).round().astype(int)[1:]
    images = frames.images(record.id, camera.name, [int(step) for step in steps])
    for step, image in zip(steps, images, strict=True):
        time_s = float(episode.times_s[step]) + camera.time_offset_s
        links = robot.link_poses(log, np.array([time_s]))[0]
        objects = {track.object: pose_at(track, time_s).as_matrix() for track in _tracks_of(record, tracks)}
        (drawn,) = view.draw(links, objects, [view.viewpoint(camera.name, links)])
        real = image.astype(np.float32) / np.float32(255.0)
        psnr, ssim = likeness(real, drawn.colour)
        yield TwinFrame(f"{record.id} {camera.name} {episode.times_s[step]:.1f} s", real, drawn.colour, psnr, ssim)


def pose_at(track: Track, time_s: float) -> SE3:
    """Where the object was at a time, between two of its poses; held before the first and after the last."""
    after = int(np.clip(np.searchsorted(track.times_s, time_s), 1, max(len(track.times_s) - 1, 1)))
    if len(track.times_s) == 1:
        return track.Ts_world_object[0]
    before_s, after_s = track.times_s[after - 1], track.times_s[after]
    part = float(np.clip((time_s - before_s) / (after_s - before_s), 0.0, 1.0))
    return track.Ts_world_object[after - 1].interpolate(track.Ts_world_object[after], part)


def likeness(real: np.ndarray, drawn: np.ndarray) -> tuple[float, float]:
    """PSNR [dB] and mean SSIM of two whole images (h, w, 3), 0 to 1."""
    import torch

    from gemel.services.render.similarity import psnr_db, ssim_map

    a, b = torch.as_tensor(real), torch.as_tensor(drawn)
    return psnr_db(a, b, torch.ones(a.shape[:2])), float(ssim_map(a, b).mean())
