"""A rig whose cameras hang on the robot: the joint fit moves them through the calibration's own unknowns.

About the calibration's solution, poses are linear in its unknowns, which are drawn from its posterior; each view has a
small motion of its own besides, for what no unknown explains. This file's whole point is torch, so it imports torch at
module level.
"""

from typing import Any

import numpy as np
import torch  # noqa: TID253 - rigs are differentiated by torch
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.services.kinematics.forward import exp_se3
from gemel.stages.reconstruct.calibration.calibrate import Calibration

_OWN_SIGMA = (3e-4, 3e-4, 3e-4, 5e-4, 5e-4, 5e-4)
"""What a view may do on its own: jitter of clocks and gears [m, rad]."""
_STEP = 0.02
"""Adam's step, in standard deviations."""


class CalibratedRig:
    """Cameras as functions of the calibration's unknowns, whitened by its covariance."""

    def __init__(
        self,
        calibration: Calibration,
        chosen: "np.ndarray",
        intrinsics: Float[np.ndarray, "v 4"],
        *,
        device: str = "cpu",
    ) -> None:
        """`chosen`: which of the calibration's views; `intrinsics` at the solution, for the images that are fitted."""
        jacobians = calibration.jacobians
        root = np.linalg.cholesky(calibration.covariance + 1e-18 * np.eye(len(calibration.theta)))
        self._root = root
        self._theta = calibration.theta

        def tensor(values: np.ndarray) -> Tensor:
            return torch.tensor(values, dtype=torch.float32, device=device)

        self._given = tensor(jacobians.poses.Ts_camera_world[chosen])
        self._by_unknown = tensor(jacobians.cameras[chosen] @ root)  # (v, 6, p)
        self._focal_by_unknown = tensor(jacobians.log_focal[chosen] @ root)  # (v, p)
        self._intrinsics = tensor(intrinsics)
        self._own_sigma = tensor(np.array(_OWN_SIGMA))
        self._shared = torch.zeros(len(root), device=device, requires_grad=True)
        self._own = torch.zeros((len(chosen), 6), device=device, requires_grad=True)

    def poses(self) -> tuple[Tensor, Tensor]:
        """`Ts_camera_world` (v, 4, 4) and intrinsics (v, 4)."""
        twists = self._by_unknown @ self._shared + self._own * self._own_sigma
        scale = torch.exp(self._focal_by_unknown @ self._shared)
        focal = self._intrinsics[:, :2] * scale[:, None]
        return exp_se3(twists) @ self._given, torch.cat([focal, self._intrinsics[:, 2:]], dim=1)

    def parameters(self) -> list[dict[str, Any]]:
        """Shared unknowns and the views' own motions."""
        return [{"params": [self._shared], "lr": _STEP}, {"params": [self._own], "lr": _STEP}]

    def prior_loss(self) -> Tensor:
        """Both are standard normal beforehand."""
        return 0.5 * (self._shared.square().sum() + self._own.square().sum())

    def theta(self) -> Float[np.ndarray, " p"]:
        """The calibration's unknowns as the fit left them."""
        return np.asarray(self._theta + self._root @ self._shared.detach().double().cpu().numpy())
