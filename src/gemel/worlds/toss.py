"""toss: somebody throws a cube on the board; the arm stands aside and its cameras watch."""

import numpy as np
from jaxtyping import Float

from gemel.services.policy import Observation, Policy, PolicySpec
from gemel.services.tasks import get_object, get_task
from gemel.worlds.control import JointControl
from gemel.worlds.machine import push_machine
from gemel.worlds.scenario import Scenario, World


class Bystander:
    """A policy that holds the arm where it is."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def specification(self) -> PolicySpec:
        """Needs nothing, gives joint targets."""
        return PolicySpec("bystander", self._world.scenario.action_names)

    def reset(self) -> None:
        """Nothing to forget."""

    def act(self, observation: Observation) -> Float[np.ndarray, "1 joint"]:
        """The home position."""
        del observation
        return self._world.machine.home[None].copy()


def bystander(world: World, episode: int, rng: np.random.Generator) -> Policy:
    """Nobody moves the arm during a toss."""
    del episode, rng
    return Bystander(world)


def scenario() -> Scenario:
    """The tossed cube's world."""
    task, machine = get_task("toss"), push_machine()
    return Scenario(
        task=task,
        machine=machine,
        model=get_object(task.objects[0]),
        action_names=machine.joint_names,
        make_control=JointControl,
        make_operator=bystander,
    )
