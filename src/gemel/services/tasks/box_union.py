"""Watertight meshes of unions of axis-aligned boxes, with boxes cut out of them.

All box faces together slice space into a grid of cells. A cell is solid when its centre lies in a box and in no
cut; every side between a solid and an empty cell becomes two triangles. Cells that touch only along an edge would
give an edge with four faces: none of the shapes here has one, and the tests check each for being watertight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

Mesh = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]


@dataclass(frozen=True)
class Box:
    """An axis-aligned box in the frame of its object."""

    centre: tuple[float, float, float]
    """[m]"""
    size: tuple[float, float, float]
    """Edge lengths [m]."""

    @property
    def volume(self) -> float:
        """[m³]"""
        return float(np.prod(self.size))

    @property
    def low(self) -> Float[np.ndarray, "3"]:
        """Corner with the smallest coordinates [m]."""
        return np.asarray(self.centre) - 0.5 * np.asarray(self.size)

    @property
    def high(self) -> Float[np.ndarray, "3"]:
        """Corner with the largest coordinates [m]."""
        return np.asarray(self.centre) + 0.5 * np.asarray(self.size)


def box_union_mesh(boxes: Sequence[Box], cuts: Sequence[Box] = ()) -> Mesh:
    """Surface of the union of `boxes` without `cuts`, faces outward."""
    edges = [_edges([*boxes, *cuts], axis) for axis in range(3)]
    centres = np.stack(np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij"), axis=-1)
    solid = _inside_any(centres, boxes) & ~_inside_any(centres, cuts)
    quads = np.concatenate([_quads(np.pad(solid, 1), axis) for axis in range(3)])  # (q, 4, 3) grid indices
    used, flat = np.unique(quads.reshape(-1, 3), axis=0, return_inverse=True)
    vertices = np.stack([edges[axis][used[:, axis]] for axis in range(3)], axis=-1)
    a, b, c, d = flat.reshape(-1, 4).T
    return vertices, np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)])


def _edges(boxes: Sequence[Box], axis: int) -> Float[np.ndarray, "n"]:
    """Coordinates of all box faces along an axis, without repetition up to a nanometre."""
    ends = np.array([end[axis] for box in boxes for end in (box.low, box.high)])
    return np.unique(np.round(ends, 9))


def _inside_any(points: Float[np.ndarray, "x y z 3"], boxes: Sequence[Box]) -> Bool[np.ndarray, "x y z"]:
    inside = np.zeros(points.shape[:-1], dtype=bool)
    for box in boxes:
        inside |= np.all((points > box.low) & (points < box.high), axis=-1)
    return inside


def _quads(padded: Bool[np.ndarray, "x y z"], axis: int) -> Int[np.ndarray, "q 4 3"]:
    """Sides between solid and empty cells along one axis, corners counter-clockwise seen from outside."""
    step = np.diff(padded.astype(np.int8), axis=axis)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    found = []
    for sign in (-1, 1):  # -1: solid before, empty after, so the outside lies towards +axis
        cell = np.argwhere(step == sign)
        cell[:, [first, second]] -= 1  # padding; along `axis` the difference has taken its place already
        corners = np.repeat(cell[:, None, :], 4, axis=1)
        corners[:, [1, 2], first] += 1
        corners[:, [2, 3], second] += 1
        found.append(corners if sign == -1 else corners[:, ::-1])
    return np.concatenate(found)
