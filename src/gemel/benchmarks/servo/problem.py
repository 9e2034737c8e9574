"""Runs of one servo as a `Problem`: parameters of the servo in, positions out.

`FULL` are the parameters of the servo model; `PLAIN` those of the baseline, a servo with a gain, viscous damping and
armature and nothing else. Both are fitted to the same runs by the same method. Dry friction and the stall torque of
the baseline are absent, not small.
"""

from functools import cached_property

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.benchmarks.servo.data import PENDULUMS, STEP_S, Run
from gemel.benchmarks.servo.model import Servo, simulate
from gemel.services.inference import NoiseLayout

EVERY = 5
"""Observed entries of a run: one in so many."""
_NOISE_RAD = 0.02


def parameters(servo: str, *, is_plain: bool) -> tuple[Parameter, ...]:
    """What is fitted; bounds span the servos of this size, around stall torques of 0.5 and 5 N·m."""
    strong, kp = (5.0, 32.0) if servo == "sts3250" else (0.6, 400.0)
    rows = [
        ("gain", "N·m/rad", 0.3 * strong / kp, 40.0 * strong / kp),
        ("damping", "N·m·s/rad", 0.003 * strong, 1.0 * strong),
        ("armature", "kg·m²", 1e-4 * strong, 3e-2 * strong),
    ]
    if not is_plain:
        rows += [
            ("torque_per_volt", "N·m/V", 0.02 * strong, 0.5 * strong),
            ("off_damping", "N·m·s/rad", 0.0003 * strong, 0.3 * strong),
            ("coulomb", "N·m", 0.002 * strong, 0.2 * strong),
            ("breakaway", "N·m", 0.002 * strong, 0.2 * strong),
            ("stribeck_speed", "rad/s", 0.05, 5.0),
            ("load_friction", "", 0.005, 0.6),
            ("delay", "s", 0.0005, 0.1),
        ]
    return tuple(
        Parameter(f"robot/{servo}/{name}", unit, low, high, "log", ValueSource.RANDOMISED)
        for name, unit, low, high in rows
    )


class ServoProblem:
    """Positions of one servo's runs; see `gemel.stages.identify.problem.Problem`."""

    def __init__(self, runs: list[Run], *, is_plain: bool, threads: int = 0) -> None:
        self.runs, self._is_plain, self._threads = runs, is_plain, threads
        self.parameters = parameters(runs[0].servo, is_plain=is_plain)

    @cached_property
    def observed(self) -> Float[np.ndarray, " m"]:
        """Positions [rad] of all runs, one in `EVERY`."""
        return np.concatenate([run.position[::EVERY] for run in self.runs])

    @cached_property
    def noise(self) -> NoiseLayout:
        """One level for each firmware gain; a run's residuals hang together in time."""
        gains = sorted({run.firmware_gain for run in self.runs})
        lengths = [len(run.position[::EVERY]) for run in self.runs]
        group = np.repeat([gains.index(run.firmware_gain) for run in self.runs], lengths)
        series = np.repeat(np.arange(len(self.runs)), lengths)
        times_s = np.concatenate([EVERY * STEP_S * np.arange(length) for length in lengths])
        names = tuple(f"position at gain {gain:g}" for gain in gains)
        return NoiseLayout(group, np.full(len(group), _NOISE_RAD), series, times_s, names)

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Positions under each draw."""
        positions = self.positions(draws)
        return np.concatenate([part[:, ::EVERY] for part in positions], axis=1)

    def positions(self, draws: Float[np.ndarray, "n p"]) -> list[Float[np.ndarray, "n t"]]:
        """Positions of each run under each draw, at every entry."""
        every = np.repeat(draws, len(self.runs), axis=0)
        found = simulate(
            PENDULUMS[self.runs[0].servo], self.runs * len(draws), self._servo(every), threads=self._threads
        ).reshape(len(draws), len(self.runs), -1)
        return [found[:, k, : len(run.times_s)] for k, run in enumerate(self.runs)]

    def _servo(self, draws: Float[np.ndarray, "n p"]) -> Servo:
        none = np.zeros(len(draws))
        if self._is_plain:
            gain, damping, armature = draws.T
            return Servo(gain, none + np.inf, damping, damping, armature, none, none, none + 1.0, none, none)
        gain, damping, armature, torque_per_volt, off_damping, *friction = draws.T
        return Servo(gain, torque_per_volt, damping, off_damping, armature, *friction)
