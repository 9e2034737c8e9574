"""Strokes beside an object, in its own frame: where they start, where they go, and what they do to it.

On an even table a stroke moves an object by the same wherever it lies. So each is imagined once, and plans of several
strokes are only put together (`stroke_kernel.py`).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.services.policy.push_outline import Outline

Places = Float[np.ndarray, "n 2"]
LENGTHS_M = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.055, 0.07, 0.09, 0.11, 0.13)
"""Lengths of strokes that are looked at [m]."""
_GAP_M = 0.006
"""From the tip's surface to the object's before a stroke [m]."""
_CLEAR_M = 0.012
"""The same on the way round [m]."""
_ASIDE_M = 0.006
"""A stroke starts at least so far from a corner: there it might turn the object either way [m]."""
_TILT_RAD = 0.8
_RING = 72


@dataclass(frozen=True, eq=False)
class Ring:
    """The way round an object, at a distance that is safe to walk."""

    places: Places
    along_m: Float[np.ndarray, " n"]
    """Length of the way to each place [m]."""
    length_m: float

    @staticmethod
    def of(outline: Outline) -> "Ring":
        """The farthest place along each ray from the middle at which the tip is just clear of the object's hull."""
        angles = np.linspace(-np.pi, np.pi, _RING, endpoint=False)
        rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        corners = _corners(outline) - _middle(outline)
        # The support function of the hull, grown by the tip and the clearance: concave corners are cut.
        reach = outline.tip_radius_m + _CLEAR_M
        support = (rays @ corners.T).max(axis=1) + reach
        facing = rays @ rays.T
        radius = np.min(np.where(facing > 0.05, support[None] / np.maximum(facing, 0.05), np.inf), axis=1)
        places = _middle(outline) + radius[:, None] * rays
        steps = np.linalg.norm(np.roll(places, -1, axis=0) - places, axis=1)
        return Ring(places, np.concatenate([[0.0], np.cumsum(steps)[:-1]]), float(steps.sum()))

    def at(self, points: Places) -> Float[np.ndarray, " m"]:
        """The nearest place on the way round of each point [m]."""
        off = np.linalg.norm(points[:, None] - self.places[None], axis=2)
        return np.asarray(self.along_m[np.argmin(off, axis=1)])

    def between(self, first: Float[np.ndarray, "2"], last: Float[np.ndarray, "2"]) -> Places:
        """Places to walk through from near one point to near another, the shorter way round."""
        i, j = (int(np.argmin(np.linalg.norm(self.places - point, axis=1))) for point in (first, last))
        n = len(self.places)
        ahead, back = (j - i) % n, (i - j) % n
        way_ahead = (self.along_m[j] - self.along_m[i]) % self.length_m
        steps = np.arange(ahead + 1) if 2.0 * way_ahead <= self.length_m else -np.arange(back + 1)
        return np.asarray(self.places[(i + steps) % n])


@dataclass(frozen=True, eq=False)
class Strokes:
    """Straight strokes in the object's frame."""

    starts: Places
    ways: Places
    """Directions, of length 1."""

    @staticmethod
    def around(outline: Outline, count: int, rng: np.random.Generator) -> "Strokes":
        """Random ones that start beside a face, not at a corner, and do not go far from square to it."""
        boxes = outline.rectangles
        low, high = (boxes[:, :2] - boxes[:, 2:]).min(axis=0) - 0.03, (boxes[:, :2] + boxes[:, 2:]).max(axis=0) + 0.03
        starts, inward = np.zeros((0, 2)), np.zeros((0, 2))
        while len(starts) < count:
            points = rng.uniform(low, high, (50 * count, 2))
            points = points[np.abs(outline.clearance_m(points) - _GAP_M) < 0.001]
            square = -_slopes(outline, points)
            aside = _ASIDE_M * square[:, ::-1] * [-1.0, 1.0]
            beside = np.stack([outline.clearance_m(points + side * aside) for side in (-1.0, 1.0)])
            is_face = np.all(np.abs(beside - _GAP_M) < 0.0015, axis=0)
            starts, inward = np.concatenate([starts, points[is_face]]), np.concatenate([inward, square[is_face]])
        heading = np.arctan2(inward[:count, 1], inward[:count, 0]) + rng.uniform(-_TILT_RAD, _TILT_RAD, count)
        return Strokes(starts[:count], np.stack([np.cos(heading), np.sin(heading)], axis=1))

    @staticmethod
    def fan(tip: Float[np.ndarray, "2"], angles: Float[np.ndarray, " n"]) -> "Strokes":
        """From where the tip is, in these directions [rad]."""
        return Strokes(np.tile(tip, (len(angles), 1)), np.stack([np.cos(angles), np.sin(angles)], axis=1))

    def motions(self, outline: Outline, physics: Float[np.ndarray, "5"]) -> Float[np.ndarray, "n length 3"]:
        """How the object has moved after each length, in its own frame of before."""
        rows = np.tile(physics, (len(self.starts), 1))
        poses, now, found = np.zeros((len(self.starts), 3)), self.starts, []
        for length_m in LENGTHS_M:
            after = self.starts + length_m * self.ways
            poses, _ = outline.pushed(poses, now, after, rows)
            now = after
            found.append(poses)
        return np.stack(found, axis=1)


def _slopes(outline: Outline, points: Places, step_m: float = 1e-4) -> Places:
    """Directions away from the outline."""
    ends = [
        outline.clearance_m(points + step_m * axis) - outline.clearance_m(points - step_m * axis) for axis in np.eye(2)
    ]
    slope = np.stack(ends, axis=1)
    return np.asarray(slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-12))


def _corners(outline: Outline) -> Places:
    boxes = outline.rectangles
    return np.concatenate([boxes[:, :2] + boxes[:, 2:] * sign for sign in ((1, 1), (1, -1), (-1, 1), (-1, -1))])


def _middle(outline: Outline) -> Float[np.ndarray, "2"]:
    corners = _corners(outline)
    return np.asarray(0.5 * (corners.min(axis=0) + corners.max(axis=0)))
