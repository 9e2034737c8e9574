"""A `Problem` made of tracked motion: the robot repeats what it logged in simulation, and the object should follow.

Each draw of the parameters is simulated once per segment, all of them together. The robot's servos are led along the
logged path and do not give way, so what is believed of the robot itself (`robot/` parameters) has no part in it.

Four parameters belong to no simulator: those of the track's frame and clock (`track_frame`). A table looks the same
from everywhere, so they act on the poses that go in and out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.belief import Parameter
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.inference import NoiseLayout
from gemel.services.sim.joint_path import JointPath, steps_of_tick
from gemel.services.sim.laid_down import laid_down
from gemel.services.sim.simulator import Simulator
from gemel.stages.identify.config import PUSH_WORTH
from gemel.stages.identify.problem import pose_residuals
from gemel.stages.identify.segments import Segment
from gemel.stages.identify.track_frame import TRACK_PARAMETERS

_COMPONENTS = ("position x", "position y", "position z", "rotation x", "rotation y", "rotation z")
_SIMULATIONS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Scene:
    """What the problem has to know of a simulator."""

    make: Callable[[int], Simulator]
    """A simulator of so many simulations."""
    object: str
    place: Callable[[Float[np.ndarray, "n joint"], SE3, Float[np.ndarray, "n 6"]], tuple[np.ndarray, np.ndarray]]
    """Positions and velocities (n, nq), (n, nv) of a scene from logged joints, object pose and object velocity."""
    commands: Callable[[Float[np.ndarray, "*n joint"]], Float[np.ndarray, "*n control"]] = lambda positions: positions
    """What leads the servos to logged joints."""
    T_world_rest: SE3 | None = None
    """How the object lies on the table; a segment's start is laid down like this when it is near to it."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Parameters that are set but not inferred."""


@dataclass(eq=False)
class TrackedProblem:
    """See `Problem`."""

    parameters: tuple[Parameter, ...]
    segments: tuple[Segment, ...]
    paths: Mapping[str, JointPath]
    """By episode."""
    scene: Scene
    push_worth: float = PUSH_WORTH
    """How many independent numbers per component a segment counts as."""
    physics_steps: int = 0
    """Physics steps made so far."""
    _simulators: dict[tuple[int, ...], Simulator] = field(default_factory=dict)
    """By the segments that each simulates."""

    def __post_init__(self) -> None:
        if not self.segments:
            raise ConfigError(
                f"{self.scene.object!r} does not move in any of the episodes.",
                remedy="record episodes in which the robot touches it (`gemel suggest` proposes some)",
            )

    @cached_property
    def observed(self) -> Float[np.ndarray, " m"]:
        """Zero: predictions are told relative to what was tracked."""
        return np.zeros(sum(6 * len(s.times_s) for s in self.segments))

    @cached_property
    def noise(self) -> NoiseLayout:
        """One group per component, one series per component and segment."""
        counts = [len(s.times_s) for s in self.segments]
        component = np.concatenate([np.tile(np.arange(6), count) for count in counts])
        segment = np.repeat(np.arange(len(counts)), [6 * count for count in counts])
        return NoiseLayout(
            group=component,
            scale=np.concatenate([s.scales.ravel() for s in self.segments]),
            series=6 * segment + component,
            times_s=np.concatenate([np.repeat(s.times_s, 6) for s in self.segments]),
            names=tuple(f"{self.scene.object} {name}" for name in _COMPONENTS),
            block=segment,
            block_worth=self.push_worth,
        )

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Pose residuals of every segment under each draw."""
        poses, is_diverged = self.poses(draws, [s.times_s for s in self.segments])
        columns = [
            pose_residuals(found, segment.Ts_world_object).reshape(len(draws), -1)
            for found, segment in zip(poses, self.segments, strict=True)
        ]
        predicted = np.concatenate(columns, axis=1)
        predicted[is_diverged] = np.nan
        return predicted

    def poses(
        self, draws: Float[np.ndarray, "n p"], times_s: Sequence[Float[np.ndarray, "_"]]
    ) -> tuple[list[SE3], Bool[np.ndarray, " n"]]:
        """Where the object would be under each draw, (n, t) of each segment at given times; which draws diverged."""
        rounds = -(-len(draws) * len(self.segments) // _SIMULATIONS_AT_ONCE)
        at_once = -(-len(draws) // min(rounds, len(draws)))  # batches of one size, since simulators have a fixed one
        parts = [self._poses(draws[i : i + at_once], at_once, times_s) for i in range(0, len(draws), at_once)]
        joined = [
            SE3.from_wxyz_xyz(np.concatenate([poses[k].wxyz_xyz for poses, _ in parts]))
            for k in range(len(self.segments))
        ]
        return joined, np.concatenate([is_diverged for _, is_diverged in parts])

    def _poses(
        self, draws: Float[np.ndarray, "n p"], at_once: int, times_s: Sequence[Float[np.ndarray, "_"]]
    ) -> tuple[list[SE3], Bool[np.ndarray, " n"]]:
        """At most `at_once` draws; the last batch is filled up."""
        full = np.concatenate([draws, np.repeat(draws[-1:], at_once - len(draws), axis=0)])
        found: dict[int, SE3] = {}
        diverged = np.zeros(len(draws), dtype=bool)
        for alike in self._alike:
            values = {p.name: np.repeat(column, len(alike)) for p, column in zip(self.parameters, full.T, strict=True)}
            offset = _offset(values, len(full) * len(alike))
            ticks, qpos, is_diverged = self._simulate(alike, values, offset, len(full))
            for i, k in enumerate(alike):
                rows = np.arange(i, len(draws) * len(alike), len(alike))
                elapsed_s = times_s[k] - self.segments[k].start_s
                found[k] = offset[rows][:, None] @ self._poses_at(self._simulators[alike], qpos[rows], ticks, elapsed_s)
            diverged |= np.any(is_diverged.reshape(len(full), -1)[: len(draws)], axis=1)
        return [found[k] for k in range(len(self.segments))], diverged

    @cached_property
    def _alike(self) -> tuple[tuple[int, ...], ...]:
        """Long segments and short ones: those that are simulated together take as long as the longest of them."""
        lengths = np.array([s.times_s[-1] - s.start_s for s in self.segments])
        order, count = np.argsort(-lengths), len(lengths)
        costs = [i * lengths[order[0]] + (count - i) * lengths[order[i]] for i in range(count)]
        split = int(np.argmin(costs))
        return tuple(tuple(part.tolist()) for part in (order[:split], order[split:]) if len(part))

    def _simulate(
        self, alike: tuple[int, ...], values: Mapping[str, np.ndarray], offset: SE3, draws: int
    ) -> tuple[Float[np.ndarray, " tick"], Float[np.ndarray, "sim state nq"], np.ndarray]:
        """Simulate some segments of all draws; times of the ticks from a segment's start."""
        count, segments = draws * len(alike), [self.segments[k] for k in alike]
        if alike not in self._simulators or self._simulators[alike].count != count:
            self._simulators[alike] = self.scene.make(count)
        simulator = self._simulators[alike]
        every = steps_of_tick(simulator.timestep_s)
        ticks = np.arange(1, _tick_count(segments, every * simulator.timestep_s) + 1) * every * simulator.timestep_s
        names = [name for name in values if name not in TRACK_PARAMETERS and not name.startswith("robot/")]
        fixed = self.scene.fixed
        columns = [values[name] for name in names] + [np.full(count, value) for value in fixed.values()]
        simulator.set_parameters([*names, *fixed], np.stack(columns, axis=1))
        joints = self._joints(segments, values, ticks, count)
        Ts, velocities = self._starts(segments, offset, draws)
        qpos, qvel = self.scene.place(joints[:, 0], Ts, velocities)
        commands = self.scene.commands(joints)
        simulator.reset(qpos, qvel, commands=commands[:, 0])
        rollout = simulator.rollout(commands[:, 1:], every=every, is_ramp=True)
        self.physics_steps += count * len(ticks) * every
        return ticks, np.concatenate([qpos[:, None], rollout.qpos], axis=1), rollout.is_diverged

    def _joints(
        self,
        segments: Sequence[Segment],
        values: Mapping[str, np.ndarray],
        ticks: Float[np.ndarray, " tick"],
        count: int,
    ) -> Float[np.ndarray, "sim state joint"]:
        """Where the robot was at the start and at each tick, per simulation."""
        delay_s = values.get("track/time_offset", np.zeros(count))
        starts = np.array([s.start_s for s in segments])
        times = np.tile(starts, count // len(starts))[:, None] + delay_s[:, None] + np.concatenate([[0.0], ticks])
        width = next(iter(self.paths.values())).positions.shape[1]
        joints = np.empty((count, len(ticks) + 1, width))
        for k, segment in enumerate(segments):
            rows = slice(k, count, len(starts))
            joints[rows] = self.paths[segment.episode].at(times[rows])
        return joints

    def _starts(
        self, segments: Sequence[Segment], offset: SE3, draws: int
    ) -> tuple[SE3, Float[np.ndarray, "sim 6"]]:  # fmt: skip
        """Where each object starts in the robot's frame, and how fast."""
        wxyz_xyz = np.stack([laid_down(s.T_world_object, self.scene.T_world_rest).wxyz_xyz for s in segments])
        velocities = np.stack([s.velocity for s in segments])
        starts = offset.inverse() @ SE3.from_wxyz_xyz(np.tile(wxyz_xyz, (draws, 1)))
        return starts, np.tile(velocities, (draws, 1))

    def _poses_at(
        self,
        simulator: Simulator,
        states: Float[np.ndarray, "n state nq"],
        ticks: Float[np.ndarray, " tick"],
        elapsed_s: Float[np.ndarray, " t"],
    ) -> SE3:
        """Simulated poses (n, t) some time after the start; time runs from there, so a time offset cancels here."""
        place = np.maximum(elapsed_s / float(ticks[0]), 0.0)
        before = np.minimum(np.floor(place + 1e-9).astype(int), len(ticks) - 1)
        first = simulator.body_poses(self.scene.object, states[:, before])
        second = simulator.body_poses(self.scene.object, states[:, before + 1])
        return first.interpolate(second, np.broadcast_to(place - before, first.batch_shape))


def _tick_count(segments: Sequence[Segment], tick_s: float) -> int:
    longest = max(s.times_s[-1] - s.start_s for s in segments)
    return int(np.ceil(longest / tick_s)) + 2


def _offset(values: Mapping[str, np.ndarray], count: int) -> SE3:
    """`T_track_robot` of each simulation."""
    zero = np.zeros(count)
    x, y, yaw = (values.get(name, zero) for name in TRACK_PARAMETERS[:3])
    return SE3(SO3.exp(np.stack([zero, zero, yaw], axis=1)), np.stack([x, y, zero], axis=1))
