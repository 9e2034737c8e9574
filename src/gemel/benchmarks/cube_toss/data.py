"""The ContactNets tosses (Pfrommer, Halm and Posa, CoRL 2020): an acrylic cube on a board, tracked at 148 Hz.

A toss is a table of x y z [m], qw qx qy qz, velocity [m/s] in the world and angular velocity [rad/s] in the body.
Velocities are differences to the frame before, so they belong to half a frame earlier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gemel.benchmarks.measured import check_columns, read_measurements
from gemel.geometry import SO3

FRAME_S = 1.0 / 148.0
WIDTH_M = 0.1048
HALF_M = 0.5 * WIDTH_M


@dataclass(frozen=True, eq=False)
class Tosses:
    """Tosses of different lengths, padded with NaN to the longest."""

    names: tuple[str, ...]
    lengths: Int[np.ndarray, " toss"]
    position: Float[np.ndarray, "toss t 3"]
    wxyz: Float[np.ndarray, "toss t 4"]
    velocity: Float[np.ndarray, "toss t 3"]
    angular: Float[np.ndarray, "toss t 3"]

    def __len__(self) -> int:
        return len(self.lengths)

    def subset(self, rows: Int[np.ndarray, " k"]) -> "Tosses":
        """Some of the tosses, padded to the longest of them."""
        longest = int(self.lengths[rows].max())
        parts = (self.position, self.wxyz, self.velocity, self.angular)
        names = tuple(self.names[i] for i in rows)
        return Tosses(names, self.lengths[rows], *(part[rows, :longest] for part in parts))


def read_tosses(path: Path) -> Tosses:
    """All tosses of a file."""
    tables = read_measurements(path)
    for name, table in tables.items():
        check_columns(path, name, table, 13)
    lengths = np.array([len(table) for table in tables.values()])
    padded = np.full((len(tables), lengths.max(), 13), np.nan)
    for row, table in zip(padded, tables.values(), strict=True):
        row[: len(table)] = table
    padded[..., 3:7] /= np.linalg.norm(padded[..., 3:7], axis=-1, keepdims=True)
    return Tosses(tuple(tables), lengths, padded[..., :3], padded[..., 3:7], padded[..., 7:10], padded[..., 10:])


def position_errors_percent(predicted: Float[np.ndarray, "toss t 3"], tosses: Tosses) -> Float[np.ndarray, " toss"]:
    """Mean over frames of the distance, in per cent of the cube's width (papers: trajectory.py of ContactNets)."""
    distance = np.linalg.norm(predicted - tosses.position, axis=-1)
    return np.asarray(100.0 / WIDTH_M * np.nanmean(distance, axis=1))


def rotation_errors_deg(predicted: Float[np.ndarray, "toss t 4"], tosses: Tosses) -> Float[np.ndarray, " toss"]:
    """Mean over frames of the geodesic angle."""
    cosine = np.abs(np.sum(predicted * tosses.wxyz, axis=-1))
    return np.asarray(np.degrees(np.nanmean(2.0 * np.arccos(np.clip(cosine, 0.0, 1.0)), axis=1)))


def rotation_vectors(wxyz: Float[np.ndarray, "*n 4"], tosses: Tosses) -> Float[np.ndarray, "*n 3"]:
    """Rotation [rad, world] that takes each measured orientation to the given one; NaN beyond a toss's end."""
    found = np.full((*wxyz.shape[:-1], 3), np.nan)
    measured = np.broadcast_to(tosses.wxyz, wxyz.shape)
    is_there = np.isfinite(wxyz[..., 0]) & np.isfinite(measured[..., 0])
    found[is_there] = (SO3(wxyz[is_there]) @ SO3(measured[is_there]).inverse()).log()
    return found


def folds(count: int, parts: int, rng: np.random.Generator) -> Sequence[Int[np.ndarray, " k"]]:
    """A seeded partition into test sets of nearly equal size."""
    return np.array_split(rng.permutation(count), parts)
