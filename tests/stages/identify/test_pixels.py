"""From pixels to friction: a block slides, and its pictures alone correct what a track believed."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.stages.identify.footage import SeenFrame, seen_frames
from gemel.stages.identify.pixel_term import PixelSlopes
from gemel.stages.identify.pixels import intersection, refine_by_pixels, tempering_of
from services.tracking.made_views import block
from stages.identify.made_slide import SlideFootage, about, slide_problem

_TRUTH = 0.30


@pytest.fixture(scope="module")
def frames() -> tuple[SeenFrame, ...]:
    return seen_frames(slide_problem().segments, SlideFootage(_TRUTH), per_segment=3)


@pytest.mark.slow
@pytest.mark.parametrize("start", [0.25, 0.36])
def test_pixels_move_the_friction_to_the_truth(frames: tuple[SeenFrame, ...], start: float) -> None:
    """From either side, the mean ends within 0.01 of the truth, in an interval that is narrower and holds it."""
    prior, track = about(start, 0.05)
    found, info = refine_by_pixels(slide_problem(), prior, track, frames, block(), np.random.default_rng(1), worth=1.0)
    low, high = np.quantile(found.samples[:, 0], [0.025, 0.975])
    assert found.samples.mean() == pytest.approx(_TRUTH, abs=0.01)
    assert low < _TRUTH < high
    assert high - low < 0.5 * np.ptp(np.quantile(track.samples, [0.025, 0.975]))
    assert 0.0 < info.tempering <= 1.0
    assert info.weight > 0.5


@pytest.mark.slow
def test_contradiction_leaves_the_track(frames: tuple[SeenFrame, ...]) -> None:
    """Pixels that are many standard deviations from a sure track change nothing, and it is said."""
    prior, track = about(0.65, 0.01)
    found, info = refine_by_pixels(slide_problem(), prior, track, frames, block(), np.random.default_rng(2), worth=1.0)
    assert found is track
    assert "disagree" in info.words


def test_intersection_is_never_surer_than_both_at_once() -> None:
    """With itself an estimate stays as it is; a useless one gets no weight; of two, neither is counted twice."""
    mean, covariance = np.array([1.0, -2.0]), np.array([[0.3, 0.1], [0.1, 0.2]])
    _, same, spread = intersection(mean, covariance, mean, np.linalg.inv(covariance))
    np.testing.assert_allclose(same, mean)
    np.testing.assert_allclose(spread, covariance)
    weight, kept, _ = intersection(mean, covariance, np.zeros(2), 1e-3 * np.eye(2))
    assert weight == 0.0
    np.testing.assert_allclose(kept, mean)
    crossed = np.diag([0.01, 1.0]), np.diag([1.0, 100.0])  # each knows one of the two parameters
    weight, _, joint = intersection(np.zeros(2), crossed[0], np.zeros(2), crossed[1])
    assert 0.4 < weight < 0.6
    assert np.all(np.diag(joint) < 0.021)


def test_tempering_counts_segments_and_misfit() -> None:
    """Six images that are worth one count as one; twice the misfit is a quarter of the weight."""
    slopes = PixelSlopes(np.zeros(1), np.eye(1), level=1.0, roughness=0.0, images=24)
    assert tempering_of(slopes, 4.0) == pytest.approx(1.0 / 6.0)
    assert tempering_of(replace(slopes, level=2.0), 4.0) == pytest.approx(1.0 / 24.0)
    assert tempering_of(replace(slopes, roughness=1.0), 4.0) == pytest.approx(1.0 / 12.0)
    assert tempering_of(replace(slopes, level=0.5), 40.0) == 1.0  # never more than the pixels themselves
