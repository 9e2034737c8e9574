"""`gemel bench adapt`: what counts as success and when, which files it wants, and the push without feedback."""

from pathlib import Path

import numpy as np
import pytest

from gemel.benchmarks.adapt.bench import bench_adapt, update_ms
from gemel.benchmarks.adapt.cells import BOTTOM, PAPER, STRICT, TOP
from gemel.benchmarks.adapt.one_shot import one_shot_yaw_deg
from gemel.benchmarks.adapt.trials import Trials
from gemel.errors import ConfigError
from services.policy.test_conditioned import made_policy


def _trials(positions_m: list[list[float]]) -> Trials:
    errors = np.stack([np.array(positions_m), np.zeros(np.shape(positions_m))], axis=-1)
    n, t = errors.shape[:2]
    nothing = np.full((n, t), np.nan)
    return Trials("randomised", errors, np.zeros(n), np.zeros(n), 0.061, nothing, nothing)


def test_success_is_at_the_end_and_time_is_when_it_came_to_stay() -> None:
    """In and out again is no success; in twice counts from the second time; never out counts from the first period."""
    trials = _trials([[0.1, 0.01, 0.1], [0.01, 0.1, 0.02], [0.01, 0.01, 0.01]])
    np.testing.assert_array_equal(trials.is_success(PAPER), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(trials.is_success(STRICT), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(trials.seconds(PAPER, 0.1), [np.nan, 0.3, 0.1])


def test_the_priors_are_the_seeds() -> None:
    """+4.0 ± 1.4 cm where the truth is +6.1, +0.76 ± 1.55 cm where it is -0.71."""
    assert (TOP.truth, TOP.prior.mean, TOP.prior.sigma) == (0.061, 0.040, 0.014)
    assert (BOTTOM.truth, BOTTOM.prior.mean, BOTTOM.prior.sigma) == (-0.0071, 0.0076, 0.0155)


def test_missing_networks_are_named_with_the_command_that_makes_them(tmp_path: Path) -> None:
    """Before any world is made."""
    with pytest.raises(ConfigError, match=r"gemel train push-t --variant privileged --seeds 1"):
        bench_adapt(quick=True, seed=0, data=tmp_path, parts="push-t")
    (tmp_path / "push-t").mkdir()
    made_policy(tmp_path / "push-t" / "privileged-0.safetensors")
    with pytest.raises(ConfigError, match=r"gemel train push-t --variant history_only"):
        bench_adapt(quick=True, seed=0, data=tmp_path, parts="push-t", variants="fused,history_only")
    with pytest.raises(ConfigError, match="'fussed' is unknown"):
        bench_adapt(quick=True, seed=0, data=tmp_path, variants="fussed")


@pytest.mark.slow
def test_a_small_run_gives_the_figures(tmp_path: Path) -> None:
    """Two variants, one seed, two episodes: success of both cells, the comparison, the time of an update."""
    (tmp_path / "push-t").mkdir()
    made_policy(tmp_path / "push-t" / "privileged-0.safetensors")
    figures, rows = bench_adapt(quick=True, seed=0, data=tmp_path, parts="push-t", variants="prior_only,fused")
    assert {"success_strict_fused_top", "success_paper_prior_only_bottom", "p_fused_vs_prior_only_top"} <= set(figures)
    assert figures["episodes_per_cell"] == 2
    assert all(np.isfinite(value) for value in figures.values())
    assert len(rows) == 6


def test_the_filter_is_quick() -> None:
    """Far below the 2 ms that a control period leaves it, on whatever runs the tests."""
    assert update_ms(steps=60) < 10.0


@pytest.mark.slow
def test_a_push_through_the_wrong_place_turns_the_block() -> None:
    """Aimed right: below 6 degrees; 2 cm off towards the stem: several times as much."""
    yaw = np.abs(one_shot_yaw_deg())
    right = [yaw[0, 0], yaw[1, 2], yaw[2, 3], yaw[3, 4]]
    assert max(right) < 6.0
    assert min(yaw[1, 0], yaw[2, 2]) > 3.0 * max(right)
