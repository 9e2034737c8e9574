"""Where the cameras are while an object is fitted: given, or corrected together with the object.

The fit knows cameras only through `Rig`. `FreeRig` lets each view move on its own; a rig that hangs cameras on a robot
shares its unknowns between views. This file's whole point is torch, so it imports torch at module level.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch  # noqa: TID253 - rigs are differentiated by torch
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.stages.reconstruct.views import Views

SMALLEST_SIGMA = 1e-6
"""A standard deviation of zero beside one that is not [m or rad]: firm, yet finite."""


@runtime_checkable
class Rig(Protocol):
    """Camera poses and intrinsics as functions of unknowns, with what is known about those beforehand."""

    def poses(self) -> tuple[Tensor, Tensor]:
        """`Ts_camera_world` (v, 4, 4) and intrinsics fx, fy, cx, cy (v, 4) [px] of all views, differentiable."""
        ...

    def parameters(self) -> list[dict[str, Any]]:
        """Groups for torch's Adam: `params` (leaf tensors) and `lr` (step per iteration); empty if all is fixed."""
        ...

    def prior_loss(self) -> Tensor:
        """Negative log prior of the unknowns without its constant: half the sum of (deviation / sigma)²."""
        ...


class FreeRig:
    """Each view has its own rigid correction about the object's centre, with a Gaussian prior on the camera's motion.

    Turning the world about the object instead of the camera about itself makes rotation and translation nearly
    independent in the image. Intrinsics stay as given.
    """

    def __init__(
        self,
        views: Views,
        centre_world: Float[np.ndarray, "3"],
        *,
        rotation_sigma_rad: float,
        translation_sigma_m: float,
        device: str = "cpu",
        step_rad: float = 3e-4,
        step_m: float = 1e-4,
    ) -> None:
        """Sigmas are of each camera about itself, per axis; both zero: the given poses are kept."""
        count = len(views)
        self.is_fixed = rotation_sigma_rad == 0.0 and translation_sigma_m == 0.0
        self._given = torch.tensor(views.Ts_camera_world, dtype=torch.float32, device=device)
        self._intrinsics = torch.tensor(views.intrinsics, dtype=torch.float32, device=device)
        self._centre = torch.tensor(centre_world, dtype=torch.float32, device=device)
        self._turns = torch.zeros((count, 3), device=device, requires_grad=not self.is_fixed)
        self._shifts = torch.zeros((count, 3), device=device, requires_grad=not self.is_fixed)
        self._sigmas = [max(sigma, SMALLEST_SIGMA) for sigma in (translation_sigma_m, rotation_sigma_rad)]
        self._steps = (step_rad, step_m)
        centres = torch.tensor(views.Ts_world_camera.translation, dtype=torch.float32, device=device)
        self._arms = self._centre - centres  # (v, 3), from camera to object

    def poses(self) -> tuple[Tensor, Tensor]:
        """Given poses after a motion of the world by (turn about the centre, shift)."""
        if self.is_fixed:
            return self._given, self._intrinsics
        rotations = _rotations(self._turns)
        shifts = self._centre - rotations @ self._centre + self._shifts  # (v, 3)
        R_given, t_given = self._given[:, :3, :3], self._given[:, :3, 3:]
        upper = torch.cat([R_given @ rotations, R_given @ shifts[..., None] + t_given], dim=2)
        return torch.cat([upper, self._given[:, 3:]], dim=1), self._intrinsics

    def parameters(self) -> list[dict[str, Any]]:
        """Turns and shifts with their steps."""
        if self.is_fixed:
            return []
        return [{"params": [self._turns], "lr": self._steps[0]}, {"params": [self._shifts], "lr": self._steps[1]}]

    def prior_loss(self) -> Tensor:
        """Deviation of each camera from where it was given: its own turn, and its shift after swinging round."""
        swung = self._shifts - torch.linalg.cross(self._turns, self._arms)
        return 0.5 * ((swung / self._sigmas[0]).square().sum() + (self._turns / self._sigmas[1]).square().sum())


def _rotations(vectors: Tensor) -> Tensor:
    """Rotation matrices (v, 3, 3) of rotation vectors [rad], Rodrigues' formula with its limit at zero."""
    squared = vectors.square().sum(dim=-1)[:, None, None] + 1e-16
    angle = squared.sqrt()
    x, y, z = vectors.unbind(-1)
    zero = torch.zeros_like(x)
    skew = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).reshape(-1, 3, 3)
    eye = torch.eye(3, device=vectors.device)
    return eye + (angle.sin() / angle) * skew + ((1.0 - angle.cos()) / squared) * (skew @ skew)
