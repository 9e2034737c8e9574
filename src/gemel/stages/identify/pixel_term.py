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
    """What pixels say around one set of coordinates: loss(d) = loss - score · d + 1/2 d · curvature d."""

    loss: float
    score: Float[np.ndarray, " p"]
    curvature: Float[np.ndarray, "p p"]
    level: float
    """How far images ask to move the object from where simulations take it, over what their information allows: root
    mean square over images and the six directions."""
    roughness: float
    """The same of what a plane through simulations misses."""
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
        """Loss, score and curvature at z, felt over draws that are spread as `root` times a standard normal."""
        at = torch.tensor(z, dtype=torch.float64, requires_grad=True)
        rollout = DifferentiableRollout(self.simulate, root, rng)
        poses = rollout(at)
        loss, pull = 0.0, torch.zeros_like(poses)
        information = np.zeros((len(self._frames), 6, 6))
        for k, frame in enumerate(self._frames):  # one after the other: a drawing's graph is large
            T = poses[k].detach().requires_grad_(True)
            term, weight = self._term(frame, T.detach().numpy())
            if term is not None:
                cost = weight * term.cost(T)
                (pull[k],) = torch.autograd.grad(cost, T)
                loss, information[k] = loss + float(cost.detach()), weight * term.information
        (gradient,) = torch.autograd.grad(poses, at, pull)
        images = int(np.count_nonzero(information.any(axis=(1, 2))))
        asked = _about_origin(pull.numpy(), poses.detach().numpy())
        squares = np.einsum("ki,kij,kj->k", asked, np.linalg.pinv(information, hermitian=True), asked)
        return PixelSlopes(
            loss=loss,
            score=-gradient.numpy(),
            curvature=_curvature(rollout, information),
            level=float(np.sqrt(squares.sum() / (6.0 * max(images, 1)))),
            roughness=float(np.sqrt(np.sum(information * rollout.roughness) / (6.0 * max(images, 1)))),
            images=images,
        )

    def _term(self, frame: SeenFrame, T_world_object: np.ndarray) -> tuple[Photometric | None, float]:
        """A frame's cost, and its weight: the less, the farther track and model may be off there."""
        term = Photometric.of(self._tracked, frame.view, T_world_object, ErrorModel(), renderer=self._renderer)
        if term is None:
            return None, 0.0
        R = np.kron(np.eye(2), T_world_object[:3, :3])
        expected = np.trace(term.information @ (R * frame.scales**2) @ R.T)
        return term, float(6.0 / (6.0 + expected))


def _curvature(rollout: DifferentiableRollout, information: Float[np.ndarray, "k 6 6"]) -> Float[np.ndarray, "p p"]:
    """Gauss and Newton's, less what chance in the slopes adds to it: noise squared is always positive."""
    found = np.einsum("kip,kij,kjq->pq", rollout.slopes, information, rollout.slopes)
    found -= float(np.sum(information * rollout.roughness)) * rollout.doubt
    values, vectors = np.linalg.eigh(found)
    return np.asarray(vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T)


def _about_origin(
    gradient: Float[np.ndarray, "k 4 4"], Ts_world_object: Float[np.ndarray, "k 4 4"]
) -> Float[np.ndarray, "k 6"]:
    """Gradients in pose matrices as gradients in shifts of the origin and turns about it."""
    turned = gradient[:, :3, :3] @ np.swapaxes(Ts_world_object[:, :3, :3], 1, 2)  # <G, hat(w) R> = <G R', hat(w)>
    skew = turned - np.swapaxes(turned, 1, 2)
    turns = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    return np.concatenate([gradient[:, :3, 3], turns], axis=1)
