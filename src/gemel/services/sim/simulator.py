"""What a simulator is to everyone else: many simulations of one scene, each with its own parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.geometry import SE3


@dataclass(frozen=True, eq=False)
class Rollout:
    """What came of one stretch of commands; entry t is the state after command t."""

    qpos: Float[np.ndarray, "sim t nq"]
    qvel: Float[np.ndarray, "sim t nv"]
    is_diverged: Bool[np.ndarray, " sim"]
    """True where the simulation broke down, until it is reset: numbers that are not finite, after which entries repeat
    the last ones, or speeds that nothing on a table has, with which it goes on."""
    contact_forces: Mapping[str, Float[np.ndarray, "sim t 3"]]
    """Force of A on B by contact `A-B`, in the world frame [N], at the last physics step of each command. Only for
    scenes that were compiled with force sensors."""


@runtime_checkable
class Simulator(Protocol):
    """N simulations of one scene."""

    @property
    def count(self) -> int:
        """How many simulations there are."""
        ...

    @property
    def timestep_s(self) -> float:
        """Length of a physics step [s]."""
        ...

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names that `set_parameters` takes."""
        ...

    def has_parameter(self, name: str) -> bool:
        """Whether `set_parameters` takes a name, contacts from either side and restitutions included."""
        ...

    def set_parameters(
        self,
        names: Sequence[str],
        values: Float[np.ndarray, "_ parameter"],
        *,
        rows: Int[np.ndarray, " row"] | None = None,
    ) -> None:
        """Give each simulation, or each of `rows`, its own values; what is not named is as compiled."""
        ...

    def reset(
        self,
        qpos: Float[np.ndarray, "_ nq"],
        qvel: Float[np.ndarray, "_ nv"] | None = None,
        *,
        commands: Float[np.ndarray, "_ nu"] | None = None,
        rows: Int[np.ndarray, " row"] | None = None,
    ) -> None:
        """Put all simulations, or those of `rows`, at states (one row: alike); drives have been holding `commands`."""
        ...

    def rollout(self, controls: Float[np.ndarray, "_ t nu"], *, every: int, is_ramp: bool = False) -> Rollout:
        """Go on from the present state with commands that last `every` physics steps each."""
        ...

    def body_poses(self, name: str, qpos: Float[np.ndarray, "*batch nq"]) -> SE3:
        """`T_world_body` of an object or a robot link in the given states."""
        ...
