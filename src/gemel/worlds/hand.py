"""A hand that passes through the picture: it hides things and moves shadows, and touches nothing."""

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3, SO3, icosphere_mesh
from gemel.worlds.mitsuba_scene import Part
from gemel.worlds.shapes import Mesh, primitive_mesh

HAND = "hand"
_AWAY = np.array([0.0, 0.0, -3.0])
"""Below the floor, where no camera looks."""


def hand_parts() -> list[Part]:
    """Palm, fingers, thumb and forearm; the fingers point along +x."""
    palm_vertices, palm_faces = icosphere_mesh(1.0, 1)
    palm: Mesh = (palm_vertices * np.array([0.05, 0.043, 0.016]), palm_faces)
    pieces = [palm]
    for i, length in enumerate((0.036, 0.042, 0.040, 0.030)):
        pieces.append(_finger((0.045 + length, -0.030 + 0.020 * i, -0.008), 90.0, 0.0, 0.0095, length))
    pieces.append(_finger((0.012, -0.058, -0.006), 90.0, -50.0, 0.011, 0.028))
    pieces.append(_finger((-0.17, 0.0, 0.01), 86.0, 0.0, 0.034, 0.13))
    return [Part(HAND, piece, "skin") for piece in pieces]


def hand_path(
    times_s: Float[np.ndarray, " tick"], rng: np.random.Generator, *, probability: float, duration_s: float
) -> Float[np.ndarray, "tick 7"]:
    """Pose of the hand over time: away, or one sweep over the table and back at a random moment."""
    rows = np.tile(np.concatenate([[1.0, 0.0, 0.0, 0.0], _AWAY]), (len(times_s), 1))
    start_s, lasts_s = rng.uniform(0.1, 0.7) * duration_s, rng.uniform(1.0, 2.0)
    side, reach, height = rng.choice([-1.0, 1.0]), rng.uniform(0.02, 0.22), rng.uniform(0.12, 0.20)
    if rng.uniform() >= probability:
        return rows
    part = np.clip((times_s - start_s) / lasts_s, 0.0, 1.0)
    inside = (part > 0.0) & (part < 1.0)
    y = side * (0.75 - (0.75 - reach) * np.sin(np.pi * part))
    rotation = SO3.exp(np.array([0.0, 0.0, -side * np.pi / 2.0])) @ SO3.exp(np.array([0.0, 0.15, 0.0]))
    poses = SE3(rotation, np.stack([np.full_like(y, 0.5) + 0.05 * part, y, np.full_like(y, height)], axis=-1))
    rows[inside] = poses.wxyz_xyz[inside]
    return rows


def _finger(centre: tuple[float, float, float], pitch_deg: float, yaw_deg: float, radius: float, half: float) -> Mesh:
    vertices, faces = primitive_mesh("capsule", np.array([radius, half, 0.0]))
    turn = SO3.exp(np.radians([0.0, 0.0, yaw_deg])) @ SO3.exp(np.radians([0.0, pitch_deg, 0.0]))
    return turn @ vertices + np.array(centre), faces
