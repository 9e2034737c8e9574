"""Servos that swing a pendulum (Rhoban, Better Actuator Models): Dynamixel XL330 and Feetech STS3250.

A run is a table of t [s], goal, position [rad], speed [rad/s], load, supply [V] and whether torque is on; zero is
hanging down. Tables are brought to an even step here, because their own varies between 3 and 38 ms.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from gemel.benchmarks.measured import check_columns, read_measurements
from gemel.errors import SourceError

WITHHELD = "sin_time_square"
"""The trajectory that is never fitted."""
STEP_S = 0.01
"""Time between two entries of a run, once evened out."""


@dataclass(frozen=True)
class Pendulum:
    """What hangs on a servo: from the data's description, not fitted."""

    mass_kg: float
    length_m: float
    nominal_volts: float


PENDULUMS = {"xl330": Pendulum(0.49, 0.10, 7.4), "sts3250": Pendulum(1.13, 0.12, 12.0)}


@dataclass(frozen=True, eq=False)
class Run:
    """One run at an even step."""

    name: str
    servo: str
    trajectory: str
    firmware_gain: float
    times_s: Float[np.ndarray, " t"]
    goal: Float[np.ndarray, " t"]
    position: Float[np.ndarray, " t"]
    volts: Float[np.ndarray, " t"]
    is_on: Bool[np.ndarray, " t"]


def read_runs(path: Path) -> list[Run]:
    """All runs of a file whose arrays are named `SERVO_TRAJECTORY_kpGAIN`."""
    return [_run(path, name, table) for name, table in read_measurements(path).items()]


def _run(path: Path, name: str, table: np.ndarray) -> Run:
    servo, _, rest = name.partition("_")
    trajectory, _, gain = rest.rpartition("_kp")
    if servo not in PENDULUMS or not trajectory or not gain.isdigit():
        raise SourceError(
            f"Run {name!r} in {path} is not named SERVO_TRAJECTORY_kpGAIN with one of {sorted(PENDULUMS)}.",
            remedy="give the file of servo runs that docs/real-data.md describes",
        )
    check_columns(path, name, table, 7)
    t = table[:, 0]
    times_s = np.arange(t[0], t[-1], STEP_S)
    goal, position, volts = (np.interp(times_s, t, table[:, c]) for c in (1, 2, 5))
    latest = np.clip(np.searchsorted(t, times_s, side="right") - 1, 0, None)
    return Run(name, servo, trajectory, float(gain), times_s, goal, position, volts, table[latest, 6] > 0.5)
