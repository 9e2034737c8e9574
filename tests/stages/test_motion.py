import numpy as np
import pytest

from gemel.stages.ingest.motion import Window, combine, joint_velocity, window

PERIOD_S = 0.1


def _windows(offset_s: float, *, noise: float = 0.0, count: int = 4, seed: int = 0) -> list[Window]:
    """Image change of a camera that sees two of three joints, stamped `offset_s` away from the robot's clock."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        times = np.arange(80) * PERIOD_S
        phases, rates = rng.uniform(0, 6, 3), rng.uniform(1.0, 3.0, 3)

        def joints(t: np.ndarray, phases: np.ndarray = phases, rates: np.ndarray = rates) -> np.ndarray:
            return np.sin(rates * t[:, None] + phases) * (1 + np.sin(0.7 * t[:, None]))

        at, velocity = joint_velocity(times, joints(times), np.ones(3))
        seen = np.abs(np.diff(joints(times + offset_s), axis=0) / PERIOD_S) @ np.array([1.0, 0.4, 0.0])
        seen = seen + noise * rng.normal(size=len(seen))
        result = window(at, np.abs(velocity), at, seen[:, None], period_s=PERIOD_S, max_shift_s=0.6)
        assert result is not None
        found.append(result)
    return found


@pytest.mark.parametrize("offset_s", [-0.31, -0.1, -0.03, 0.0, 0.05, 0.2])
def test_a_known_shift_is_found_to_a_fraction_of_the_period(offset_s: float) -> None:
    """The shift is recovered within a fifth of a sampling period, also between samples."""
    shift = combine(_windows(offset_s))
    assert shift is not None
    assert shift.seconds == pytest.approx(offset_s, abs=0.2 * PERIOD_S)
    assert shift.explained > 0.8


def test_the_standard_error_covers_the_truth_under_noise() -> None:
    """Over many noisy logs, the truth lies within two standard errors (plus resolution) at least 85 % of the time."""
    hits = 0
    for seed in range(40):
        shift = combine(_windows(-0.12, noise=0.5, seed=seed))
        assert shift is not None
        hits += abs(shift.seconds + 0.12) < 2 * shift.sigma_s + 0.1 * PERIOD_S
    assert hits >= 34  # binomial(40, 0.95): fewer than 34 has probability below 1 %


def test_unrelated_streams_give_no_shift() -> None:
    """Noise against motion explains nothing, and nothing is reported."""
    rng = np.random.default_rng(0)
    times = np.arange(200) * PERIOD_S
    unrelated = window(
        times, np.abs(rng.normal(size=(200, 3))), times, np.abs(rng.normal(size=(200, 1))),
        period_s=PERIOD_S, max_shift_s=0.6,
    )  # fmt: skip
    assert unrelated is not None
    assert combine([unrelated]) is None


def test_steady_motion_carries_no_timing() -> None:
    """A stream that never changes pace cannot be placed in time."""
    times = np.arange(50) * PERIOD_S
    steady = np.ones((50, 1))
    assert window(times, steady, times, steady, period_s=PERIOD_S, max_shift_s=0.6) is None


def test_no_windows_no_shift() -> None:
    """Without data there is no answer."""
    assert combine([]) is None
