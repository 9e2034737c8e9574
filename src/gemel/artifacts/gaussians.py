"""Gaussians: what the renderer draws."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A set of 3D Gaussians, with activated parameters."""

    means: Float[np.ndarray, "n 3"]
    """[m]."""
    rotations: Float[np.ndarray, "n 4"]
    """wxyz."""
    scales: Float[np.ndarray, "n 3"]
    """Standard deviations along the axes [m]."""
    opacities: Float[np.ndarray, " n"]
    sh: Float[np.ndarray, "n coefficient 3"]
    extras: Mapping[str, Float[np.ndarray, "n _"]] = field(default_factory=dict)
    dilation_px2: float = 0.3
    is_antialiased: bool = False
