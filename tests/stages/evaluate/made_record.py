"""Episodes that a twin itself made: a pusher on two slides knocks the T-block, with known physics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8

from gemel.artifacts.blob import BlobRef, Blobs
from gemel.artifacts.capture import Domain, EpisodeKind, EpisodeRecord, JointSignal, UnitSource
from gemel.artifacts.episode import Episode
from gemel.artifacts.held_out import HeldOutData
from gemel.artifacts.track import Track, Tracks
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, SO3
from gemel.services.formats.robot_model import read_robot_model
from gemel.services.sim.compile import compile_twin
from gemel.services.sim.native import SimulatorNative
from services.sim.made_twin import belief, block_twin

COM, FRICTION = "object/t_block/com_y", "contact/t_block-table/friction"
TRUTH = {COM: 0.02, FRICTION: 0.3}
_ROBOT = """<mujoco><compiler angle="radian"/><worldbody><body name="base"><body name="slider" pos="0 0 0.08">
<joint name="px" type="slide" axis="1 0 0" range="-2 2"/><inertial pos="0 0 0" mass="10" diaginertia="1 1 1"/>
<body name="tool"><joint name="py" type="slide" axis="0 1 0" range="-2 2"/>
<inertial pos="0 0 0" mass="10" diaginertia="1 1 1"/>
<geom name="pusher" type="cylinder" size="0.01 0.065" mass="0"/></body></body></body></worldbody>
<actuator><position joint="px" kp="100000" kv="4000"/>
<position joint="py" kp="100000" kv="4000"/></actuator></mujoco>"""
STROKES = (0.05, -0.04, 0.02, 0.0)
"""Where along the bar the tip knocks [m]."""
_STEPS, _PERIOD_S = 76, 0.02
JOINTS = tuple(JointSignal(name, "m", "m", UnitSource.SOURCE, name) for name in ("px", "py"))


def pusher_twin(blobs: Blobs, folder: Path) -> Twin:
    """The nominal T-block and the pusher, with a belief that knows the truth."""
    path = folder / "pusher.xml"
    path.write_text(_ROBOT)
    robot = read_robot_model(path, blobs)
    made = block_twin(blobs, {}, robot=robot, pose=SE3(SO3.identity(), np.array([0.0, 0.0, 0.02])))
    zeros = np.zeros(2)
    seen = replace(
        made.reconstruction, Ts_world_base=SE3.identity(1), joint_offsets=zeros, joint_offset_sigmas=zeros,
        joint_plays=zeros,
    )  # fmt: skip
    known = belief({name: (value, value) for name, value in TRUTH.items()})
    return replace(made, reconstruction=seen, belief=known, joints=robot.joint_names)


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
