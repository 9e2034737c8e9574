"""Ranges that do not cover are made wider, but never wider than what was believed before."""

from dataclasses import replace

import numpy as np

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.services.inference import flat_belief
from gemel.stages.identify.ranges import _widened

PRIOR = flat_belief(
    (
        Parameter("object/t_block/mass", "kg", 0.1, 10.0, "log", ValueSource.RANDOMISED),
        Parameter("object/t_block/com_y", "m", -0.05, 0.05, "linear", ValueSource.RANDOMISED),
    )
)


def _width(samples: np.ndarray) -> np.ndarray:
    return np.diff(np.quantile(np.stack([np.log(samples[:, 0]), samples[:, 1]], axis=1), [0.05, 0.95], axis=0), axis=0)[
        0
    ]


def test_what_was_learnt_gets_wider_and_what_was_not_stays() -> None:
    learnt = replace(PRIOR, samples=PRIOR.samples * np.array([1.0, 0.1]))
    wider = _widened(learnt, 4.0, PRIOR)
    np.testing.assert_allclose(_width(wider.samples) / _width(learnt.samples), [1.0, 4.0], rtol=0.02)


def test_nothing_gets_wider_than_the_prior() -> None:
    learnt = replace(PRIOR, samples=PRIOR.samples * np.array([1.0, 0.5]))
    np.testing.assert_allclose(_width(_widened(learnt, 4.0, PRIOR).samples), _width(PRIOR.samples), rtol=0.02)
