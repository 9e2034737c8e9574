"""Gaussians: what the renderer draws and what splat files hold. A noun only; algorithms live in services/render."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from gemel.errors import GemelError

SH_COUNTS = (1, 4, 9, 16)
"""Spherical-harmonics coefficients per channel of degree 0, 1, 2 and 3."""


def _no_extras() -> Mapping[str, np.ndarray]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Gaussians:
    """n coloured, half-transparent 3D Gaussians in one frame; float32 where they come from files or fits."""

    means: Float[np.ndarray, "n 3"]
    """Centres [m]."""
    rotations: Float[np.ndarray, "n 4"]
    """Quaternions wxyz; any length, the zero quaternion counts as the identity."""
    scales: Float[np.ndarray, "n 3"]
    """Standard deviations along the rotated axes [m], linear, zero or more."""
    opacities: Float[np.ndarray, " n"]
    """0 to 1."""
    sh: Float[np.ndarray, "n k 3"]
    """Colour: rgb = max(0, 1/2 + sum_k Y_k(direction) c_k); k = 1, 4, 9 or 16 (degree 0 to 3)."""
    extras: Mapping[str, Float[np.ndarray, "n c"]] = field(default_factory=_no_extras)
    """Further channels by name, such as object id or normal."""
    dilation_px2: float = 0.3
    """Low-pass filter with which these Gaussians were fitted [px^2]; render with the same value."""
    is_antialiased: bool = False
    """Whether they were fitted with opacities that make up for the low-pass filter."""

    def __post_init__(self) -> None:
        n = len(self.means) if self.means.ndim else 0
        _check_array("means", self.means, [(n, 3)], n)
        _check_array("rotations", self.rotations, [(n, 4)], n)
        _check_array("scales", self.scales, [(n, 3)], n)
        _check_array("opacities", self.opacities, [(n,)], n)
        _check_array("sh", self.sh, [(n, k, 3) for k in SH_COUNTS], n)
        for name, values in self.extras.items():
            channels = values.shape[1] if values.ndim == 2 else 1
            _check_array(f"extras[{name!r}]", values, [(n, channels)], n)
        self._check_ranges()

    def _check_ranges(self) -> None:
        if len(self.means) and (self.opacities.min() < 0.0 or self.opacities.max() > 1.0):
            raise GemelError(
                f"Opacities run from {self.opacities.min():g} to {self.opacities.max():g}: expected 0 to 1.",
                remedy="apply the sigmoid to values from a .ply file; services/formats/ply_splat.py does",
            )
        if len(self.means) and self.scales.min() < 0.0:
            raise GemelError(
                f"The smallest scale is {self.scales.min():g} m: expected zero or more.",
                remedy="apply the exponential to values from a .ply file; services/formats/ply_splat.py does",
            )
        if not 0.0 <= self.dilation_px2 < float("inf"):
            raise GemelError(
                f"dilation_px2 is {self.dilation_px2}: expected zero or more.",
                remedy="use the low-pass filter of the fit, often 0.3",
            )

    def __len__(self) -> int:
        return len(self.means)

    @property
    def sh_degree(self) -> int:
        """Degree of the spherical harmonics, 0 to 3."""
        return SH_COUNTS.index(self.sh.shape[1])


def _check_array(name: str, array: np.ndarray, shapes: list[tuple[int, ...]], n: int) -> None:
    if array.dtype.kind != "f" or array.shape not in shapes:
        given = f"{array.dtype} {array.shape}"
        wanted = " or ".join(str(shape) for shape in shapes)
        raise GemelError(
            f"Gaussians: {name} is {given}, expected a float array of shape {wanted} ({n} means are given).",
            remedy="make all arrays float32 with one row per Gaussian and 1, 4, 9 or 16 SH coefficients",
        )
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise GemelError(
            f"Gaussians: {name} holds {bad} value(s) that are NaN or infinite.",
            remedy="drop those Gaussians, or find the step that produced them (often too high a learning rate)",
        )
