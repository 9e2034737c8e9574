"""Restitution as the damping of a contact.

MuJoCo's contacts are springs with dampers that push and never pull, so a body leaves when the force would turn round,
not when the spring is relaxed. Of such a contact with damping ratio ζ, Schwager and Pöschel (Granular Matter 9, 2007)
give the speed after over the speed before a bounce; here turned round by interpolation.
"""

import numpy as np
from jaxtyping import Float

_DAMPINGS = np.geomspace(1e-5, 30.0, 4000)


def restitution(damping: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Coefficient of restitution of contacts with these damping ratios."""
    root = np.sqrt(np.abs(1.0 - damping**2)) + 1e-9  # critical damping is a limit from both sides
    swinging = np.arctan2(2.0 * damping * root, 2.0 * damping**2 - 1.0)
    creeping = np.log((damping + root) / np.maximum(damping - root, 1e-300))
    return np.asarray(np.exp(-damping / root * np.where(damping < 1.0, swinging, creeping)))


def damping_ratio(restitution_: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Damping ratio of contacts with these coefficients of restitution, 0 to 1; the lowest are near 0, not 0."""
    falling = restitution(_DAMPINGS)
    return np.asarray(np.exp(np.interp(-restitution_, -falling, np.log(_DAMPINGS))))
