"""Physical parameters by name, and what they are in a compiled MuJoCo model.

| name | what it is |
|---|---|
| `object/NAME/mass`, `com_x`, `com_y`, `com_z` | mass [kg], scaling the inertia; centre of mass in the body [m] |
| `object/NAME/inertia_xx` … `inertia_yz` | inertia about the centre of mass, along the body's axes [kg·m²] |
| `object/NAME/log_cholesky_alpha` … `log_cholesky_t3` | all ten at once, always physical (`geometry/inertia.py`) |
| `contact/A-B/friction`, `torsional`, `rolling` | friction coefficients; the last two [m] where the contact has them |
| `contact/A-B/solref_time`, `solref_damping` | time constant [s] and damping ratio of the contact |
| `robot/JOINT/damping`, `coulomb`, `armature` | viscous and dry friction, inertia of the rotor |
| `robot/JOINT/gain`, `actuator_damping` | position and velocity gain of the servo |
| `robot/JOINT/delay`, `backlash`, `lead` | delay [s], half the play [rad or m], feed-forward [s] (`drives.py`) |
| `joint/NAME/damping`, `friction` | viscous and dry friction of an object's joint |
| `gravity/z` | [m/s²], negative downwards |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.services.sim.drives import DriveSettings
from gemel.services.sim.mass_properties import KINDS, mass_properties, nominal_value
from gemel.services.sim.slots import Bounds, Control, PlainParameter, controls, plain_parameters

_DRIVE_KINDS = ("delay", "backlash", "lead")
Values = Float[np.ndarray, "sim parameter"]


@dataclass(frozen=True, eq=False)
class Settings:
    """What named values come to in a model."""

    fields: dict[str, np.ndarray]
    """Fields of the model that differ from the compiled ones, (sim, *shape of the field)."""
    drives: DriveSettings


class ParameterMap:
    """The parameters of one compiled `mujoco.MjModel`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._plain: dict[str, PlainParameter] = plain_parameters(model)
        self._bodies = {
            model.body(i).name: i for i in range(1, model.nbody) if model.body(i).name and model.body_mass[i] > 0.0
        }
        self._controls: dict[str, Control] = {control.label: control for control in controls(model)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        bodies = [f"object/{body}/{kind}" for body in self._bodies for kind in KINDS]
        drives = [f"robot/{label}/{kind}" for label in self._controls for kind in _DRIVE_KINDS]
        return tuple(sorted([*self._plain, *bodies, *drives]))

    def bounds(self, name: str) -> Bounds:
        """Unit and physical bounds of a parameter."""
        name = self._known(name)
        if name in self._plain:
            return self._plain[name].bounds
        _, label, kind = name.split("/")
        if kind in KINDS:
            return KINDS[kind]
        is_length = kind == "backlash" and not self._controls[label].is_rotary
        return Bounds(("m" if is_length else "rad") if kind == "backlash" else "s", 0.0)

    def nominal(self, names: Sequence[str]) -> Float[np.ndarray, " parameter"]:
        """Values in the model as it was compiled."""
        return np.array([self._nominal(self._known(name)) for name in names])

    def settings(self, names: Sequence[str], values: Values) -> Settings:
        """What to put into a model of each simulation; what is not named stays as compiled."""
        known = self._checked(names, values)
        columns = dict(zip(known, np.asarray(values, float).T, strict=True))
        fields: dict[str, np.ndarray] = {}
        for name in known:
            for slot in self._plain[name].slots if name in self._plain else ():
                rows = self._rows(fields, slot.field, len(values))
                rows.reshape(len(values), -1)[:, list(slot.entries)] = slot.factor * columns[name][:, None]
        self._put_bodies(fields, columns)
        return Settings(fields, self._drives(columns, len(values)))

    def _put_bodies(self, fields: dict[str, np.ndarray], columns: dict[str, np.ndarray]) -> None:
        by_body: dict[str, dict[str, np.ndarray]] = {}
        for name, column in columns.items():
            parts = name.split("/")
            if parts[0] == "object":
                by_body.setdefault(parts[1], {})[parts[2]] = column
        for label, given in by_body.items():
            body = self._bodies[label]
            found = mass_properties(self._model, body, given)
            for part in ("mass", "ipos", "inertia", "iquat"):
                self._rows(fields, f"body_{part}", len(found.mass))[:, body] = getattr(found, part)

    def _drives(self, columns: dict[str, np.ndarray], count: int) -> DriveSettings:
        drives = DriveSettings.ideal(count, self._model.nu)
        by_kind = dict(zip(_DRIVE_KINDS, (drives.delay_s, drives.backlash, drives.lead_s), strict=True))
        for name, column in columns.items():
            parts = name.split("/")
            if parts[0] == "robot" and parts[2] in by_kind:
                by_kind[parts[2]][:, self._controls[parts[1]].index] = column
        return drives

    def _rows(self, fields: dict[str, np.ndarray], field: str, count: int) -> np.ndarray:
        """Values of a field for all simulations, to be written to."""
        if field not in fields:
            owner, part = (self._model.opt, field[4:]) if field.startswith("opt.") else (self._model, field)
            fields[field] = np.repeat(np.asarray(getattr(owner, part))[None], count, axis=0)
        return fields[field]

    def _nominal(self, name: str) -> float:
        if name in self._plain:
            slot = self._plain[name].slots[0]
            return float(self._rows({}, slot.field, 1).reshape(-1)[slot.entries[0]]) / slot.factor
        _, label, kind = name.split("/")
        return nominal_value(self._model, self._bodies[label], kind) if kind in KINDS else 0.0

    def _checked(self, names: Sequence[str], values: Values) -> list[str]:
        if values.shape[1] != len(names):
            raise ConfigError(
                f"{values.shape[1]} columns of values were given for {len(names)} parameters.",
                remedy="give one column for each name",
            )
        known = [self._known(name) for name in names]
        twice = sorted({name for name in known if known.count(name) > 1})
        if twice:
            raise ConfigError(f"Parameters are given twice: {twice}.", remedy="give each name once")
        for name, column in zip(known, values.T, strict=True):
            bounds = self.bounds(name)
            bad = np.flatnonzero(~bounds.admits(column))
            if len(bad):
                raise ConfigError(
                    f"{name} is {column[bad[0]]:g} in simulation {bad[0]}; it has to be {bounds}.",
                    remedy="correct the value, or the bounds of the belief that it was drawn from",
                )
        return known

    def _known(self, name: str) -> str:
        """The name as this model spells it: a contact may be named from either side."""
        if name in self._is_known:
            return name
        for other in _other_way_round(name):
            if other in self._is_known:
                return other
        import difflib

        closest = difflib.get_close_matches(name, self.names, n=4, cutoff=0.5)
        raise ConfigError(
            f"The scene has no parameter {name!r}. Closest: {', '.join(closest) or 'none'}.",
            remedy="use a name that `ParameterMap.names` lists; docs/sim.md says what they mean",
        )

    @cached_property
    def _is_known(self) -> frozenset[str]:
        return frozenset(self.names)


def _other_way_round(name: str) -> list[str]:
    """`contact/B-A/KIND` for `contact/A-B/KIND`, for every hyphen that may part the two."""
    parts = name.split("/")
    if len(parts) != 3 or parts[0] != "contact":
        return []
    words = parts[1].split("-")
    return [f"contact/{'-'.join([*words[i:], *words[:i]])}/{parts[2]}" for i in range(1, len(words))]
