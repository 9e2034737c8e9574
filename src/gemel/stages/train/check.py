"""What is checked before the first simulation: that the task is a push, that what is told exists and has a range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemel.errors import ConfigError
from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.features import action_bound_m, ranges_of
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.variants import Agent

_NEEDED_GOAL = ("object/x", "object/y", "object/yaw")


@dataclass(frozen=True)
class Conditions:
    """Parameters that conditioned policies are told, and the ranges in whose units they are told them."""

    names: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]


def check_training(arena: Arena, config: TrainConfig) -> Conditions:
    """Errors that would otherwise come up minutes later; returns what policies are told."""
    task, belief = arena.task, arena.belief
    action_bound_m(task)
    missing = [name for name in _NEEDED_GOAL if name not in task.goal]
    if missing or arena.arm is None:
        raise ConfigError(
            f"Task {task.name!r} does not say where the object has to go ({', '.join(missing) or 'no tip'}).",
            remedy="train a push task, such as push-t or push-hammer",
        )
    believed = _tellable(arena)
    names = config.conditioned_on or _first_of_task(arena)
    unknown = [name for name in names if name not in believed]
    if unknown:
        raise ConfigError(
            f"Policies cannot be told {', '.join(unknown)}: the scene's belief is about {believed}.",
            remedy="give parameters of the belief under conditioned_on",
        )
    ranges_of(task, tuple(task.parameter_ranges))
    if belief is None:
        return Conditions(names, ())
    own = {p.name: (p.low, p.high) for p in belief.parameters}
    ranges = [own[n] if n in own and n not in task.parameter_ranges else ranges_of(task, [n])[0] for n in names]
    return Conditions(names, tuple(ranges))


def check_start(network: TrainedNetwork, agent: Agent, conditions: Conditions, task: str) -> None:
    """A policy to go on from has to see what this one will."""
    told = () if agent.variant.told == "nothing" else conditions.names
    wanted: dict[str, Any] = {"task": task, "history": agent.variant.history, "told": told}
    given = {"task": network.meta["task"], "history": network.meta["history"], "told": network.conditioned_on}
    width = agent.variant.width(len(conditions.names))
    if given != wanted or network.layers.inputs != width:
        raise ConfigError(
            f"The policy to start from sees {given} in {network.layers.inputs} numbers; {agent.variant.name} sees "
            f"{wanted} in {width}.",
            remedy="start from a policy that sees the same, or from none",
        )


def names_of(agents: Sequence[Agent]) -> list[str]:
    """Names of agents, each once."""
    names = [agent.name for agent in agents]
    if len(set(names)) < len(names):
        raise ConfigError(f"Agents are named twice: {names}.", remedy="give each variant and seed once")
    return names


def _tellable(arena: Arena) -> list[str]:
    """What the belief is about; a centre of mass has all three axes, in whatever frame it is told."""
    names = list(arena.belief.names) if arena.belief is not None else []
    com = [f"object/{arena.object}/com_{axis}" for axis in "xyz"]
    return [*names, *(name for name in com if set(com) & set(names) and name not in names)]


def _first_of_task(arena: Arena) -> tuple[str, ...]:
    """The task's first parameter that the scene believes something about."""
    believed = _tellable(arena)
    first = [name for name in arena.task.parameter_ranges if name in believed][:1]
    if not first:
        raise ConfigError(
            f"The scene believes nothing about any parameter of task {arena.task.name!r}, which are "
            f"{', '.join(arena.task.parameter_ranges) or 'none'}.",
            remedy="run prior and identify for the task's object, or give conditioned_on",
        )
    return tuple(first)
