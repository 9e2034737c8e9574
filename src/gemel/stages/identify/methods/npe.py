"""A neural posterior: a mixture density network learns parameters from simulated data, then is shown the real data.

In the line of BayesSim (Ramos, Possas and Fox 2019). Data are summarised by their leading principal components;
simulated noise of random level and correlation is added as the noise model draws it, so the network learns to
integrate over it. All simulations are drawn from the prior, so one network serves every data set of the same layout.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import MissingExtraError
from gemel.services.inference import NoiseModel, PriorMap
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts, log_likelihoods
from gemel.stages.identify.problem import Problem

_MIXTURE = 4
_HIDDEN = 64
_EPOCHS = 600
_NOISES = 4
"""Noisy copies of each rollout."""


def fit_npe(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """Draws of the network's posterior at the observed data."""
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtraError("torch", extra="fit", needed_for="The method npe") from None
    p = len(problem.parameters)
    size = 4 * (config.ensemble or int(np.clip(32 * p, 64, 256)))
    rollouts, model = Rollouts(problem, prior), NoiseModel(problem.noise)
    z, predicted = rollouts.run(prior.draw(size, rng))
    data = np.concatenate([predicted + _noise(model, len(predicted), rng) for _ in range(_NOISES)])
    summary = _Summary.of(data / problem.noise.scale)
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    network = _trained(summary(data / problem.noise.scale), np.tile(z, (_NOISES, 1)), generator)
    draws = _draw(network, summary((problem.observed / problem.noise.scale)[None]), config.draws, rng)
    log_likelihood = log_likelihoods(model, problem.observed, predicted)
    residuals = problem.observed - predicted[np.argmax(log_likelihood)]
    weights = np.full(len(draws), 1.0 / len(draws))
    return Fit(draws, weights, residuals, model.levels(residuals), rollouts.asked, rollouts.diverged)


class _Summary:
    """Leading principal components, scaled to unit variance."""

    def __init__(self, mean: np.ndarray, directions: np.ndarray, spread: np.ndarray) -> None:
        self._mean, self._directions, self._spread = mean, directions, spread

    @staticmethod
    def of(data: Float[np.ndarray, "n m"]) -> "_Summary":
        mean = data.mean(axis=0)
        _, s, vt = np.linalg.svd(data - mean, full_matrices=False)
        kept = min(16, int(np.sum(s**2 > 1e-4 * np.sum(s**2))))
        return _Summary(mean, vt[:kept], s[:kept] / np.sqrt(len(data)))

    def __call__(self, data: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n k"]:
        # Data far from all simulations would send the network anywhere; five deviations say "far" well enough.
        return np.clip((data - self._mean) @ self._directions.T / self._spread, -5.0, 5.0)


def _noise(model: NoiseModel, count: int, rng: np.random.Generator) -> Float[np.ndarray, "n m"]:
    noise = np.empty((count, len(model.layout.group)))
    for row in noise:
        for group, entries in enumerate(model.groups):
            row[entries] = model.draw(group, rng)
    return noise


def _trained(x: Float[np.ndarray, "n k"], z: Float[np.ndarray, "n p"], generator: Any) -> Any:
    """A network that gives mixture weights, means and triangular precision roots; early stopping on a fifth."""
    import torch

    inputs, targets = torch.tensor(x, dtype=torch.float32), torch.tensor(z, dtype=torch.float32)
    p, roots = z.shape[1], z.shape[1] * (z.shape[1] + 1) // 2
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], _HIDDEN), torch.nn.Tanh(), torch.nn.Linear(_HIDDEN, _HIDDEN), torch.nn.Tanh(),
        torch.nn.Linear(_HIDDEN, _MIXTURE * (1 + p + roots)),
    )  # fmt: skip
    with torch.no_grad():
        for parameter in network.parameters():
            scale = 1.0 / np.sqrt(parameter.shape[-1]) if parameter.ndim == 2 else 0.1
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    order = torch.randperm(len(inputs), generator=generator)
    held, used = order[: len(order) // 5], order[len(order) // 5 :]
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3, weight_decay=1e-4)
    best, state, patience = np.inf, network.state_dict(), 0
    for _ in range(_EPOCHS):
        batch = used[torch.randint(len(used), (256,), generator=generator)]
        loss = -_log_density(network(inputs[batch]), targets[batch]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            score = float(-_log_density(network(inputs[held]), targets[held]).mean())
        patience = 0 if score < best else patience + 1
        if score < best:
            best, state = score, {key: value.clone() for key, value in network.state_dict().items()}
        if patience > 60:
            break
    network.load_state_dict(state)
    return network


def _parts(out: Any, p: int) -> tuple[Any, Any, Any]:
    """Log weights (n, mixture), means (n, mixture, p) and lower precision roots (n, mixture, p, p)."""
    import torch

    split = out.reshape(len(out), _MIXTURE, -1)
    rows, columns = torch.tril_indices(p, p)
    root = torch.zeros(*split.shape[:2], p, p)
    root[..., rows, columns] = split[..., 1 + p :]
    diagonal = torch.arange(p)
    root[..., diagonal, diagonal] = torch.exp(root[..., diagonal, diagonal].clamp(-4.0, 6.0))
    return torch.log_softmax(split[..., 0], dim=1), split[..., 1 : 1 + p], root


def _log_density(out: Any, z: Any) -> Any:
    import torch

    log_weights, means, root = _parts(out, z.shape[1])
    white = torch.einsum("nmij,nmj->nmi", root.transpose(-1, -2), z[:, None] - means)
    log_root = torch.log(torch.diagonal(root, dim1=-2, dim2=-1)).sum(dim=-1)
    return torch.logsumexp(log_weights + log_root - 0.5 * (white**2).sum(dim=-1), dim=1)


def _draw(
    network: Any, x: Float[np.ndarray, "1 k"], count: int, rng: np.random.Generator
) -> Float[np.ndarray, "count p"]:
    import torch

    with torch.no_grad():
        out = network(torch.tensor(x, dtype=torch.float32))
        p = int(round((-3.0 + np.sqrt(9.0 + 8.0 * (out.shape[1] / _MIXTURE - 1.0))) / 2.0))
        log_weights, means, root = (part[0].double().numpy() for part in _parts(out, p))
    chosen = rng.choice(_MIXTURE, size=count, p=np.exp(log_weights) / np.exp(log_weights).sum())
    white = rng.standard_normal((count, p, 1))
    return np.asarray(means[chosen] + np.linalg.solve(np.swapaxes(root[chosen], -1, -2), white)[..., 0])
