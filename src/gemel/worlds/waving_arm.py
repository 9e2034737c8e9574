"""The smallest stand-in: a planar two-joint arm waves over a patterned table, drawn with numpy in milliseconds.

It writes a complete LeRobot v3.0 log in a second or two, so tests, the ingest benchmark and first demos run on a
real file layout. Cameras: `front` is fixed, `wrist` rides on the arm. Its faults are switched on by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter

JOINT_NAMES = ("shoulder.pos", "elbow.pos", "gripper.pos")
_WIDTH, _HEIGHT = 96, 72
_LINKS_M = (0.30, 0.25)


@dataclass(frozen=True)
class WavingArm:
    """What is recorded, and what is wrong with it."""

    episode_count: int = 10
    step_count: int = 60
    fps: float = 10.0
    seed: int = 0
    codec: str = "h264"
    scan_count: int = 1
    """So many of the episodes are scans."""
    camera_delay_s: float = 0.0
    """Frames show the arm as it was this long ago."""
    actuator_lag_s: float = 0.0
    """Joints follow their targets this much later."""
    dropped_samples: int = 0
    """So many samples are lost in the middle of each episode."""
    is_degrees: bool = True
    has_sidecar: bool = False
    """Whether `meta/gemel.toml` states the units."""


def write_log(root: Path, world: WavingArm) -> Path:
    """Record the world as a LeRobot dataset; the same world gives the same bytes."""
    spec = LerobotSpec(
        fps=world.fps,
        joint_names=JOINT_NAMES,
        action_names=JOINT_NAMES,
        camera_sizes={"front": (_WIDTH, _HEIGHT), "wrist": (_WIDTH, _HEIGHT)},
        robot_type="waving_arm",
        codec=world.codec,
    )
    rng = np.random.default_rng(world.seed)
    table = rng.integers(60, 200, size=(24, 32, 3)).repeat(8, axis=0).repeat(8, axis=1).astype(np.uint8)
    with LerobotWriter(root, spec) as writer:
        for index in range(world.episode_count):
            _add_episode(writer, world, table, rng, is_scan=index < world.scan_count)
        if world.has_sidecar:
            writer.write_sidecar(_sidecar(world))
    return root


def _add_episode(
    writer: LerobotWriter, world: WavingArm, table: UInt8[np.ndarray, "H W 3"], rng: np.random.Generator,
    *, is_scan: bool,
) -> None:  # fmt: skip
    object_m = rng.uniform(-0.3, 0.3, size=2)
    waves = _waves(rng)
    times = _sample_times(world)
    state = _joints(times - world.actuator_lag_s, waves)
    action = _joints(times, waves)
    seen = _joints(times - world.camera_delay_s - world.actuator_lag_s, waves)
    unit = np.array([180.0 / np.pi, 180.0 / np.pi, 1.0]) if world.is_degrees else np.ones(3)
    writer.add_episode(
        task="scan the table" if is_scan else "push the disc",
        state=state * unit,
        action=action * unit,
        times_s=times - times[0],
        images={"front": _front(seen, object_m, table), "wrist": _wrist(seen, table)},
    )


def _sample_times(world: WavingArm) -> Float[np.ndarray, " t"]:
    steps = np.arange(world.step_count + world.dropped_samples)
    middle = world.step_count // 2
    return np.delete(steps, slice(middle, middle + world.dropped_samples)) / world.fps


def _waves(rng: np.random.Generator) -> Float[np.ndarray, "3 hinge"]:
    """Amplitude [rad], frequency [rad/s] and phase [rad] of each hinge."""
    return np.stack([rng.uniform(0.3, 0.8, 2), rng.uniform(1.5, 3.0, 2), rng.uniform(0.0, 6.0, 2)])


def _joints(times_s: Float[np.ndarray, " t"], waves: Float[np.ndarray, "3 hinge"]) -> Float[np.ndarray, "t joint"]:
    """Two hinges [rad] that wave with a rest every few seconds, and a gripper [percent]."""
    amplitude, frequency, phase = waves
    # A slow envelope makes the speed vary, which is what timing is read from.
    envelope = 0.5 * (1.0 + np.sin(0.9 * times_s + phase[0]))[:, None]
    angles = amplitude * envelope * np.sin(frequency * times_s[:, None] + phase)
    gripper = 50.0 + 45.0 * np.sin(0.7 * times_s + phase[1])
    return np.concatenate([angles, gripper[:, None]], axis=1)


def _front(
    joints: Float[np.ndarray, "t joint"], object_m: Float[np.ndarray, "2"], table: UInt8[np.ndarray, "H W 3"]
) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    """The fixed camera: table, disc and the two links."""
    y, x = np.mgrid[0:_HEIGHT, 0:_WIDTH]
    pixels_m = np.stack([(x - _WIDTH / 2) / 80.0, (_HEIGHT - y) / 80.0], axis=-1)
    for shoulder, elbow in joints[:, :2]:
        image = table[:_HEIGHT, :_WIDTH].copy()
        disc_m = object_m * np.array([1.0, 0.5]) + np.array([0.0, 0.45])
        image[np.linalg.norm(pixels_m - disc_m, axis=-1) < 0.06] = (200, 40, 40)
        joint_m = _LINKS_M[0] * np.array([np.sin(shoulder), np.cos(shoulder)])
        tip_m = joint_m + _LINKS_M[1] * np.array([np.sin(shoulder + elbow), np.cos(shoulder + elbow)])
        for start, end in ((np.zeros(2), joint_m), (joint_m, tip_m)):
            image[_distance_to_segment(pixels_m, start, end) < 0.02] = (235, 235, 240)
        yield image


def _wrist(
    joints: Float[np.ndarray, "t joint"], table: UInt8[np.ndarray, "H W 3"]
) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    """The camera on the arm: the table slides past."""
    for shoulder, elbow in joints[:, :2]:
        yield _slide(table, 60.0 * shoulder, 60.0 * (shoulder + elbow))


def _slide(table: UInt8[np.ndarray, "H W 3"], down_px: float, right_px: float) -> UInt8[np.ndarray, "h w 3"]:
    """The table moved by a part of a pixel, too, so that slow motion shows; its edges are joined."""
    whole = np.floor([down_px, right_px]).astype(int)
    down, right = np.array([down_px, right_px]) - whole
    rows = np.arange(-1, _HEIGHT) - whole[0]
    columns = np.arange(-1, _WIDTH) - whole[1]
    seen = table[np.ix_(rows % table.shape[0], columns % table.shape[1])].astype(np.float32)
    seen = (1.0 - down) * seen[1:] + down * seen[:-1]
    return ((1.0 - right) * seen[:, 1:] + right * seen[:, :-1]).astype(np.uint8)


def _distance_to_segment(
    points: Float[np.ndarray, "h w 2"], start: Float[np.ndarray, "2"], end: Float[np.ndarray, "2"]
) -> Float[np.ndarray, "h w"]:
    along = end - start
    part = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
    return np.linalg.norm(points - (start + part[..., None] * along), axis=-1)


def _sidecar(world: WavingArm) -> str:
    unit = "deg" if world.is_degrees else "rad"
    tables = [f'[joints."{name}"]\nunit = "{unit}"\n' for name in JOINT_NAMES[:2]]
    return "\n".join([*tables, f'[joints."{JOINT_NAMES[2]}"]\nunit = "percent"\n'])
