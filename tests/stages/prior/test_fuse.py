"""Fusing answers: robust, never surer than its parts, and wide enough for the published biases."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.stages.prior.vlm.answer import Estimate, first_json_object
from gemel.stages.prior.vlm.fuse import BIAS_FACTOR, fuse, in_logs

estimates = st.lists(st.builds(Estimate, st.floats(-1.0, 1.0), st.floats(0.01, 0.5)), min_size=1, max_size=25)


@pytest.mark.parametrize(("said", "sigma", "truth"), [(4.0, 1.4, 6.1), (0.76, 1.55, -0.71)])
def test_both_published_biases_lie_within_one_sigma(said: float, sigma: float, truth: float) -> None:
    """Phys2Real's two priors, 25 answers spread by 0.9 cm: the truth is inside, as it was not before."""
    answers = [Estimate(said + 0.9 * z, sigma) for z in np.random.default_rng(0).normal(size=25)]
    fused = fuse(answers, least_sigma=0.1)
    assert fused is not None
    assert abs(fused.value - truth) < fused.sigma
    assert 1.24 < BIAS_FACTOR < 1.26


@given(estimates)
def test_the_spread_is_never_less_than_what_answers_claim_and_order_does_not_matter(answers: list[Estimate]) -> None:
    """Self-reported, between-answers and bias parts add; asking often never makes bias vanish."""
    fused, again = fuse(answers, least_sigma=0.02), fuse(answers[::-1], least_sigma=0.02)
    assert fused is not None
    assert again is not None
    assert fused.sigma >= math.hypot(1.0, BIAS_FACTOR) * min(max(a.sigma, 0.02) for a in answers) * (1 - 1e-9)
    assert min(a.value for a in answers) <= fused.value <= max(a.value for a in answers)
    assert fused.value == pytest.approx(again.value)
    assert fused.sigma == pytest.approx(again.sigma)


def test_one_wild_answer_among_many_changes_little() -> None:
    """An answer far outside is trimmed."""
    answers = [Estimate(0.3 + 0.01 * k, 0.05) for k in range(-5, 6)]
    plain, wild = fuse(answers, least_sigma=0.01), fuse([*answers, Estimate(50.0, 0.05)], least_sigma=0.01)
    assert plain is not None
    assert wild is not None
    assert wild.value == pytest.approx(plain.value, abs=0.01)
    assert wild.sigma == pytest.approx(plain.sigma, rel=0.05)


def test_nothing_asked_is_nothing_known_and_logs_keep_relative_errors() -> None:
    """No answers give no estimate; ten per cent of a mass are a tenth on the log scale."""
    assert fuse([], least_sigma=0.1) is None
    assert in_logs(Estimate(0.35, 0.035)).sigma == pytest.approx(0.1, rel=0.01)


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Whatever a model writes, it is a JSON object or it is none."""
    found = first_json_object(text + '{"a": 1}')
    assert found is None or isinstance(found, dict)
    assert first_json_object("[" * 5000) is None
    assert first_json_object('{"a": ' * 5000) is None
