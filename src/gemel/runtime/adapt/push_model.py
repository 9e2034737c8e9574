"""What a particle foretells: a quasi-static push, the object sliding on by itself, and how wrong both usually are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import ConfigError
from gemel.services.policy.estimator import Prior
from gemel.services.policy.push_outline import Outline

Particles = Float[np.ndarray, "n m k"]
Tips = tuple[Float[np.ndarray, "n m 2"], Float[np.ndarray, "n m 2"]]
_GRAVITY = 9.81
_SLIDING_M_S = 0.03
"""Slower objects do not slide on by themselves; what looks like it is the tracker's noise [m/s]."""
_SPREAD, _GRIP = Prior("support_spread", 1.0, 0.12, 0.4, 2.0), Prior("grip", 0.7, 0.2, 0.3, 1.2)
"""How far apart the supports are against `Outline.supports`, as nobody knows where an object really touches; and the
part of its friction with which a tip holds on to an object that rattles along."""
_LEAN_M = 0.013
"""How far pressure leans ahead of a push for each unit of the table's friction [m]: about half of the height at which
tips touch, as they also hold the object down."""


@runtime_checkable
class PushModel(Protocol):
    """Foretells where objects go."""

    @property
    def nuisances(self) -> tuple[Prior, ...]:
        """What the model needs besides physical parameters, with what is believed of it."""
        ...

    def columns(self, names: Sequence[str]) -> Int[np.ndarray, " k"]:
        """Where the model's parameters are among these names."""
        ...

    def predict(
        self,
        theta: Particles,
        stray: Float[np.ndarray, "n m 2"],
        poses: Float[np.ndarray, "n m 3"],
        moved: Float[np.ndarray, "n m 3"],
        tips: Tips,
    ) -> tuple[Float[np.ndarray, "n m 3"], Float[np.ndarray, "n m 2"]]:
        """Poses after a period and the model's error, (position [m], heading [rad]), for each particle.

        `theta` are the columns that were asked for, `stray` shifts of the centre of friction [m], `poses` now and
        `moved` how they changed in the period before, `tips` now and after.
        """
        ...

    def physics(self, theta: Particles, stray: Float[np.ndarray, "n m 2"]) -> Float[np.ndarray, "n m k"]:
        """The numbers that the model itself goes by, for each particle."""
        ...


@dataclass(frozen=True)
class PushErrors:
    """How wrong the quasi-static push is: standard deviations, and what they grow by with the motion.

    About what pushes in MuJoCo show, where objects have inertia (`tests/services/policy/test_push_kernel.py`).
    """

    still_m: float = 0.0002
    still_rad: float = 0.001
    """Where nothing touches the object."""
    touched_m: float = 0.0004
    touched_rad: float = 0.004
    """Where the tip does."""
    share: float = 0.1
    """Part of the motion that is added [m per m, rad per rad]."""
    cross_rad_m: float = 0.7
    """Added to the heading's error by motion [rad per m]."""


class QuasiStaticPush:
    """An object of known outline on a table, pushed by a round tip."""

    def __init__(self, name: str, outline: Outline, *, period_s: float, errors: PushErrors | None = None) -> None:
        self._outline, self._period_s, self._errors = outline, period_s, errors or PushErrors()
        self._needed = (
            f"object/{name}/com_x", f"object/{name}/com_y", f"contact/{name}-pusher/friction",
            f"contact/{name}-table/friction", _SPREAD.name, _GRIP.name,
        )  # fmt: skip
        self.nuisances = (_SPREAD, _GRIP)

    def columns(self, names: Sequence[str]) -> Int[np.ndarray, " k"]:
        """Where the model's parameters are among these names."""
        missing = [name for name in self._needed if name not in names]
        if missing:
            raise ConfigError(
                f"The model of pushing needs a prior of {', '.join(missing)}.", remedy="give one, at least its range"
            )
        return np.array([list(names).index(name) for name in self._needed])

    def predict(
        self,
        theta: Particles,
        stray: Float[np.ndarray, "n m 2"],
        poses: Float[np.ndarray, "n m 3"],
        moved: Float[np.ndarray, "n m 3"],
        tips: Tips,
    ) -> tuple[Float[np.ndarray, "n m 3"], Float[np.ndarray, "n m 2"]]:
        """A push where the tip enters the outline; else the object goes on as far as its friction lets it."""
        n, m, _ = poses.shape
        flat = [a.reshape(n * m, -1) for a in (poses, *tips, self.physics(theta, stray))]
        pushed, depth = self._outline.pushed(*flat)
        after, is_touched = pushed.reshape(n, m, 3), depth.reshape(n, m) > 0.0
        speed = np.hypot(moved[..., 0], moved[..., 1]) / self._period_s
        slides = np.where(speed > _SLIDING_M_S, speed / (2.0 * _GRAVITY * theta[..., 3] * self._period_s), 0.0)
        after = np.where(is_touched[..., None], after, poses + np.minimum(slides, 1.0)[..., None] * moved)
        return after, self._error(after - poses, is_touched)

    def physics(self, theta: Particles, stray: Float[np.ndarray, "n m 2"]) -> Float[np.ndarray, "n m 5"]:
        """What `Outline.pushed` needs, for each particle."""
        own = [theta[..., 2] * theta[..., 5], theta[..., 4], _LEAN_M * theta[..., 3]]
        return np.concatenate([theta[..., :2] + stray, np.stack(own, axis=-1)], axis=-1)

    def _error(self, motion: Float[np.ndarray, "n m 3"], is_touched: np.ndarray) -> Float[np.ndarray, "n m 2"]:
        e = self._errors
        way, turn = np.hypot(motion[..., 0], motion[..., 1]), np.abs(motion[..., 2])
        position = np.where(is_touched, e.touched_m, e.still_m) + e.share * way
        heading = np.where(is_touched, e.touched_rad, e.still_rad) + e.share * turn + e.cross_rad_m * way
        return np.stack([position, heading], axis=-1)
