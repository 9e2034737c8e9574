"""Restitution as the damping of a contact.

MuJoCo's contacts are springs with dampers. From a linear one with damping ratio ζ a body leaves with
e = exp(-πζ/√(1-ζ²)) of the speed it came with, so ζ = -ln e / √(π² + ln² e).
"""

import numpy as np
from jaxtyping import Float


def damping_ratio(restitution: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Damping ratio of contacts with these coefficients of restitution, above 0 and below 1."""
    loss = -np.log(restitution)
    return np.asarray(loss / np.sqrt(np.pi**2 + loss**2))


def restitution(damping: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Coefficient of restitution of contacts with these damping ratios; 0 from critical damping on."""
    below = np.minimum(damping, 1.0 - 1e-12)
    return np.where(damping >= 1.0, 0.0, np.exp(-np.pi * below / np.sqrt(1.0 - below**2)))
