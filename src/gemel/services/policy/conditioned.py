"""Push policies behind `Policy`: a network or a planner, what is believed of physics, and a robot's tip.

`PushController` runs a network in many episodes at once, for benchmarks and training; `StrokeControl` plans for one.
`ConditionedPolicy` puts either on a robot. Whatever does not fit is refused before anything moves.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.artifacts.task import Task
from gemel.errors import ConfigError
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.estimator import Estimator, Planar, Points
from gemel.services.policy.features import (
    WIDEST_COM_M,
    WIDTH,
    action_bound_m,
    to_world,
    told_parameters,
    widest_sigmas,
)
from gemel.services.policy.history_window import HistoryWindow
from gemel.services.policy.outcome import yaw_of
from gemel.services.policy.policy import PolicySpec
from gemel.services.policy.robot import Observation

Tip = Callable[[Float[np.ndarray, "1 joint"]], Float[np.ndarray, "1 2"]]


@runtime_checkable
class Controller(Protocol):
    """What moves tips from where objects and tips are seen, for one episode or for many."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def task(self) -> Task:
        """What it does."""
        ...

    @property
    def estimator(self) -> Estimator | None:
        """What tells it about physics."""
        ...

    def start(self, count: int) -> None:
        """Begin so many episodes."""
        ...

    def act(self, object_xyyaw: Planar, tip_xy: Points) -> Points:
        """Displacements of the tips in the world [m] for the next control period."""
        ...


class PushController:
    """A network and an estimator in closed loop, for many episodes at once."""

    def __init__(self, network: TrainedNetwork, task: Task, estimator: Estimator | None = None) -> None:
        _check(network, task, estimator)
        self.network, self.task, self.estimator = network, task, estimator
        self._bound_m = action_bound_m(task)
        self._window = HistoryWindow(task, max(1, int(network.meta["history"])))
        names = estimator.names if estimator is not None else ()
        self._columns = [names.index(name) for name in network.conditioned_on]
        # A policy has not learnt what an uncertainty beyond that of its training would mean.
        self._largest_sigma = widest_sigmas(
            network.conditioned_on, network.ranges, float(network.meta.get("widest_com_m", WIDEST_COM_M))
        )
        self._past, self._action = np.zeros((1, 2)), np.zeros((1, 2))

    @property
    def name(self) -> str:
        """Variant, training seed and task."""
        return f"{self.network.meta['variant']}-{self.network.meta['seed']} for {self.task.name}"

    def start(self, count: int) -> None:
        """Begin so many episodes."""
        self._past, self._action = np.zeros((count, 2)), np.zeros((count, 2))
        self._window.start(count)
        if self.estimator is not None:
            self.estimator.start(count)

    def act(self, object_xyyaw: Planar, tip_xy: Points) -> Points:
        """Displacements of the tips in the world [m] for the next control period."""
        self._window.push(object_xyyaw, tip_xy, self._action)
        inputs = [self._window.stacked]
        if self.estimator is not None:
            self.estimator.update(object_xyyaw, tip_xy, self._past)
            if self._columns:
                mean, sigma = self.estimator.mean[:, self._columns], self.estimator.sigma[:, self._columns]
                inputs.append(told_parameters(mean, np.minimum(sigma, self._largest_sigma), self.network.ranges))
        action = self.network.layers(np.concatenate(inputs, axis=1)).astype(np.float64)
        self._action = np.clip(action, -1.0, 1.0)
        self._past = self._bound_m * to_world(self._action, object_xyyaw[:, 2])
        return self._past


class ConditionedPolicy:
    """One robot's policy; `tip` turns measured joints (1, joint) into the tip's place (1, 2) [m]."""

    def __init__(self, controller: Controller, tip: Tip) -> None:
        self.controller, self._tip = controller, tip
        self.told: list[tuple[np.ndarray, np.ndarray]] = []
        """Means and standard deviations of the estimator after each step of the episode."""

    @property
    def specification(self) -> PolicySpec:
        """Needs object poses, gives displacements of the tip."""
        names = tuple(quantity.name for quantity in self.controller.task.action)
        return PolicySpec(self.controller.name, names, needs_object_poses=True)

    def reset(self) -> None:
        """Forget the last episode."""
        self.controller.start(1)
        self.told = []

    def act(self, observation: Observation) -> Float[np.ndarray, "1 2"]:
        """One displacement."""
        name = self.controller.task.objects[0]
        if name not in observation.object_poses:
            raise ConfigError(
                f"The policy needs to know where {name!r} is; the robot says where {sorted(observation.object_poses)} "
                "are.",
                remedy="use a robot with a tracker, or run the live twin beside it",
            )
        pose = observation.object_poses[name]
        planar = np.array([[*pose.translation[:2], float(yaw_of(pose))]])
        action = self.controller.act(planar, self._tip(observation.joint_positions[None]))
        if self.controller.estimator is not None:
            self.told.append((self.controller.estimator.mean[0].copy(), self.controller.estimator.sigma[0].copy()))
        return action


def _check(network: TrainedNetwork, task: Task, estimator: Estimator | None) -> None:
    meta = network.meta
    if network.kind != "policy":
        raise ConfigError(f"A network of kind {network.kind!r} does not act.", remedy="give a policy")
    if meta["task"] != task.name or abs(float(meta["control_period_s"]) - task.control_period_s) > 1e-9:
        raise ConfigError(
            f"The policy was trained for {meta['task']} at {meta['control_period_s']} s; the robot's task is "
            f"{task.name} at {task.control_period_s} s.",
            remedy="give a policy for this task",
        )
    expected = max(1, int(meta["history"])) * WIDTH + 2 * len(network.conditioned_on)
    if (network.layers.inputs, network.layers.outputs) != (expected, 2):
        raise ConfigError(
            f"The policy takes {network.layers.inputs} numbers and gives {network.layers.outputs}; its description "
            f"(history {meta['history']}, told {list(network.conditioned_on)}) means {expected} and 2.",
            remedy="give a policy that this version of gemel trained",
        )
    known = estimator.names if estimator is not None else ()
    missing = [name for name in network.conditioned_on if name not in known]
    if missing:
        raise ConfigError(
            f"The policy is told {', '.join(missing)}; nothing here estimates that, only {list(known) or 'nothing'}.",
            remedy="give a prior of it, or a policy that is told less",
        )
