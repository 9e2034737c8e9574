"""A recorded push-t world as `identify` sees it: tracks from its own images, calibrated tips, splats, and the truth.

The track is told in the object's true frame (one rigid gauge, as in `bench track`), because that is the frame in which
the true centre of mass is known. The frame of the world stays as reconstructed: the fit has offsets for what is wrong.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.track import Track
from gemel.benchmarks.push_worlds import OBJECT, LoggedPush, PushWorld
from gemel.benchmarks.recorded_pushes import Prepared, prepared
from gemel.benchmarks.track_error import gauges, true_poses
from gemel.errors import SourceError
from gemel.geometry import SE3
from gemel.services.kinematics.joint_log import joint_log
from gemel.services.render.renderer import make_renderer
from gemel.stages.track.episode_views import Lab, open_lab
from gemel.stages.track.footage import LabFootage
from gemel.worlds.scenario import World, WorldConfig


@dataclass(frozen=True, eq=False)
class PixelWorld:
    """What was recorded, tracked and reconstructed of one world."""

    world: PushWorld
    """Its tracks are from images, its tips of the calibrated robot."""
    mesh: SplatMesh
    """The object, in its true frame."""
    footage: LabFootage


@contextmanager
def pixel_world(recording: Path, world_seed: int, *, seed: int) -> Iterator[PixelWorld]:
    """Run all stages up to track, or find what they made; its images can be read meanwhile."""
    with prepared(recording, seed=seed, last="track") as capture:
        assert capture.tracks is not None
        tracks = [track for track in capture.tracks.tracks if track.object in capture.reconstruction.objects]
        if not tracks:
            raise SourceError(f"Nothing was tracked in {recording}.", remedy="look at its project's findings")
        T_found_true = _object_gauge(tracks, capture)
        lab = open_lab(
            capture.fit, capture.frames, capture.reconstruction, robot=capture.robot,
            objects=tuple(capture.reconstruction.objects), mask_of=capture.masks, renderer=make_renderer("cpu"),
            has_moving_cameras=False,
        )  # fmt: skip
        logs = tuple(_logged(track, T_found_true, lab, world_seed) for track in tracks)
        mesh = capture.reconstruction.objects[tracks[0].object]
        moved = replace(mesh, vertices=T_found_true.inverse() @ mesh.vertices)
        yield PixelWorld(PushWorld(world_seed, logs, _truth(capture, tracks)), moved, LabFootage(lab))


def _object_gauge(tracks: list[Track], capture: Prepared) -> SE3:
    """`T_found_true` between the object's frame as reconstructed and its true one."""
    given = np.concatenate([track.Ts_world_object.as_matrix() for track in tracks])
    episodes = [capture.truth.episodes[int(track.episode)] for track in tracks]
    true = np.concatenate([true_poses(e, t.times_s) for t, e in zip(tracks, episodes, strict=True)])
    return gauges(given, true)[1]


def _logged(track: Track, T_found_true: SE3, lab: Lab, world_seed: int) -> LoggedPush:
    """One episode; its covariances are of left perturbations, which the object's own frame does not change."""
    episode = lab.frames.episode(track.episode)
    turned = replace(track, object=OBJECT, Ts_world_object=track.Ts_world_object @ T_found_true)
    return LoggedPush(episode.times_s, _tips(lab, track.episode, world_seed), turned)


def _tips(lab: Lab, name: str, world_seed: int) -> Float[np.ndarray, "t 2"]:
    """Where the calibrated robot has its pusher's end at each step [m]."""
    assert lab.lookout.robot is not None
    (arm,) = World(WorldConfig("push-t", seed=world_seed)).machine.arms
    episode, tree = lab.frames.episode(name), lab.lookout.robot.tree
    log = joint_log(tree, lab.fit.joints, episode.times_s, episode.joint_positions)
    links = lab.lookout.robot.link_poses(log, episode.times_s)[:, tree.link(arm.tool_link)]
    return np.asarray((links @ arm.T_link_tool.as_matrix())[:, :2, 3])


def _truth(capture: Prepared, tracks: list[Track]) -> dict[str, float]:
    """By the names of `Belief`; the table's friction is its mean over what the object swept."""
    truth = dict(capture.truth.parameters)
    episodes = [capture.truth.episodes[int(track.episode)] for track in tracks]
    swept = np.array([episode.swept_friction for episode in episodes])
    moved = np.array([
        np.linalg.norm(np.diff(episode.Ts_world_object.translation, axis=0), axis=1).sum() for episode in episodes
    ])  # fmt: skip
    used = np.isfinite(swept)
    if used.any():
        truth[f"contact/{OBJECT}-table/friction"] = float(np.average(swept[used], weights=moved[used]))
    return truth
