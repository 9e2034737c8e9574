"""Networks that say a mean and a standard deviation, trained by the Gaussian likelihood; several at once, in torch.

Each member starts from its own weights and sees the data in its own order (Lakshminarayanan et al. 2017, deep
ensembles). The learning rate falls to zero along a cosine.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

Arrays = list[np.ndarray]
LOWEST_LOG_SIGMA, HIGHEST_LOG_SIGMA = -6.0, 2.0


@dataclass(frozen=True)
class FitConfig:
    """How networks are fitted."""

    hidden: tuple[int, ...] = (64, 64)
    members: int = 1
    steps: int = 3000
    batch: int = 2048
    rate: float = 2e-3


@dataclass(frozen=True, eq=False)
class Fitted:
    """Stacked weights (member, in, out) and biases (member, out) of each layer, and how inputs are scaled."""

    weights: Arrays
    biases: Arrays
    mean: Float[np.ndarray, " input"]
    std: Float[np.ndarray, " input"]
    loss: float
    """Mean negative log likelihood of the last tenth of the steps."""


def fit_gaussian(
    inputs: Float[np.ndarray, "row input"],
    targets: Float[np.ndarray, "row target"],
    config: FitConfig,
    *,
    seed: int,
    device: str = "cpu",
    on_progress: Callable[[float], None] = lambda done: None,
) -> Fitted:
    """Networks of ELU layers whose outputs are means, then logarithms of standard deviations."""
    import torch

    torch.manual_seed(seed)
    mean, std = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-6)
    x = torch.as_tensor((inputs - mean) / std, dtype=torch.float32, device=device)
    y = torch.as_tensor(targets, dtype=torch.float32, device=device)
    sizes = [x.shape[1], *config.hidden, 2 * y.shape[1]]
    layers = [_layer(torch, config.members, a, b, device) for a, b in pairwise(sizes)]
    optimiser = torch.optim.Adam([p for layer in layers for p in layer], lr=config.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, config.steps)
    losses: list[float] = []
    for step in range(config.steps):
        rows = torch.randint(len(x), (config.members, min(config.batch, len(x))), device=device)
        loss = _loss(torch, _forward(torch, layers, x[rows]), y[rows])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for layer in layers for p in layer], 1.0)
        optimiser.step()
        schedule.step()
        if step >= 0.9 * config.steps:
            losses.append(float(loss.detach()))
        on_progress((step + 1) / config.steps)
    weights, biases = ([layer[i].detach().cpu().numpy() for layer in layers] for i in (0, 1))
    return Fitted(weights, biases, mean.astype(np.float32), std.astype(np.float32), float(np.mean(losses)))


def _layer(torch: Any, members: int, width: int, out: int, device: str) -> tuple[Any, Any]:
    bound = 1.0 / math.sqrt(width)
    weight = (torch.rand(members, width, out, device=device) * 2.0 - 1.0) * bound * math.sqrt(3.0)
    return weight.requires_grad_(), torch.zeros(members, 1, out, device=device).requires_grad_()


def _forward(torch: Any, layers: Any, x: Any) -> Any:
    for weight, bias in layers[:-1]:
        x = torch.nn.functional.elu(torch.baddbmm(bias, x, weight))
    weight, bias = layers[-1]
    return torch.baddbmm(bias, x, weight)


def _loss(torch: Any, out: Any, y: Any) -> Any:
    count = y.shape[-1]
    log_sigma = out[..., count:].clamp(LOWEST_LOG_SIGMA, HIGHEST_LOG_SIGMA)
    return (0.5 * ((y - out[..., :count]) * torch.exp(-log_sigma)) ** 2 + log_sigma).sum(dim=-1).mean()
