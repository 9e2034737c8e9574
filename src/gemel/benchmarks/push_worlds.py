"""Push-t worlds without pictures: what a robot would have logged and tracked, and the truth beside it.

Each world is simulated with all of its imperfections (encoder offsets, base errors, lag, backlash, uneven friction,
dropped frames). The track is the true pose with an error of 0.6 mm and 0.3 degrees, partly correlated from frame to
frame as a tracker's is. The arm is as `calibrate` leaves it: base found, zero points of the joints 1.4 mrad off, which
puts the tip about 1 mm off (`gemel bench calibrate`). Episodes are kept in a folder, because simulating them takes
longer than fitting them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.track import Track
from gemel.geometry import SE3
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.simulate import EpisodeJob, simulate_episode

POSITION_NOISE_M = 0.0006
ROTATION_NOISE_RAD = np.radians(0.3)
_SLOW_PART = 0.3
"""Share of the tracker's error variance that stays for about half a second."""
_SLOW_S = 0.5
ZERO_POINT_RAD = 0.0014
"""Standard deviation of the joints' zero points after calibration [rad]."""
OBJECT = "t_block"


@dataclass(frozen=True, eq=False)
class LoggedPush:
    """One episode as the fit sees it."""

    times_s: Float[np.ndarray, " t"]
    tips: Float[np.ndarray, "t 2"]
    """Where the calibrated robot believes its pusher is [m]: forward kinematics of the readings."""
    track: Track


@dataclass(frozen=True, eq=False)
class PushWorld:
    """What was recorded of one world, and what was true of it."""

    seed: int
    episodes: tuple[LoggedPush, ...]
    truth: dict[str, float]
    """By the names of `Belief`; the table's friction is its mean over what the object swept."""


def push_world(seed: int, folder: Path, *, episodes: int) -> PushWorld:
    """The world of a seed, from the folder if it was simulated before."""
    folder.mkdir(parents=True, exist_ok=True)
    world = World(WorldConfig("push-t", seed=seed))
    logs, swept, moved = [], [], []
    for number in range(episodes):
        path = folder / f"push-t-{seed:04d}-{number:02d}.npz"
        if not path.exists():
            _simulate(seed, number, path)
        with np.load(path) as arrays:
            tips = _tips(world, arrays["joint_positions"])
            logs.append(_logged(seed, number, arrays["times_s"], tips, arrays["object_poses"]))
            swept.append(float(arrays["swept_friction"]))
            moved.append(float(np.linalg.norm(np.diff(arrays["object_poses"][:, 4:], axis=0), axis=1).sum()))
    truth = dict(world.hidden.parameters)
    used = np.isfinite(swept)
    truth[f"contact/{OBJECT}-table/friction"] = float(np.average(np.array(swept)[used], weights=np.array(moved)[used]))
    return PushWorld(seed, tuple(logs), truth)


def _simulate(seed: int, number: int, path: Path) -> None:
    found = simulate_episode(EpisodeJob(WorldConfig("push-t", seed=seed), number, is_scan=False))
    kept = found.is_kept
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(
        partial,
        times_s=found.episode.times_s[kept],
        joint_positions=found.episode.joint_positions[kept],
        object_poses=found.object_poses[kept],
        swept_friction=found.swept_friction,
    )
    partial.rename(path)


def _tips(world: World, joint_positions: Float[np.ndarray, "t joint"]) -> Float[np.ndarray, "t 2"]:
    """Of the robot as it was calibrated; the same for every run."""
    (arm,) = world.machine.arms
    rng = stream_rng(world.config.seed, Stream.SENSORS, 3)
    zero_points = world.hidden.joint_offsets + ZERO_POINT_RAD * rng.standard_normal(joint_positions.shape[1])
    T_true_nominal = world.hidden.T_world_bases[arm.name] @ arm.T_world_base.inverse()
    poses = [world.kinematics.forward(arm, q) for q in joint_positions - zero_points]
    return np.array([(T_true_nominal @ pose).translation[:2] for pose in poses])


def _logged(
    seed: int,
    number: int,
    times_s: Float[np.ndarray, " t"],
    tips: Float[np.ndarray, "t 2"],
    object_poses: Float[np.ndarray, "t 7"],
) -> LoggedPush:
    """Add the tracker's error; the same for every run."""
    rng = stream_rng(seed, Stream.SENSORS, number, 2)
    sd = np.array([POSITION_NOISE_M] * 3 + [ROTATION_NOISE_RAD] * 3)
    kernel = np.exp(-np.abs(times_s[:, None] - times_s[None, :]) / _SLOW_S)
    root = np.linalg.cholesky((1.0 - _SLOW_PART) * np.eye(len(times_s)) + _SLOW_PART * kernel)
    errors = root @ rng.standard_normal((len(times_s), 6)) * sd
    true = SE3.from_wxyz_xyz(object_poses)
    track = Track(
        episode=f"{seed}-{number}",
        object=OBJECT,
        times_s=times_s,
        Ts_world_object=true @ SE3.exp(errors),
        covariances=np.einsum("tij,j,tkj->tik", true.adjoint(), sd**2, true.adjoint()),
        is_lost=np.zeros(len(times_s), dtype=bool),
    )
    return LoggedPush(times_s, tips, track)
