"""Tosses as a `Problem`: parameters of cube, contact and tracker in, poses at chosen frames out.

Poses are compared at two frames of the free flight, at steps after the first touch, and at the end. The flight knows
the tracker (gravity, lag, swirl), the end its scale, the rest the contact. Errors grow after the first touch, because
every impact multiplies them; how much is inferred for each group, and the ratios within a group are the `_AFTER`.
"""

from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.benchmarks.cube_toss.data import FRAME_S, HALF_M, Tosses, rotation_vectors
from gemel.benchmarks.cube_toss.model import Cube, simulate
from gemel.geometry import SO3
from gemel.services.inference import NoiseLayout

PARAMETERS = tuple(
    Parameter(name, unit, low, high, transform, ValueSource.RANDOMISED)
    for name, unit, low, high, transform in (
        ("contact/cube-board/friction", "", 0.12, 0.28, "log"),
        ("object/cube/inertia", "kg·m²", 6.5e-4, 1.3e-3, "log"),
        ("contact/cube-board/rolling", "m", 1e-5, 5e-3, "log"),
        ("object/cube/corner_radius", "m", 1e-4, 6e-3, "log"),
        ("contact/cube-board/solref_time", "s", 1.5e-3, 0.03, "log"),
        ("contact/cube-board/solref_damping", "", 0.3, 1.5, "log"),
        ("tracker/scale", "", 0.95, 1.01, "linear"),
        ("tracker/gravity", "m/s²", 9.3, 9.9, "linear"),
        ("tracker/swirl", "1/m²", -0.2, 0.2, "linear"),
        ("tracker/velocity_lag", "s", -0.002, 0.01, "linear"),
    )
)
_AFTER = (4, 8, 14, 22, 35, 55)
"""Frames after the first touch."""
_FLIGHT_M, _FLIGHT_RAD = 0.0007, 0.02
_REST_M = 0.0005
_GROWTH = np.array([0.1, 0.25, 0.5, 0.75, 1.0, 1.3, 1.5])
"""Expected error at those frames and at the end, over that 35 frames after the first touch."""
_IMPACT_M, _IMPACT_RAD = 0.012, 0.3
_GROUPS = ("flight position", "flight rotation", "position", "rotation", "height at rest")
_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


class CubeProblem:
    """Residual poses of tosses; see `gemel.stages.identify.problem.Problem`."""

    parameters = PARAMETERS

    def __init__(self, tosses: Tosses, *, threads: int = 0) -> None:
        self.tosses, self._threads = tosses, threads
        self._frames, self._scales, self._kinds = self._chosen()

    @cached_property
    def observed(self) -> Float[np.ndarray, " m"]:
        """Predictions are residuals, so zero."""
        return np.zeros(len(self.noise.scale))

    @cached_property
    def noise(self) -> NoiseLayout:
        """A level for each kind of residual; chosen frames are far apart, so they count as independent."""
        per_frame = [(kind, s) for kinds, scales in zip(self._kinds, self._scales, strict=True)
                     for kind, s in zip(kinds, scales, strict=True)]  # fmt: skip
        group = np.array([g for kind, _ in per_frame for g in (kind, kind, kind, kind + 1, kind + 1, kind + 1)])
        scale = np.array([v for _, (metres, radians) in per_frame for v in (*[metres] * 3, *[radians] * 3)])
        rest = len(self.tosses)
        group, scale = np.append(group, np.full(rest, 4)), np.append(scale, np.full(rest, _REST_M))
        return NoiseLayout(group, scale, np.arange(len(group)), np.zeros(len(group)), _GROUPS)

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Simulated minus tracked poses at the chosen frames."""
        position, wxyz = simulate(
            self.tosses, cube_of(np.repeat(draws, len(self.tosses), axis=0)), copies=len(draws), threads=self._threads
        )
        shift, turn = position - self.tosses.position, rotation_vectors(wxyz, self.tosses)
        poses = np.concatenate([shift, turn], axis=-1)
        chosen = [poses[:, i, frames].reshape(len(draws), -1) for i, frames in enumerate(self._frames)]
        last = shift[:, np.arange(len(self.tosses)), self.tosses.lengths - 1, 2]
        return np.concatenate([*chosen, last], axis=1)

    def _chosen(self) -> tuple[list[list[int]], list[list[tuple[float, float]]], list[list[int]]]:
        """Per toss: frames, their expected errors (m, rad) and their group (0 in flight, 2 after)."""
        frames, scales, kinds = [], [], []
        for touch, length in zip(first_touches(self.tosses), self.tosses.lengths, strict=True):
            flight = sorted({max(int(touch) // 2, 1), max(int(touch) - 1, 1)})
            after = [(int(touch) + k, g) for k, g in zip(_AFTER, _GROWTH, strict=False) if touch + k < length - 2]
            after.append((int(length) - 1, float(_GROWTH[-1])))
            frames.append([*flight, *(f for f, _ in after)])
            scales.append(
                [*[(_FLIGHT_M, _FLIGHT_RAD)] * len(flight), *((_IMPACT_M * g, _IMPACT_RAD * g) for _, g in after)]
            )
            kinds.append([*[0] * len(flight), *[2] * len(after)])
        return frames, scales, kinds


def cube_of(draws: Float[np.ndarray, "n p"]) -> Cube:
    """Simulated cubes of draws of `PARAMETERS`."""
    return Cube(*draws.T)


def first_touches(tosses: Tosses, *, clearance_m: float = 0.003) -> Int[np.ndarray, " toss"]:
    """First frame at which a corner is tracked within the clearance of the board."""
    wxyz = np.where(np.isfinite(tosses.wxyz), tosses.wxyz, [1.0, 0.0, 0.0, 0.0])
    heights = (SO3(wxyz).as_matrix() @ (0.978 * HALF_M * _CORNERS.T))[..., 2, :].min(axis=-1)
    is_low = tosses.position[..., 2] + heights < clearance_m
    return np.where(is_low.any(axis=1), is_low.argmax(axis=1), tosses.lengths - 1)


def kick_sd(tosses: Tosses) -> tuple[float, float]:
    """Standard deviation of what the first frame's velocity [m/s] and angular velocity [rad/s] are off by.

    The whole free flight shows the velocity it began with; a constant difference is lag and gravity, not noise.
    """
    touch = first_touches(tosses)
    rows = np.flatnonzero(touch >= 6)
    last, span = touch[rows] - 1, (touch[rows] - 1)[:, None] * FRAME_S
    mean_velocity = (tosses.position[rows, last] - tosses.position[rows, 0]) / span
    off = mean_velocity - tosses.velocity[rows, 0]
    off[:, 2] -= np.polyval(np.polyfit(span[:, 0], off[:, 2], 1), span[:, 0])
    turn = (SO3(tosses.wxyz[rows, 0]).inverse() @ SO3(tosses.wxyz[rows, last])).log() / span
    return float(off.std(axis=0).mean()), float((turn - tosses.angular[rows, 0]).std(axis=0).mean())
