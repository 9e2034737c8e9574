"""Physical parameters by name, and what they are in a compiled MuJoCo model.

| name | what it is |
|---|---|
| `object/NAME/mass`, `com_x`, `com_y`, `com_z` | mass [kg], scaling the inertia; centre of mass in the body [m] |
| `object/NAME/inertia_xx` … `inertia_yz` | inertia about the centre of mass, along the body's axes [kg·m²] |
| `object/NAME/log_cholesky_alpha` … `log_cholesky_t3` | all ten at once, always physical (`geometry/inertia.py`) |
| `contact/A-B/friction`, `torsional`, `rolling` | friction coefficients; the last two [m] where the contact has them |
| `contact/A-B/solref_time`, `solref_damping` | time constant [s] and damping ratio of the contact |
| `contact/A-B/restitution` | instead of the damping ratio: speed after over speed before a bounce (`restitution.py`) |
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
from gemel.services.sim.drives import DRIVE_KINDS, DriveSettings
from gemel.services.sim.mass_properties import KINDS, mass_properties, nominal_value
from gemel.services.sim.slots import Bounds, Control, PlainParameter, controls, plain_parameters

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
        """All names, sorted; without restitutions, which say the same as damping ratios."""
        bodies = [f"object/{body}/{kind}" for body in self._bodies for kind in KINDS]
        drives = [f"robot/{label}/{kind}" for label in self._controls for kind in DRIVE_KINDS]
        plain = [name for name in self._plain if not name.endswith("/restitution")]
        return tuple(sorted([*plain, *bodies, *drives]))

    def has(self, name: str) -> bool:
        """Whether the scene has a parameter, a contact named from either side."""
        return any(way in self._is_known for way in (name, *_other_way_round(name)))

    def bounds(self, name: str) -> Bounds:
        """Unit and physical bounds of a parameter."""
        name = self._known(name)
        if name in self._plain:
            return self._plain[name].bounds
        _, label, kind = _parts(name)
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
                rows.reshape(len(values), -1)[:, list(slot.entries)] = slot.encoded(columns[name])[:, None]
        self._put_bodies(fields, columns)
        return Settings(fields, self._drives(columns, len(values)))

    def _put_bodies(self, fields: dict[str, np.ndarray], columns: dict[str, np.ndarray]) -> None:
        by_body: dict[str, dict[str, np.ndarray]] = {}
        for name, column in columns.items():
            group, label, kind = _parts(name)
            if group == "object":
                by_body.setdefault(label, {})[kind] = column
        for label, given in by_body.items():
            body = self._bodies[label]
            found = mass_properties(self._model, body, given)
            for part in ("mass", "ipos", "inertia", "iquat"):
                self._rows(fields, f"body_{part}", len(found.mass))[:, body] = getattr(found, part)

    def _drives(self, columns: dict[str, np.ndarray], count: int) -> DriveSettings:
        drives = DriveSettings.ideal(count, self._model.nu)
        by_kind = dict(zip(DRIVE_KINDS, (drives.delay_s, drives.backlash, drives.lead_s), strict=True))
        for name, column in columns.items():
            group, label, kind = _parts(name)
            if group == "robot" and kind in by_kind:
                by_kind[kind][:, self._controls[label].index] = column
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
            return float(slot.decoded(self._rows({}, slot.field, 1).reshape(-1)[list(slot.entries[:1])])[0])
        _, label, kind = _parts(name)
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
        rival = next((n for n in known if n.endswith("/restitution") and _damping(n) in known), None)
        if rival is not None:
            raise ConfigError(
                f"{rival} and {_damping(rival)} are the same thing in two ways.", remedy="give one of them"
            )
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
        return frozenset([*self.names, *self._plain])


def _damping(name: str) -> str:
    return name.removesuffix("restitution") + "solref_damping"


def _parts(name: str) -> tuple[str, str, str]:
    """Group, label and kind; labels may have slashes of their own, as some robot models name joints `left/waist`."""
    group, _, rest = name.partition("/")
    label, _, kind = rest.rpartition("/")
    return group, label, kind


def _other_way_round(name: str) -> list[str]:
    """`contact/B-A/KIND` for `contact/A-B/KIND`, for every hyphen that may part the two."""
    group, label, kind = _parts(name)
    words = label.split("-")
    return [f"{group}/{'-'.join([*words[i:], *words[:i]])}/{kind}" for i in range(1, len(words)) if group == "contact"]
