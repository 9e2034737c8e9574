"""toss: somebody throws a cube on the board; the arm stands aside and its cameras watch."""

import numpy as np
from jaxtyping import Float

from gemel.services.policy import Observation, Policy, PolicySpec
from gemel.worlds.machine import push_machine
from gemel.worlds.scenario import Scenario, World, joint_scenario


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
    return joint_scenario("toss", push_machine(), bystander)
