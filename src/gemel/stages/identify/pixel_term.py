"""Pixels to physics: the photometric loss of frames whose object is put where a rollout takes it.

pixels <- splats <- poses <- physics. What a view says about a pose are the tracker's normal equations: splats drawn at
the pose under the light of the image, and how the drawing changes when the object moves (`services/tracking`). From
poses to parameters the gradient goes through a spread of rollouts (`DifferentiableRollout`), and the curvature is that
of Gauss and Newton along the same way. This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - gradients through the rollout
from jaxtyping import Bool, Float

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3
from gemel.geometry.so3 import hat
from gemel.services.inference import PriorMap
from gemel.services.render.renderer import Renderer
from gemel.services.sim.rollout_gradient import DifferentiableRollout
from gemel.services.tracking.evidence import ErrorModel, Evidence, weigh
from gemel.services.tracking.expected import expect
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.stages.identify.footage import SeenFrame
from gemel.stages.identify.tracked_problem import TrackedProblem

_BLUR_PX = 1.0
"""Images are looked at through this blur: simulations are off by a pixel and more, and sharp images do not tell by how
much."""


@dataclass(frozen=True, eq=False)
class PixelSlopes:
    """What pixels say around one set of coordinates: loss(d) = loss - score · d + 1/2 d · curvature d."""

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
        """Score and curvature at z, felt over draws that are spread as `root` times a standard normal."""
        at = torch.tensor(z, dtype=torch.float64, requires_grad=True)
        rollout = DifferentiableRollout(self.simulate, root, rng)
        poses = rollout(at)
        Ts = poses.detach().numpy()
        seen = [self._look(frame, T) for frame, T in zip(self._frames, Ts, strict=True)]
        weights = np.array([_trust(e, f, T) for e, f, T in zip(seen, self._frames, Ts, strict=True)])
        information = weights[:, None, None] * np.stack([evidence.information for evidence in seen])
        asked = weights[:, None] * np.stack([evidence.gradient for evidence in seen])
        # Slopes are those of the plane; so is what they are to explain.
        asked -= np.einsum("kij,kj->ki", information, rollout.bend)
        (score,) = torch.autograd.grad(poses, at, torch.as_tensor(_in_matrices(asked, Ts)))
        images = sum(evidence.is_any for evidence in seen)
        squares = np.einsum("ki,kij,kj->", asked, np.linalg.pinv(information, hermitian=True), asked)
        return PixelSlopes(
            score=score.numpy(),
            curvature=_curvature(rollout, information),
            level=float(np.sqrt(squares / (6.0 * max(images, 1)))),
            roughness=float(np.sqrt(np.sum(information * rollout.roughness) / (6.0 * max(images, 1)))),
            images=images,
        )

    def _look(self, frame: SeenFrame, T_world_object: Float[np.ndarray, "4 4"]) -> Evidence:
        """What a frame says about the object's being there."""
        view = frame.view
        T_camera_object = view.T_camera_world @ T_world_object
        (drawing,) = self._tracked.draw(
            T_camera_object[None], view.intrinsics[None], [view.shape], renderer=self._renderer
        )
        expected = expect(view, drawing)
        if expected is None:
            return Evidence.none()
        return weigh(view, expected, T_world_object, blur_px=_BLUR_PX, errors=ErrorModel())


def _trust(evidence: Evidence, frame: SeenFrame, T_world_object: Float[np.ndarray, "4 4"]) -> float:
    """Weight of a frame: the less, the farther track and model may be off there."""
    R = np.kron(np.eye(2), T_world_object[:3, :3])
    return float(6.0 / (6.0 + np.trace(evidence.information @ (R * frame.scales**2) @ R.T)))


def _curvature(rollout: DifferentiableRollout, information: Float[np.ndarray, "k 6 6"]) -> Float[np.ndarray, "p p"]:
    """Gauss and Newton's, less what chance in the slopes adds to it: noise squared is always positive."""
    found = np.einsum("kip,kij,kjq->pq", rollout.slopes, information, rollout.slopes)
    found -= float(np.sum(information * rollout.roughness)) * rollout.doubt
    values, vectors = np.linalg.eigh(found)
    return np.asarray(vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T)


def _in_matrices(
    gradient: Float[np.ndarray, "k 6"], Ts_world_object: Float[np.ndarray, "k 4 4"]
) -> Float[np.ndarray, "k 4 4"]:
    """Gradients in shifts of the origin and turns about it, as gradients in pose matrices: <hat(a), hat(w)> = 2 a·w."""
    found = np.zeros((len(gradient), 4, 4))
    found[:, :3, 3] = gradient[:, :3]
    found[:, :3, :3] = 0.5 * hat(gradient[:, 3:]) @ Ts_world_object[:, :3, :3]
    return found
