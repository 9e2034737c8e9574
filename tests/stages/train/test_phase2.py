"""Encoders: the fit finds means and noise, and a frozen policy's encoders can be used beside it."""

from pathlib import Path

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.runtime.adapt.ensemble import Ensemble
from gemel.services.policy.checkpoint import load_network
from gemel.services.policy.mlp import Mlp
from gemel.services.tasks import get_task
from gemel.stages.train.gaussian_fit import FitConfig, fit_gaussian
from gemel.stages.train.phase2 import Phase2Config, train_estimators
from services.policy.test_conditioned import made_policy


def test_the_fit_finds_means_and_noise() -> None:
    """y = sin 2x with a noise that grows with x: both are found, by every member."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (4000, 1))
    sigma = 0.05 + 0.2 * (x > 0.0)
    y = np.sin(2.0 * x) + sigma * rng.standard_normal(x.shape)
    fitted = fit_gaussian(x, y, FitConfig(hidden=(24, 24), members=3, steps=400, batch=256, rate=5e-3), seed=0)
    mlp = Mlp(
        tuple(fitted.weights), tuple(b[:, 0] for b in fitted.biases), np.repeat(fitted.mean[None], 3, axis=0),
        np.repeat(fitted.std[None], 3, axis=0),
    )  # fmt: skip
    at = np.array([[-0.6], [-0.3], [0.5], [0.8]])
    out = mlp(at)
    assert out.shape == (3, 4, 2)
    np.testing.assert_allclose(out[..., 0], np.broadcast_to(np.sin(2.0 * at[:, 0]), (3, 4)), atol=0.12)
    np.testing.assert_allclose(np.exp(out[..., 1]).mean(axis=0), [0.05, 0.05, 0.25, 0.25], rtol=0.6)
    assert not np.allclose(out[0], out[1])


@pytest.mark.slow
def test_encoders_of_a_frozen_policy(tmp_path: Path) -> None:
    """They are written with what they are, small, and estimate every parameter of the task."""
    policy, path = tmp_path / "noise_trained-0.safetensors", tmp_path / "encoders-0.safetensors"
    made_policy(policy)
    train_estimators(policy, path, config=Phase2Config(episodes=16, members=3, steps=30, batch=64))
    network = load_network(path, "encoders")
    assert network.meta["frozen"] == "noise_trained-0"
    assert path.stat().st_size < 200_000
    task = get_task("push-t")
    ensemble = Ensemble(network, task)
    ensemble.start(2)
    ensemble.update(np.tile([[0.45, 0.0, 1.0]], (2, 1)), np.tile([[0.4, 0.3]], (2, 1)), np.zeros((2, 2)))
    assert ensemble.names == tuple(task.parameter_ranges)
    assert np.all(ensemble.sigma > 0.0)
    low, high = np.array(list(task.parameter_ranges.values())).T
    assert np.all((ensemble.mean > low - (high - low)) & (ensemble.mean < high + (high - low)))


def test_encoders_need_a_policy_that_is_told_something(tmp_path: Path) -> None:
    """A randomised policy is told nothing."""
    policy = tmp_path / "randomised-0.safetensors"
    made_policy(policy, told=())
    with pytest.raises(ConfigError, match="encoders are trained on one that is told parameters"):
        train_estimators(policy, tmp_path / "e.safetensors")
