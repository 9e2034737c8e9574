"""What a stand-in world is made of, and where the five of them are listed.

A `Scenario` is one task file's answer (`push_t.py`, `handover.py`, ...): contract, machine, object and operator. A
`World` is a scenario with a seed: guesses that the user gets, truth that stays sealed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.artifacts.task import Task
from gemel.errors import ConfigError, choices_text
from gemel.services.policy import InitialCondition, Policy
from gemel.services.tasks import ObjectModel, get_object, get_task
from gemel.worlds.cameras import rig_for
from gemel.worlds.control import Control, JointControl
from gemel.worlds.hidden import Hidden, Stream, draw_hidden, stream_rng
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.kinematics import Kinematics
from gemel.worlds.machine import Machine

_MODULES = {
    "push-t": "gemel.worlds.push_t",
    "push-hammer": "gemel.worlds.push_hammer",
    "handover": "gemel.worlds.handover",
    "toss": "gemel.worlds.toss",
    "scan": "gemel.worlds.scan",
}


@dataclass(frozen=True)
class WorldConfig:
    """Which world, and how well it is looked at."""

    name: str = "push-t"
    """push-t, push-hammer, handover, toss or scan."""
    seed: int = 0
    """Draws the hidden truth and everything that happens."""
    object: str = ""
    """Object of a scan: t-block, hammer, cube, big-cube, mug, ring or bracket."""
    size: tuple[int, int] = (160, 120)
    """Width and height of the images [px]."""
    plain_table: bool = False
    """A grey table instead of wood."""
    sample_count: int = 4
    """Light paths for each pixel, before the denoiser."""
    imperfections: Imperfections = field(default_factory=Imperfections)


@dataclass(frozen=True, eq=False)
class Scenario:
    """One task's world, without a seed."""

    task: Task
    machine: Machine
    model: ObjectModel
    action_names: tuple[str, ...]
    make_control: Callable[[Machine, Kinematics], Control]
    """How actions become joint targets."""
    make_operator: Callable[["World", int, np.random.Generator], Policy]
    """Who drives the robot in an episode."""
    table_centre: tuple[float, float] = (0.45, 0.0)
    recorded_s: float = 0.0
    """How long an operator works on one episode [s]; 0 means the task's time limit."""


class World:
    """A scenario with a seed; `given` are true parameters that are set instead of drawn, by name."""

    def __init__(self, config: WorldConfig, *, given: Mapping[str, float] | None = None) -> None:
        self.config, self._given = config, dict(given or {})
        self.scenario = get_scenario(config.name, config.object)

    @property
    def task(self) -> Task:
        """The contract."""
        return self.scenario.task

    @property
    def machine(self) -> Machine:
        """The robot as the lab describes it."""
        return self.scenario.machine

    @cached_property
    def camera_guesses(self) -> tuple[Camera, ...]:
        """The cameras as the lab describes them; the same for every seed."""
        return rig_for(self.machine, self.config.size, arm_occlusion=self.config.imperfections.arm_occlusion)

    @cached_property
    def hidden(self) -> Hidden:
        """The sealed truth."""
        config = self.config
        drawn = draw_hidden(self.task, self.machine, self.camera_guesses, config.imperfections, config.seed)
        unknown = sorted(set(self._given) - set(drawn.parameters))
        if unknown:
            raise ConfigError(
                f"World {config.name!r} has no parameter {', '.join(unknown)}.",
                remedy=f"give some of {', '.join(drawn.parameters)}",
            )
        if not self._given:
            return drawn
        hidden = replace(drawn, parameters={**drawn.parameters, **self._given})
        table, _ = hidden.contact_friction(self.scenario.model.name)
        return replace(hidden, friction=replace(hidden.friction, mean=table))

    @cached_property
    def kinematics(self) -> Kinematics:
        """What the robot's controller knows about itself."""
        return Kinematics(self.machine)

    def initial_condition(self, episode: int) -> InitialCondition:
        """Where things start in an episode, drawn from the task's ranges."""
        rng = stream_rng(self.config.seed, Stream.EPISODE, episode)
        return {name: float(rng.uniform(low, high)) for name, (low, high) in self._ranges().items()}

    def operator(self, episode: int) -> Policy:
        """Who drives the robot in an episode."""
        rng = stream_rng(self.config.seed, Stream.OPERATOR, episode)
        return self.scenario.make_operator(self, episode, rng)

    def _ranges(self) -> Mapping[str, tuple[float, float]]:
        return self.task.initial_conditions


def joint_scenario(
    task_name: str,
    machine: Machine,
    make_operator: Callable[[World, int, np.random.Generator], Policy],
    *,
    object_name: str = "",
    table_centre: tuple[float, float] = Scenario.table_centre,
) -> Scenario:
    """A scenario in which actions are joint targets, with the task's first object unless another is named."""
    task = get_task(task_name)
    return Scenario(
        task=task,
        machine=machine,
        model=get_object(object_name or task.objects[0]),
        action_names=machine.joint_names,
        make_control=JointControl,
        make_operator=make_operator,
        table_centre=table_centre,
    )


def world_names() -> tuple[str, ...]:
    """Names of all worlds."""
    return tuple(_MODULES)


def get_scenario(name: str, object_name: str = "") -> Scenario:
    """The scenario of that name; only `scan` takes an object."""
    if name not in _MODULES:
        raise ConfigError(f"World {choices_text(name, world_names())}", remedy="use one of the choices")
    if object_name and name != "scan":
        raise ConfigError(
            f"World {name!r} has its own object, but object {object_name!r} was asked for.",
            remedy="leave the object out, or use the world 'scan'",
        )
    module = import_module(_MODULES[name])
    scenario: Scenario = module.scenario(object_name) if name == "scan" else module.scenario()
    return scenario
