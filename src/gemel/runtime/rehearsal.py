"""Draws of a belief, each simulated along with what the robot does: they predict where an object goes, and learn.

All draws start from the object's tracked pose and follow the robot's logged joints. After a while (a window) their
predictions have spread; the tracked pose then moves the draws by one ensemble Kalman step (services/inference), counted
only as far as half of the ensemble survives it, and all start again from where the object is. What that step left
uncounted is not lost: while the next window runs, the last one is simulated again beside it with the draws as they are
now, and the rest is counted then. Without contact all draws predict the same and nothing is learnt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, ValueSource
from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3
from gemel.runtime.strand import Strand, Velocities
from gemel.services.inference import PriorMap
from gemel.services.inference.kalman import kalman_step, tempering_step
from gemel.services.sim.compile import CompileConfig, compile_twin, mean_draw
from gemel.services.sim.joint_path import JointPath

_EXPECTED_MISFIT = 0.5
"""Half the squared error, in units of the noise, of a component that a draw explains."""
_LONGEST = 2.0
"""Windows that last so many times as long, since the object was lost, teach nothing."""
_LITTLE = 0.02
"""A rest of a window that counts less than this is not worth another simulation."""


@dataclass(frozen=True)
class RehearsalConfig:
    """How draws go along."""

    draws: int = 32
    """Simulations."""
    window_s: float = 0.8
    """After so long predictions are compared with the tracked pose [s]."""
    model_error: float = 0.15
    """Part of the way gone that any model may miss: friction is not the same everywhere."""


@dataclass(frozen=True, eq=False)
class Sighting:
    """Where an object was seen at the end of a window."""

    T_world_object: SE3
    sd: Float[np.ndarray, "6"]
    """Standard deviations of that pose along the object's axes [m, rad]."""


@dataclass(frozen=True, eq=False)
class _Window:
    """A piece of the past: from where, for how long, and what was seen at its end."""

    starts: Mapping[str, SE3]
    velocities: Velocities
    start_s: float
    end_s: float
    seen: Mapping[str, Sighting]
    left: float
    """Part of what it says that has not been counted."""


class Rehearsal:
    """Simulations of a twin, one for each draw of its belief."""

    def __init__(
        self, twin: Twin, blobs: Blobs, config: RehearsalConfig, rng: np.random.Generator, *, threads: int = 0
    ) -> None:
        """`threads` 0 means all cores."""
        scene = compile_twin(twin, blobs, _simulable(twin), CompileConfig(has_force_sensors=False))
        self._config, self._rng = config, rng
        self._now, self._again = (Strand(scene, config.draws, threads=threads) for _ in range(2))
        known = [name for name in twin.belief.names if self._now.has_parameter(name)]
        learnt = [name for name in known if not name.startswith("robot/")]  # servos are led: they say nothing of these
        self._map = PriorMap.of(twin.belief.only(learnt))
        self._z = self._map.draw(config.draws, rng)
        self._others = _drawn(twin.belief, [name for name in known if name not in learnt], config.draws, rng)
        self._starts: Mapping[str, SE3] = {}
        self._velocities: Velocities = {}
        self._pending: _Window | None = None

    @property
    def belief(self) -> Belief:
        """What is believed now; parameters that nothing here can tell are as they were."""
        parameters = tuple(replace(p, source=ValueSource.INFERRED) for p in self._map.parameters)
        count, others = len(self._z), self._others
        samples = np.concatenate([self._map.to_parameters(self._z), others.samples], axis=1)
        return Belief((*parameters, *others.parameters), samples, np.full(count, 1.0 / count))

    @property
    def is_laid(self) -> bool:
        """Whether it knows where things are."""
        return bool(self._starts)

    def lay(self, poses: Mapping[str, SE3], velocities: Velocities, path: JointPath, time_s: float) -> None:
        """Start a window: all draws, as they are now, from these poses and velocities."""
        names, values = [parameter.name for parameter in self._map.parameters], self._map.to_parameters(self._z)
        self._starts, self._velocities = dict(poses), dict(velocities)
        self._now.set_draws(names, values)
        self._now.lay(poses, velocities, path, time_s)
        if self._pending is not None:
            self._again.set_draws(names, values)
            self._again.lay(self._pending.starts, self._pending.velocities, path, self._pending.start_s)

    def advance(self, path: JointPath, time_s: float) -> dict[str, SE3]:
        """Simulate up to a time; `Ts_world_object` of all draws, batch (draw,), by object."""
        if self._pending is not None:
            behind_s = time_s - self._now.start_s  # the last window runs again at the pace of this one
            self._again.advance(path, min(self._pending.start_s + behind_s, self._pending.end_s))
        return self._now.advance(path, time_s)

    def is_due(self, time_s: float) -> bool:
        """Whether the present window is over."""
        return time_s - self._now.start_s >= self._config.window_s

    def learn(self, predicted: Mapping[str, SE3], seen: Mapping[str, Sighting], path: JointPath) -> None:
        """End a window: move the draws to where they predict what was seen."""
        window = _Window(self._starts, self._velocities, self._now.start_s, self._now.now_s, seen, 1.0)
        errors = _errors(predicted, seen)
        if self._pending is not None:
            errors = self._look_again(self._pending, errors, path)
        self._pending = None
        is_recent = window.end_s - window.start_s <= _LONGEST * self._config.window_s
        if is_recent and errors.size and np.isfinite(errors).all():
            left = self._count(window, errors, 1.0)
            self._pending = replace(window, left=left) if left > _LITTLE else None

    def _look_again(
        self, window: _Window, errors: Float[np.ndarray, "draw m"], path: JointPath
    ) -> Float[np.ndarray, "draw m"]:
        """Count the rest of the window before; errors of the present one as they would be with the moved draws."""
        before = _errors(self._again.advance(path, window.end_s), window.seen)
        if not np.isfinite(before).all() or not np.isfinite(errors).all():
            return errors
        noise, _ = self._noise(window, before)
        both = kalman_step(
            np.concatenate([self._z, errors], axis=1), before, np.zeros(before.shape[1]), noise, self._rng,
            step=window.left,
        )  # fmt: skip
        self._z = both[:, : self._z.shape[1]]
        return both[:, self._z.shape[1] :]

    def _count(self, window: _Window, errors: Float[np.ndarray, "draw m"], most: float) -> float:
        """One step, as large as the ensemble bears; what is left."""
        noise, misfits = self._noise(window, errors)
        step = tempering_step(misfits, most)
        self._z = kalman_step(self._z, errors, np.zeros(errors.shape[1]), noise, self._rng, step=step)
        return most - step

    def _noise(
        self, window: _Window, errors: Float[np.ndarray, "draw m"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " draw"]]:
        """Standard deviations of what no draw can explain, and the misfits of all draws under them."""
        parts = []
        for name, sighting in window.seen.items():
            way = (window.starts[name].inverse() @ sighting.T_world_object).log()
            gone = np.repeat([np.linalg.norm(way[:3]), np.linalg.norm(way[3:])], 3)
            parts.append(np.sqrt(2.0 * sighting.sd**2 + (self._config.model_error * gone) ** 2))
        noise = np.concatenate(parts)
        misfits = 0.5 * np.sum((errors / noise) ** 2, axis=1)
        # What not even the best draw explains is an error of the model, not news about its parameters.
        excess = max(float(misfits.min()) / (_EXPECTED_MISFIT * len(noise)), 1.0)
        return noise * np.sqrt(excess), misfits / excess


def middle(poses: SE3) -> SE3:
    """The pose in the middle of a batch of poses that are near each other: the mean in the first one's tangent."""
    return poses[0] @ SE3.exp((poses[0].inverse() @ poses).log().mean(axis=0))


def _errors(predicted: Mapping[str, SE3], seen: Mapping[str, Sighting]) -> Float[np.ndarray, "draw m"]:
    """Six for each object that was seen, along its axes [m, rad]."""
    parts = [(sighting.T_world_object.inverse() @ predicted[name]).log() for name, sighting in seen.items()]
    return np.concatenate(parts, axis=1) if parts else np.zeros((0, 0))


def _drawn(belief: Belief, names: list[str], count: int, rng: np.random.Generator) -> Belief:
    """Draws of some parameters."""
    rows = rng.choice(len(belief.samples), size=count, p=belief.weights)
    only = belief.only(names)
    return replace(only, samples=only.samples[rows], weights=np.full(count, 1.0 / count))


def _simulable(twin: Twin) -> dict[str, float]:
    """The belief's mean without the parameters of the track, which no simulator has."""
    return {name: value for name, value in mean_draw(twin).items() if not name.startswith("track/")}
