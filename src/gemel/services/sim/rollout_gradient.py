"""A rollout as a step of a torch graph: parameters in, object poses out, gradients by a spread of rollouts.

Derivatives of one simulation through contact are right, and nearly useless: a contact that closes a step later changes
them altogether. Here the forward pass is the rollout at the given parameters; the backward pass uses the slopes of a
plane, fitted by least squares to rollouts all around it, as far out as the belief reaches. So a loss on pixels or
poses feels what parameters do over the range that is in question.

This file's whole point is torch, so it imports torch at module level.
"""

# mypy: disallow-subclassing-any=false

from collections.abc import Callable
from typing import Any

import numpy as np
import torch  # noqa: TID253 - a step of a torch graph
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.geometry.so3 import hat

Simulate = Callable[[np.ndarray], tuple[SE3, np.ndarray]]
"""Coordinates (n, p) to poses `T_world_object` (n, k), and which simulations diverged (n,)."""


class DifferentiableRollout:
    """Poses of a rollout, differentiable in its parameters; what the coordinates mean is up to `simulate`."""

    def __init__(
        self, simulate: Simulate, root: Float[np.ndarray, "p p"], rng: np.random.Generator, *, draws: int = 0
    ) -> None:
        """Draws are spread as `root` times a standard normal; `draws` 0 takes eight to each parameter, at least 16."""
        self._simulate, self._root, self._rng = simulate, np.asarray(root, dtype=np.float64), rng
        self._pairs = max(draws // 2, 1) if draws else max(8, 4 * len(root))
        self.slopes: Float[np.ndarray, "k 6 p"] = np.zeros((0, 6, len(root)))
        """Of the last call: shift of the origin [m] and turn about it [rad], along the world's axes."""
        self.bend: Float[np.ndarray, "k 6"] = np.zeros((0, 6))
        """How far the plane passes by the rollout itself."""
        self.roughness: Float[np.ndarray, "k 6 6"] = np.zeros((0, 6, 6))
        """Covariance of what the plane misses: contacts that switch, and what bends."""
        self.doubt: Float[np.ndarray, "p p"] = np.zeros_like(self._root)
        """The slopes' own covariance for a roughness of one."""

    def __call__(self, z: Tensor) -> Tensor:
        """`T_world_object` (k, 4, 4) of coordinates (p,)."""
        return torch.Tensor(_Rollout.apply(z, self))

    def linearise(self, z: Float[np.ndarray, " p"]) -> Float[np.ndarray, "k 4 4"]:
        """Poses at z; sets `slopes`, `bend`, `roughness` and `doubt`."""
        steps = self._rng.standard_normal((self._pairs, len(z))) @ self._root.T
        steps = np.concatenate([steps, -steps])  # what bends alike on both sides cancels
        poses, is_diverged = self._simulate(np.concatenate([z[None], z + steps]))
        is_kept = ~is_diverged[1:]
        if is_diverged[0] or is_kept.sum() <= len(z):
            raise ConfigError(
                f"{int(is_diverged.sum())} of {len(is_diverged)} simulations around a draw diverged: it has no slopes.",
                remedy="narrow the prior to values that the simulator can take, or shorten its time step",
            )
        self._fit(steps[is_kept], poses[0], poses[1:][is_kept])
        return poses[0].as_matrix()

    def _fit(self, steps: Float[np.ndarray, "n p"], middle: SE3, around: SE3) -> None:
        """Least squares of how poses (n, k) differ from those in the middle (k,), with a constant of its own."""
        turn = (around.rotation @ middle.rotation.inverse()).log()
        shift = around.translation - middle.translation
        away = np.concatenate([shift, turn], axis=-1)  # (n, k, 6)
        design = np.concatenate([np.ones((len(steps), 1)), steps], axis=1)
        found = np.linalg.lstsq(design, away.reshape(len(steps), -1), rcond=None)[0]
        missed = away - (design @ found).reshape(away.shape)
        self.slopes = np.moveaxis(found[1:].reshape(steps.shape[1], *away.shape[1:]), 0, -1)
        self.bend = found[0].reshape(away.shape[1:])
        self.roughness = np.einsum("nki,nkj->kij", missed, missed) / max(len(steps) - design.shape[1], 1)
        self.doubt = np.linalg.pinv(design.T @ design, hermitian=True)[1:, 1:]


class _Rollout(torch.autograd.Function):
    """Forward: the rollout. Backward: the plane through its neighbours."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, rollout: DifferentiableRollout) -> Tensor:
        """(p,) -> (k, 4, 4)."""
        poses = rollout.linearise(z.detach().double().numpy())
        ctx.slopes, ctx.poses = rollout.slopes, poses
        return torch.as_tensor(poses, dtype=z.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Rotations move by `hat(turn) R`, translations by the shift."""
        (gradient,) = gradients
        g = gradient.detach().double().numpy()
        shift = np.einsum("ki,kip->p", g[:, :3, 3], ctx.slopes[:, :3])
        turns = hat(np.moveaxis(ctx.slopes[:, 3:], -1, 1)) @ ctx.poses[:, None, :3, :3]  # (k, p, 3, 3)
        turn = np.einsum("kij,kpij->p", g[:, :3, :3], turns)
        return torch.as_tensor(shift + turn, dtype=gradient.dtype), None
