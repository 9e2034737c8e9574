"""Lines of sight through the middles of masks: where they meet, and which views miss that place.

Coarse, but it needs no fit, and no error of a calibrated camera moves a line by the object's own size.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.geometry import SE3

_ROUNDS = 12
_LEAST_SIGHTLINES = 3


@dataclass(frozen=True, eq=False)
class Sightlines:
    """n lines through one object, each with the radius that the object shows at unit distance."""

    eyes: Float[np.ndarray, "n 3"]
    """Camera centres [m]."""
    rays: Float[np.ndarray, "n 3"]
    """Unit vectors towards the object."""
    radii: Float[np.ndarray, " n"]
    """Radius of a disc of the mask's area, over distance."""
    extents: Float[np.ndarray, " n"]
    """How far the object reaches: root mean square distance from the mask's middle times √2 (a disc's radius)."""
    view: Int[np.ndarray, " n"]
    """Which observation each comes from."""

    def __len__(self) -> int:
        return len(self.eyes)

    def subset(self, chosen: "np.ndarray") -> "Sightlines":
        """Some of them."""
        return Sightlines(
            self.eyes[chosen], self.rays[chosen], self.radii[chosen], self.extents[chosen], self.view[chosen]
        )

    @property
    def widest_angle_deg(self) -> float:
        """Largest angle between two of them."""
        if len(self) < 2:
            return 0.0
        return float(np.degrees(np.arccos(np.clip((self.rays @ self.rays.T).min(), -1.0, 1.0))))


def sightlines(
    masks: "tuple[np.ndarray | None, ...]",
    robots: "tuple[np.ndarray, ...]",
    Ts_world_camera: SE3,
    intrinsics: Float[np.ndarray, "v 4"],
    *,
    is_mirrored: bool = False,
) -> Sightlines:
    """One line for each view whose mask is whole: not cut by the border nor by the robot."""
    rows = [v for v in range(len(masks)) if _is_whole(masks[v], robots[v])]
    rays, radii, extents = [], [], []
    for v in rows:
        mask = np.asarray(masks[v])
        pixels = np.argwhere(mask)[:, ::-1] + 0.5
        middle = pixels.mean(axis=0)
        extents.append(np.sqrt(2.0 * np.mean(np.sum((pixels - middle) ** 2, axis=1))) / intrinsics[v, 0])
        if is_mirrored:
            middle[0] = mask.shape[1] - middle[0]
        fx, fy, cx, cy = intrinsics[v]
        rays.append(np.array([(middle[0] - cx) / fx, (middle[1] - cy) / fy, 1.0]))
        radii.append(np.sqrt(len(pixels) / np.pi) / fx)
    given = np.array(rays).reshape(-1, 3)
    lengths = np.linalg.norm(given, axis=1, keepdims=True)
    index = np.array(rows, dtype=np.int64)
    poses = Ts_world_camera[index]
    unit = np.einsum("nij,nj->ni", poses.rotation.as_matrix(), given / np.maximum(lengths, 1e-12))
    return Sightlines(poses.translation.reshape(-1, 3), unit.reshape(-1, 3), np.array(radii), np.array(extents), index)


def _is_whole(mask: "np.ndarray | None", robot: Bool[np.ndarray, "h w"]) -> bool:
    if mask is None or int(mask.sum()) < 20 or bool((mask & robot).any()):
        return False
    return not (mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any())


@dataclass(frozen=True, eq=False)
class Meeting:
    """Where lines of sight meet."""

    point: Float[np.ndarray, "3"]
    radius_m: float
    """Median radius of the object, seen from there, by its area."""
    extent_m: float
    """The same by how far it reaches: larger for long things, whose masks' middles wander more."""
    misses: Float[np.ndarray, " n"]
    """Distance of each line from the point, in extents of the object."""


def meeting(lines: Sightlines) -> Meeting | None:
    """The point nearest to most lines, by reweighted least squares; None for too few or nearly parallel lines."""
    if len(lines) < _LEAST_SIGHTLINES or lines.widest_angle_deg < 5.0:
        return None
    across = np.eye(3) - lines.rays[:, :, None] * lines.rays[:, None, :]
    weight = np.ones(len(lines))
    point, extent, depth, misses = np.zeros(3), 1.0, np.ones(len(lines)), np.zeros(len(lines))
    for _ in range(_ROUNDS):
        A = (weight[:, None, None] * across).sum(axis=0)
        b = (weight[:, None] * np.einsum("nij,nj->ni", across, lines.eyes)).sum(axis=0)
        point = np.linalg.solve(A + 1e-9 * np.eye(3), b)
        depth = np.einsum("ni,ni->n", point - lines.eyes, lines.rays)
        extent = max(float(np.median(lines.extents * np.abs(depth))), 1e-6)
        apart = np.linalg.norm(np.einsum("nij,nj->ni", across, point - lines.eyes), axis=1)
        misses = np.where(depth > 0.0, apart / extent, np.inf)
        weight = 1.0 / (1.0 + (apart / extent) ** 2)
    return Meeting(point, float(np.median(lines.radii * np.abs(depth))), extent, misses)
