"""`history_only` and `fused_memoryless`: the seed's estimators (arXiv 2510.11689, section IV).

Ten encoders look at the last ten steps; each gives a mean and a variance. The spread of the means is what more data
would teach (epistemic), the mean of the variances what it would not (aleatoric); they are added. The fusion weighs
prior and ensemble by their inverse variances, anew at each step: nothing is remembered beyond the window.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.artifacts.task import Task
from gemel.errors import ConfigError
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.estimator import Planar, Points, Prior, prior_of
from gemel.services.policy.history_window import STEPS, HistoryWindow

Columns = Float[np.ndarray, "n p"]


class Ensemble:
    """History encoders alone."""

    def __init__(self, encoders: TrainedNetwork, task: Task) -> None:
        window = HistoryWindow(task)
        expected = window.stacked.shape[1]
        if encoders.kind != "encoders" or encoders.meta["task"] != task.name or encoders.layers.inputs != expected:
            raise ConfigError(
                f"Encoders of {task.name} that take {expected} numbers ({STEPS} steps) were expected; the file holds "
                f"{encoders.kind} of {encoders.meta['task']} that take {encoders.layers.inputs}.",
                remedy=f"train them: gemel train {task.name} --variant history_only",
            )
        self._layers, self._window = encoders.layers, window
        self.names = encoders.conditioned_on
        low, high = np.array(encoders.ranges).T
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self.start(1)

    def start(self, count: int) -> None:
        """Begin episodes; before the first look nothing is known but the ranges."""
        self._window.start(count)
        self.mean = np.tile(self._middle, (count, 1))
        self.sigma = np.tile(self._half / np.sqrt(3.0), (count, 1))

    def update(self, object_xyyaw: Planar, tip_xy: Points, past_action_world: Points) -> None:
        """All encoders look at the window."""
        self._window.push(object_xyyaw, tip_xy, self._window.in_object(past_action_world))
        means, log_sigmas = np.split(self._layers(self._window.stacked).astype(np.float64), 2, axis=-1)
        mean, variance = mixture(means, np.exp(2.0 * log_sigmas))
        self.mean, self.sigma = self._middle + self._half * mean, self._half * np.sqrt(variance)


class Memoryless:
    """The prior and an ensemble, fused anew at each step."""

    def __init__(self, ensemble: Ensemble, priors: Sequence[Prior]) -> None:
        self._ensemble, self.names = ensemble, ensemble.names
        found = [prior_of(priors, name) for name in self.names]
        self._mean, self._sigma = (np.array([getattr(prior, part) for prior in found]) for part in ("mean", "sigma"))
        self.start(1)

    def start(self, count: int) -> None:
        """Begin episodes."""
        self._ensemble.start(count)
        self.mean, self.sigma = fuse(self._mean, self._sigma**2, self._ensemble.mean, self._ensemble.sigma**2)

    def update(self, object_xyyaw: Planar, tip_xy: Points, past_action_world: Points) -> None:
        """Ask the ensemble, then fuse."""
        self._ensemble.update(object_xyyaw, tip_xy, past_action_world)
        self.mean, self.sigma = fuse(self._mean, self._sigma**2, self._ensemble.mean, self._ensemble.sigma**2)


def mixture(
    means: Float[np.ndarray, "member n p"], variances: Float[np.ndarray, "member n p"]
) -> tuple[Columns, Columns]:
    """Mean and total variance of an ensemble: variance of the means plus mean of the variances."""
    return means.mean(axis=0), means.var(axis=0) + variances.mean(axis=0)


def fuse(
    prior_mean: Float[np.ndarray, " p"],
    prior_variance: Float[np.ndarray, " p"],
    seen_mean: Columns,
    seen_variance: Columns,
) -> tuple[Columns, Columns]:
    """Mean and standard deviation of the product of two Gaussians."""
    prior_weight, seen_weight = 1.0 / np.maximum(prior_variance, 1e-18), 1.0 / np.maximum(seen_variance, 1e-18)
    total = prior_weight + seen_weight
    return (prior_mean * prior_weight + seen_mean * seen_weight) / total, 1.0 / np.sqrt(total)
