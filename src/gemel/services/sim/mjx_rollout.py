"""MuJoCo's own derivatives, in MJX: how a robot's motion changes with its parameters, for scenes without contact.

`jax.jacfwd` through every step of the rollout: right to rounding where motion is smooth. Constants that MuJoCo derives
from inertias (`dof_invweight0`, which softens dry friction) stay as compiled, as MJX leaves them.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError, MissingExtraError
from gemel.services.sim.slots import PlainParameter, plain_parameters

KINDS = ("damping", "coulomb", "armature", "gain", "actuator_damping")
"""What is differentiated of each joint of a robot; see `parameters.py`."""
_NO_FRICTION = 1e-12
"""MJX leaves out friction that is zero when it is given a model."""


class RolloutMjx:
    """Rollouts of a compiled `mujoco.MjModel` with derivatives in some robot parameters."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        try:
            import jax  # noqa: F401
            from mujoco import mjx
        except (ModuleNotFoundError, ImportError):
            raise MissingExtraError("jax and mujoco-mjx", extra="mjx", needed_for='derivatives = "mjx"') from None
        self._slots = [_slots(model, name) for name in names]
        _check_without_contact(model)
        own = copy(model)
        for parameter in self._slots:
            for slot in parameter.slots:
                if slot.field == "dof_frictionloss":
                    own.dof_frictionloss[list(slot.entries)] = np.maximum(
                        own.dof_frictionloss[list(slot.entries)], _NO_FRICTION
                    )
        with _doubles():
            self._model = mjx.put_model(own)
            self._data = mjx.make_data(own)
        self._compiled: dict[int, Callable[..., Any]] = {}

    def slopes(
        self,
        values: Float[np.ndarray, " p"],
        qpos: Float[np.ndarray, "run nq"],
        commands: Float[np.ndarray, "run step nu"],
        *,
        every: int,
    ) -> tuple[Float[np.ndarray, "run t nq"], Float[np.ndarray, "run t nq p"]]:
        """Positions after each `every` physics steps, from rest at `qpos`, and their derivatives in the parameters."""
        import jax

        with _doubles():
            if every not in self._compiled:
                self._compiled[every] = jax.jit(lambda *given: self._both(*given, every=every))
            positions, slopes = self._compiled[every](np.asarray(values, float), qpos, commands)
            return np.asarray(positions), np.asarray(slopes)

    def _both(self, values: Any, qpos: Any, commands: Any, *, every: int) -> tuple[Any, Any]:
        import jax

        def positions(at: Any) -> tuple[Any, Any]:
            found = jax.vmap(lambda q, u: self._positions(at, q, u, every))(qpos, commands)
            return found, found

        slopes, found = jax.jacfwd(positions, has_aux=True)(values)
        return found, slopes

    def _positions(self, values: Any, qpos: Any, commands: Any, every: int) -> Any:
        """(step, nu) -> (t, nq)."""
        import jax
        from mujoco import mjx

        model = self._with(values)
        data = mjx.forward(model, self._data.replace(qpos=qpos))

        def step(data: Any, command: Any) -> tuple[Any, Any]:
            after = mjx.step(model, data.replace(ctrl=command))
            return after, after.qpos

        return jax.lax.scan(step, data, commands)[1][every - 1 :: every]

    def _with(self, values: Any) -> Any:
        """The model with other values of its parameters."""
        import jax.numpy as jnp

        fields: dict[str, Any] = {}
        for k, parameter in enumerate(self._slots):
            for slot in parameter.slots:
                old = fields.get(slot.field, jnp.asarray(getattr(self._model, slot.field)))
                flat = old.reshape(-1).at[np.array(slot.entries)].set(slot.factor * values[k])
                fields[slot.field] = flat.reshape(old.shape)
        return self._model.replace(**fields)


def _doubles() -> Any:
    """Doubles within, whatever the rest of the program computes in."""
    import jax

    return jax.enable_x64(True)


def _slots(model: Any, name: str) -> PlainParameter:
    group, kind = name.split("/")[0], name.split("/")[-1]
    known = plain_parameters(model)
    if group != "robot" or kind not in KINDS or name not in known:
        allowed = [key for key in known if key.startswith("robot/")]
        raise ConfigError(
            f'derivatives = "mjx" knows {", ".join(KINDS)} of a robot\'s joints; {name!r} was given. The scene has: '
            f"{', '.join(allowed)}.",
            remedy='use derivatives = "differences", or another method, for this parameter',
        )
    return known[name]


def _check_without_contact(model: Any) -> None:
    """Any two geoms of different bodies that could touch are too many."""
    meets = (model.geom_contype[:, None] & model.geom_conaffinity[None, :]) != 0
    apart = model.geom_bodyid[:, None] != model.geom_bodyid[None, :]
    if model.npair or np.any(meets & apart):
        raise ConfigError(
            f'The scene has contacts ({model.npair} pairs); derivatives = "mjx" is for motion without.',
            remedy='use derivatives = "differences", or the method eki, which looks over the switches of contacts',
        )
