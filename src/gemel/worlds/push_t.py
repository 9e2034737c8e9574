"""push-t: a six-joint arm with a pusher, a T-block of hidden centre of mass, its outline taped on the table."""

import numpy as np

from gemel.services.policy import Policy
from gemel.services.tasks import get_object, get_task
from gemel.worlds.control import TipControl
from gemel.worlds.machine import push_machine
from gemel.worlds.push_operator import PushOperator
from gemel.worlds.scenario import Scenario, World


def push_scenario(task_name: str) -> Scenario:
    """A pushing world for the object of a task."""
    task = get_task(task_name)
    return Scenario(
        task=task,
        machine=push_machine(),
        model=get_object(task.objects[0]),
        action_names=tuple(quantity.name for quantity in task.action),
        make_control=TipControl,
        make_operator=push_operator,
        recorded_s=7.0,
    )


def push_operator(world: World, episode: int, rng: np.random.Generator) -> Policy:
    """Somebody with a joystick."""
    del episode
    return PushOperator(world, rng)


def scenario() -> Scenario:
    """The T-block's world."""
    return push_scenario("push-t")
