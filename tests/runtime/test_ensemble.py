"""The seed's estimators: an ensemble's variance is the sum of two, and the fusion weighs by inverse variance."""

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.runtime.adapt.ensemble import Ensemble, Memoryless, fuse, mixture
from gemel.runtime.adapt.make import make_estimator, priors_of
from gemel.services.policy.checkpoint import TrainedNetwork, conditioned_meta
from gemel.services.policy.estimator import Estimator, Prior
from gemel.services.policy.mlp import Mlp
from gemel.services.tasks import get_task

TASK = get_task("push-t")
COM = "object/t_block/com_y"


def _encoders(means: list[float], log_sigma: float) -> TrainedNetwork:
    """Encoders that always say the same, in units of the range."""
    members, inputs = len(means), 160
    bias = np.array([[mean, log_sigma] for mean in means], dtype=np.float32)
    layers = Mlp(
        (np.zeros((members, inputs, 2), np.float32),), (bias,),
        np.zeros((members, inputs), np.float32), np.ones((members, inputs), np.float32),
    )  # fmt: skip
    meta = {
        "task": "push-t", "seed": 0, "conditioned_on": conditioned_meta((COM,), [TASK.parameter_ranges[COM]]),
        "control_period_s": 0.1, "made_by": {},
    }  # fmt: skip
    return TrainedNetwork("encoders", meta, layers)


def test_variance_of_an_ensemble_is_epistemic_plus_aleatoric() -> None:
    """sigma² = mean over members of (mean_i - mean)² plus mean of sigma_i²."""
    rng = np.random.default_rng(0)
    means, variances = rng.standard_normal((10, 3, 2)), rng.uniform(0.1, 1.0, (10, 3, 2))
    mean, variance = mixture(means, variances)
    np.testing.assert_allclose(mean, means.mean(axis=0))
    np.testing.assert_allclose(variance, ((means - mean) ** 2).mean(axis=0) + variances.mean(axis=0))


def test_fusion_is_the_seeds_formula() -> None:
    """Prior +4.0 ± 1.4 cm, ensemble +6.0 ± 0.7 cm: four fifths of the way, and surer than either."""
    mean, sigma = fuse(np.array([0.04]), np.array([0.014**2]), np.array([[0.06]]), np.array([[0.007**2]]))
    assert mean[0, 0] == pytest.approx(0.056)
    assert sigma[0, 0] == pytest.approx(0.014 / np.sqrt(5.0))


def test_the_memoryless_fusion_forgets() -> None:
    """What the ensemble says now counts, whatever it said before; an ensemble alone has no prior at all."""
    ensemble = Ensemble(_encoders([0.2, 0.4], -1.0), TASK)
    fused = Memoryless(ensemble, [Prior(COM, 0.04, 0.014, -0.035, 0.075)])
    assert isinstance(ensemble, Estimator)
    assert isinstance(fused, Estimator)
    fused.start(3)
    pose, tip = np.tile([[0.45, 0.0, 0.0]], (3, 1)), np.tile([[0.4, 0.3]], (3, 1))
    fused.update(pose, tip, np.zeros((3, 2)))
    said = 0.02 + 0.055 * 0.3
    spread = 0.055 * np.sqrt(0.1**2 + np.exp(-2.0))
    np.testing.assert_allclose(ensemble.mean, said, rtol=1e-5)
    np.testing.assert_allclose(ensemble.sigma, spread, rtol=1e-5)
    expected = (0.04 / 0.014**2 + said / spread**2) / (1 / 0.014**2 + 1 / spread**2)
    np.testing.assert_allclose(fused.mean, expected, rtol=1e-5)
    before = fused.mean.copy()
    for _ in range(5):
        fused.update(pose, tip, np.zeros((3, 2)))
    np.testing.assert_allclose(fused.mean, before)


def test_wrong_networks_and_names_are_refused() -> None:
    """A policy is no encoder; an unknown variant and missing encoders are named."""
    wrong = TrainedNetwork("policy", {"task": "push-t"}, _encoders([0.0], 0.0).layers)
    with pytest.raises(ConfigError, match="Encoders of push-t"):
        Ensemble(wrong, TASK)
    with pytest.raises(ConfigError, match=r"'fusd' is unknown\. Closest: 'fused'"):
        make_estimator("fusd", TASK, [])
    with pytest.raises(ConfigError, match="needs encoders"):
        make_estimator("history_only", TASK, [])
    with pytest.raises(ConfigError, match="There is no prior of"):
        Memoryless(Ensemble(_encoders([0.0], 0.0), TASK), [])
    with pytest.raises(ConfigError, match="The prior of x"):
        Prior("x", 2.0, 0.1, 0.0, 1.0)


def test_priors_fall_back_to_the_tasks_ranges() -> None:
    """What nobody said anything about is even over its range."""
    found = {prior.name: prior for prior in priors_of(TASK, [Prior(COM, 0.04, 0.014, -0.035, 0.075)])}
    assert found[COM].mean == 0.04
    friction = found["contact/t_block-table/friction"]
    assert friction.mean == pytest.approx(0.5)
    assert friction.sigma == pytest.approx(0.4 / np.sqrt(12.0))
