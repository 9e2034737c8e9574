"""Episodes that a twin itself made: a pusher on two slides knocks the T-block, with known physics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8

from gemel.artifacts.blob import BlobRef, Blobs
from gemel.artifacts.capture import Domain, EpisodeKind, EpisodeRecord, JointSignal, UnitSource
from gemel.artifacts.episode import Episode
from gemel.artifacts.held_out import HeldOutData
from gemel.artifacts.track import Track, Tracks
from gemel.artifacts.twin import Twin
from gemel.services.sim.compile import compile_twin
from gemel.services.sim.native import SimulatorNative
from services.sim.made_pusher import pusher_twin
from services.sim.made_twin import belief

COM, FRICTION = "object/t_block/com_y", "contact/t_block-table/friction"
TRUTH = {COM: 0.02, FRICTION: 0.3}
STROKES = (0.05, -0.04, 0.02, 0.0)
"""Where along the bar the tip knocks [m]."""
_STEPS, _PERIOD_S = 76, 0.02
JOINTS = tuple(JointSignal(name, "m", "m", UnitSource.SOURCE, name) for name in ("px", "py"))


def known_twin(blobs: Blobs, folder: Path) -> Twin:
    """The nominal T-block and the pusher, with a belief that knows the truth."""
    return pusher_twin(blobs, folder, belief({name: (value, value) for name, value in TRUTH.items()}))


def recorded(twin: Twin, blobs: Blobs, *, repeat: bool = False) -> tuple[HeldOutData, Tracks, dict[str, Episode]]:
    """Fast strokes that let the block slide on: where it comes to rest depends on friction and centre of mass.

    Actions are the commands of the servos, reached by the next step; with `repeat`, the first stroke is made twice.
    """
    scene = compile_twin(twin, blobs, TRUTH)
    simulator = SimulatorNative(scene.model, 1, threads=1)
    columns = [scene.model.joint(name).qposadr[0] for name in twin.joints]
    times = np.arange(_STEPS) * _PERIOD_S
    episodes, tracks = {}, []
    for number, x in enumerate((*STROKES, *(STROKES[:1] if repeat else ()))):
        way = np.clip(times - 0.3, 0.0, 0.3)
        targets = np.stack([np.full(_STEPS, x), 0.13 - 0.55 * way], axis=1)
        simulator.reset(scene.qpos(targets[:1]), commands=targets[:1])
        rollout = simulator.rollout(targets[None, 1:], every=round(_PERIOD_S / simulator.timestep_s), is_ramp=True)
        states = np.concatenate([scene.qpos(targets[:1])[None], rollout.qpos], axis=1)[0]
        name = str(number)
        poses = simulator.body_poses("t_block", states)
        tracks.append(
            Track(name, "t_block", times, poses, np.tile(1e-10 * np.eye(6), (_STEPS, 1, 1)), np.zeros(_STEPS, bool))
        )
        actions = np.concatenate([targets[1:], targets[-1:]])
        episodes[name] = Episode(
            name, EpisodeKind.TASK, Domain.STAND_IN, "knock", times, states[:, columns], actions
        )  # fmt: skip
    records = tuple(_record(name) for name in episodes)
    return HeldOutData(records, JOINTS, ("px", "py"), ("m", "m")), Tracks(tuple(tracks), "mocap"), episodes


def _record(name: str) -> EpisodeRecord:
    return EpisodeRecord(
        name, EpisodeKind.TASK, Domain.STAND_IN, "knock", _STEPS, 1.5, BlobRef("ab" * 32, 1), name * 64
    )


@dataclass(frozen=True)
class MemoryFrames:
    """Episodes that are in memory; they have no images."""

    episodes: dict[str, Episode]

    def episode(self, episode_id: str) -> Episode:
        return self.episodes[episode_id]

    def image(self, episode_id: str, camera: str, step: int) -> UInt8[np.ndarray, "h w 3"]:
        raise KeyError(camera)

    def images(self, episode_id: str, camera: str, steps: Sequence[int]) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
        raise KeyError(camera)

    def mask(self, episode_id: str, camera: str, step: int) -> UInt8[np.ndarray, "h w"] | None:
        return None

    def depth(self, episode_id: str, camera: str, step: int) -> Float32[np.ndarray, "h w"] | None:
        return None
