"""Pixels to physics: the photometric loss of frames whose object is put where a rollout takes it.

pixels <- splats <- poses <- physics: the gradient goes through the renderer to the poses and through a spread of
rollouts to the parameters (`DifferentiableRollout`); the curvature is that of Gauss and Newton along the same way.
This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - gradients through the renderer and the rollout
from jaxtyping import Bool, Float
from torch import Tensor  # noqa: TID253

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3
from gemel.services.inference import PriorMap
from gemel.services.render.renderer import Renderer
from gemel.services.sim.rollout_gradient import DifferentiableRollout
from gemel.services.tracking.evidence import ErrorModel
from gemel.services.tracking.photometric import Photometric
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.stages.identify.footage import SeenFrame
from gemel.stages.identify.tracked_problem import TrackedProblem


@dataclass(frozen=True, eq=False)
class PixelSlopes:
    """What pixels say around one set of coordinates: loss(d) = loss - sum of scores · d + 1/2 d · curvature d."""

    loss: float
    scores: Float[np.ndarray, "segment p"]
    """Each segment's own pull."""
    curvature: Float[np.ndarray, "p p"]
    images: int
    """How many views had something to say."""


class PixelTerm:
    """The photometric loss of some frames as a function of the prior's normal coordinates."""

    def __init__(
        self,
        problem: TrackedProblem,
        prior: PriorMap,
        frames: Sequence[SeenFrame],
        mesh: SplatMesh,
        *,
        renderer: Renderer,
    ) -> None:
        """`frames` are in the order of the problem's segments."""
        self._problem, self._prior, self._frames, self._renderer = problem, prior, frames, renderer
        self._tracked = TrackedObject(mesh)
        self._segment = np.array([frame.segment for frame in frames])
        self._times_s = [
            np.array([frame.time_s for frame in frames if frame.segment == k]) for k in range(len(problem.segments))
        ]

    def simulate(self, z: Float[np.ndarray, "n p"]) -> tuple[SE3, Bool[np.ndarray, " n"]]:
        """Poses of the object (n, frame) when each frame's camera looked; which simulations diverged."""
        poses, is_diverged = self._problem.poses(self._prior.to_parameters(z), self._times_s)
        return SE3.from_wxyz_xyz(np.concatenate([part.wxyz_xyz for part in poses], axis=1)), is_diverged

    def around(
        self, z: Float[np.ndarray, " p"], root: Float[np.ndarray, "p p"], rng: np.random.Generator
    ) -> PixelSlopes:
        """Loss, scores and curvature at z, felt over draws that are spread as `root` times a standard normal."""
        at = torch.tensor(z, dtype=torch.float64, requires_grad=True)
        rollout = DifferentiableRollout(self.simulate, root, rng)
        poses = rollout(at)
        terms = [self._term(frame, T) for frame, T in zip(self._frames, poses.detach().numpy(), strict=True)]
        seen = [k for k, (term, _) in enumerate(terms) if term is not None]
        loss = torch.zeros((), dtype=torch.float64)
        curvature = np.zeros((len(z), len(z)))
        for k in seen:
            term, weight = terms[k]
            assert term is not None
            loss = loss + weight * term.cost(poses[k])
            curvature += weight * rollout.slopes[k].T @ term.information @ rollout.slopes[k]
        scores = self._scores(loss, poses, at) if seen else np.zeros((len(self._problem.segments), len(z)))
        return PixelSlopes(float(loss.detach()), scores, curvature, len(seen))

    def _term(self, frame: SeenFrame, T_world_object: np.ndarray) -> tuple[Photometric | None, float]:
        """A frame's cost, and its weight: the less, the farther track and model may be off there."""
        term = Photometric.of(self._tracked, frame.view, T_world_object, ErrorModel(), renderer=self._renderer)
        if term is None:
            return None, 0.0
        R = np.kron(np.eye(2), T_world_object[:3, :3])
        expected = np.trace(term.information @ (R * frame.scales**2) @ R.T)
        return term, float(6.0 / (6.0 + expected))

    def _scores(self, loss: Tensor, poses: Tensor, at: Tensor) -> Float[np.ndarray, "segment p"]:
        (pull,) = torch.autograd.grad(loss, poses, retain_graph=True)
        rows = []
        for k in range(len(self._problem.segments)):
            own = torch.as_tensor(self._segment == k)[:, None, None]
            (gradient,) = torch.autograd.grad(poses, at, pull * own, retain_graph=True)
            rows.append(-gradient.numpy())
        return np.stack(rows)
