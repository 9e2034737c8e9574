"""Mass, centre of mass and inertia of one body in many simulations, always those of a physical body."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError, GemelError
from gemel.geometry import SO3, Inertia
from gemel.services.sim.slots import Bounds

_COM = ("com_x", "com_y", "com_z")
_INERTIA = {
    "inertia_xx": (0, 0), "inertia_yy": (1, 1), "inertia_zz": (2, 2),
    "inertia_xy": (0, 1), "inertia_xz": (0, 2), "inertia_yz": (1, 2),
}  # fmt: skip
_LOG_CHOLESKY = tuple(
    f"log_cholesky_{part}" for part in ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
)

KINDS: dict[str, Bounds] = {
    "mass": Bounds("kg", 0.0, is_low_allowed=False),
    **dict.fromkeys(_COM, Bounds("m")),
    **dict.fromkeys(_INERTIA, Bounds("kg·m²")),
    **dict.fromkeys(_LOG_CHOLESKY, Bounds("")),
}
"""What can be said of a body's mass, by the last part of a parameter's name."""

Columns = Mapping[str, Float[np.ndarray, " sim"]]


@dataclass(frozen=True, eq=False)
class MassProperties:
    """What MuJoCo holds of a body's mass, for each simulation."""

    mass: Float[np.ndarray, " sim"]
    ipos: Float[np.ndarray, "sim 3"]
    """Centre of mass in the body's frame [m]."""
    inertia: Float[np.ndarray, "sim 3"]
    """Principal moments [kg·m²]."""
    iquat: Float[np.ndarray, "sim 4"]
    """Principal axes in the body's frame, wxyz."""


def nominal_inertia(model: Any, body: int) -> Inertia:
    """What the compiled model holds of a body."""
    R = SO3(np.array(model.body_iquat[body])).as_matrix()
    return Inertia(
        float(model.body_mass[body]), np.array(model.body_ipos[body]), R @ np.diag(model.body_inertia[body]) @ R.T
    )


def nominal_value(model: Any, body: int, kind: str) -> float:
    """One of `KINDS` as the compiled model has it."""
    inertia = nominal_inertia(model, body)
    if kind == "mass":
        return inertia.mass_kg
    if kind in _COM:
        return float(inertia.p_BoBcm_B[_COM.index(kind)])
    if kind in _INERTIA:
        return float(inertia.I_BBcm_B[_INERTIA[kind]])
    return float(inertia.log_cholesky()[_LOG_CHOLESKY.index(kind)])


def mass_properties(model: Any, body: int, columns: Columns) -> MassProperties:
    """The body with what `columns` say; what they leave out is as compiled.

    A mass alone scales the inertia with it: the same body of another density. Entries of the inertia are about the
    centre of mass, along the body's axes. Log-Cholesky parameters are those of `geometry/inertia.py` and go with no
    other kind, because they say all ten numbers.
    """
    name = model.body(body).name
    _check_simple(model, body, name, columns)
    is_whole = any(kind in _LOG_CHOLESKY for kind in columns)
    others = sorted(set(columns) - set(_LOG_CHOLESKY))
    if is_whole and others:
        raise ConfigError(
            f"Object {name!r} is given log-Cholesky parameters together with {', '.join(others)}; "
            "both say its mass, centre of mass and inertia.",
            remedy="give either the log-Cholesky parameters or the others",
        )
    if is_whole:
        return _from_inertias(_log_cholesky_bodies(model, body, columns))
    if any(kind in _INERTIA for kind in columns):
        return _from_inertias(_bodies(model, body, columns))
    return _scaled(model, body, columns)


def _scaled(model: Any, body: int, columns: Columns) -> MassProperties:
    """Mass and centre of mass only: principal axes stay."""
    count = len(next(iter(columns.values())))
    mass = columns.get("mass", np.full(count, float(model.body_mass[body])))
    inertia = np.outer(mass / float(model.body_mass[body]), model.body_inertia[body])
    return MassProperties(mass, _com(model, body, columns, count), inertia, np.tile(model.body_iquat[body], (count, 1)))


def _com(model: Any, body: int, columns: Columns, count: int) -> Float[np.ndarray, "sim 3"]:
    return np.stack(
        [columns.get(kind, np.full(count, float(model.body_ipos[body, i]))) for i, kind in enumerate(_COM)], axis=-1
    )


def _bodies(model: Any, body: int, columns: Columns) -> list[Inertia]:
    nominal = nominal_inertia(model, body)
    count = len(next(iter(columns.values())))
    mass = columns.get("mass", np.full(count, nominal.mass_kg))
    matrices = nominal.I_BBcm_B * (mass / nominal.mass_kg)[:, None, None]
    for kind, (i, j) in _INERTIA.items():
        if kind in columns:
            matrices[:, i, j] = matrices[:, j, i] = columns[kind]
    coms = _com(model, body, columns, count)
    found = [Inertia(float(m), p, matrix) for m, p, matrix in zip(mass, coms, matrices, strict=True)]
    for sim, inertia in enumerate(found):
        _check_physical(inertia, model.body(body).name, sim)
    return found


def _log_cholesky_bodies(model: Any, body: int, columns: Columns) -> list[Inertia]:
    nominal = nominal_inertia(model, body).log_cholesky()
    count = len(next(iter(columns.values())))
    thetas = np.tile(nominal, (count, 1))
    for column, kind in enumerate(_LOG_CHOLESKY):
        thetas[:, column] = columns.get(kind, thetas[:, column])
    return [Inertia.from_log_cholesky(theta) for theta in thetas]


def _from_inertias(bodies: list[Inertia]) -> MassProperties:
    moments, axes = np.linalg.eigh(np.stack([body.I_BBcm_B for body in bodies]))
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]  # right-handed
    return MassProperties(
        np.array([body.mass_kg for body in bodies]),
        np.stack([body.p_BoBcm_B for body in bodies]),
        moments,
        SO3.from_matrix(axes).wxyz,
    )


def _check_physical(inertia: Inertia, name: str, sim: int) -> None:
    try:
        inertia.check_physical()
    except GemelError as error:
        raise ConfigError(f"Object {name!r} in simulation {sim}: {error.problem}", remedy=error.remedy) from None


def _check_simple(model: Any, body: int, name: str, columns: Columns) -> None:
    """MuJoCo takes short cuts for bodies that it thinks symmetric, and then ignores a moved centre of mass."""
    if model.body_simple[body] and set(columns) != {"mass"}:
        raise ConfigError(
            f"Object {name!r} was compiled as a simple body; MuJoCo would not notice {sorted(columns)}.",
            remedy='compile its body with `simple="false"`, as `services/sim/compile.py` does',
        )
