"""Servos with a pendulum: laws of the model and the loader."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.benchmarks.servo.bench import bench_servo
from gemel.benchmarks.servo.data import STEP_S, Pendulum, Run, read_runs
from gemel.benchmarks.servo.model import Servo, simulate
from gemel.errors import SourceError

PENDULUM = Pendulum(0.5, 0.1, 7.4)
NONE = np.zeros(1)


def _servo(**values: float) -> Servo:
    start = Servo(NONE, NONE + np.inf, NONE, NONE, NONE, NONE, NONE, NONE + 1.0, NONE, NONE)
    return replace(start, **{name: np.array([value]) for name, value in values.items()})


def _run(goal: np.ndarray, *, start: float, is_on: bool = True) -> Run:
    t = STEP_S * np.arange(len(goal))
    position = np.full(len(goal), start)
    return Run("xl330_x_kp1", "xl330", "x", 1.0, t, goal, position, np.full(len(goal), 7.4), np.full(len(goal), is_on))


def test_a_free_pendulum_swings_at_its_frequency() -> None:
    """Without torque, friction and damping: cos(sqrt(g / l) t) for a small angle."""
    run = _run(np.zeros(150), start=0.02, is_on=False)
    found = simulate(PENDULUM, [run], _servo(armature=1e-9))[0]
    assert found == pytest.approx(0.02 * np.cos(np.sqrt(9.81 / 0.1) * run.times_s), abs=1.5e-3)


def test_friction_holds_a_load_below_it_and_not_above() -> None:
    """Weight makes 0.24 N·m at half a radian: dry friction of 0.3 holds it for two seconds, 0.1 does not."""
    run = _run(np.zeros(200), start=0.5, is_on=False)
    held, falling = (simulate(PENDULUM, [run], _servo(armature=1e-3, coulomb=c))[0] for c in (0.3, 0.1))
    assert np.abs(held - 0.5).max() < 2e-3
    assert falling.min() < 0.3


def test_a_servo_stalls_at_its_torque() -> None:
    """It cannot lift the pendulum beyond the angle whose weight is its stall torque."""
    run = _run(np.full(400, 1.5), start=0.0)
    found = simulate(
        PENDULUM, [run], _servo(stiffness=50.0, torque_per_volt=0.2 / 7.4, damping=0.1, off_damping=0.1, armature=1e-3)
    )
    assert np.sin(found[0, -1]) == pytest.approx(0.2 / (0.5 * 9.81 * 0.1), abs=0.01)


def test_a_delay_shifts_the_motion() -> None:
    """A servo that hears its goals 50 ms late does the same 50 ms later."""
    goal = np.concatenate([np.zeros(20), np.full(80, 0.3)])
    prompt, late = (
        simulate(PENDULUM, [_run(goal, start=0.0)], _servo(stiffness=5.0, damping=0.1, armature=1e-2, delay_s=delay))[0]
        for delay in (0.0, 0.05)
    )
    assert late[5:] == pytest.approx(prompt[:-5], abs=1e-6)


def test_unknown_runs_are_refused(tmp_path: Path) -> None:
    """A run of a servo whose pendulum is unknown is an error that names those that are known."""
    np.savez(tmp_path / "r.npz", mx64_sin_sin_kp8=np.zeros((5, 7)))
    with pytest.raises(SourceError, match="sts3250"):
        read_runs(tmp_path / "r.npz")


@pytest.mark.slow
def test_the_quick_bench_gives_all_figures(shared_data: Path) -> None:
    """All keys of the contract, finite."""
    figures, rows = bench_servo(quick=True, seed=0, data=shared_data / "servo_pendulum.npz")
    assert figures.keys() >= {"rmse_over_plain_pd", "coverage95", "interval_score_ratio"}
    assert all(np.isfinite(value) for value in figures.values())
    assert len(rows) == 1
