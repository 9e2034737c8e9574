import numpy as np
import pytest

from gemel.stages.ingest.clock import clock_report, episode_clock


def test_a_regular_clock_has_its_rate_and_no_faults() -> None:
    """Rate is one over the step; nothing is missing, doubled or reversed."""
    clock = episode_clock(np.arange(100) / 30.0)
    assert 1.0 / clock.period_s == pytest.approx(30.0)
    assert clock.jitter_s == pytest.approx(0.0, abs=1e-12)
    assert (len(clock.gaps), len(clock.duplicates), len(clock.backwards)) == (0, 0, 0)


def test_jitter_is_the_robust_spread_of_the_steps() -> None:
    """Gaussian jitter of 2 ms on each stamp gives a spread of the steps near 2√2 ms."""
    rng = np.random.default_rng(0)
    clock = episode_clock(np.arange(4000) / 30.0 + 0.002 * rng.normal(size=4000))
    assert clock.jitter_s == pytest.approx(0.002 * np.sqrt(2), rel=0.08)


def test_dropped_samples_are_counted_and_placed() -> None:
    """Three samples removed in one place and one in another are four missing samples in two gaps."""
    times = np.delete(np.arange(50) / 10.0, [20, 21, 22, 40])
    clock = episode_clock(times)
    assert clock.missing_count == 4
    assert clock.gaps.tolist() == [19, 36]


def test_duplicates_and_steps_back_are_told_apart() -> None:
    """A repeated stamp is a duplicate; an earlier one is time going backwards."""
    clock = episode_clock(np.array([0.0, 0.1, 0.1, 0.2, 0.15, 0.3, 0.4]))
    assert clock.duplicates.tolist() == [1]
    assert clock.backwards.tolist() == [3]


@pytest.mark.parametrize("times", [[], [0.0], [1.0, 1.0, 1.0], [np.nan, np.nan]])
def test_clocks_without_steps_have_no_rate(times: list[float]) -> None:
    """Too few or equal stamps give no rate, and no exception."""
    report = clock_report([episode_clock(np.array(times, dtype=np.float64))])
    assert report.rate_hz == 0.0
