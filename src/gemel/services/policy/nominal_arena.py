"""A push task without a twin: its nominal object, a pusher on slides, physics drawn from the task's ranges."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.policy.arena import Arena
from gemel.services.policy.features import checked_range
from gemel.services.sim.led_servos import feed_forward
from gemel.services.sim.planar_push import FAST, PushDetail, planar_push
from gemel.services.tasks import get_object, get_task

DELAY_S = 0.10
"""Time from a command to the motion [s], as on arms behind a 10 Hz interface."""
_HOME = (0.41, 0.325)
_REST = (0.45, 0.0)
_REACH_M = ((0.16, -0.38), (0.74, 0.38))
"""Lowest and highest x and y that an arm of the tasks carries its tip to [m]."""
_TORSIONAL_M = 0.02
"""Largest torsional friction of the points that an object rests on [m]: nobody knows how the weight of a flat bottom is
spread, and policies that were trained without doubt about it turn real objects too far."""
_DRAWS = 4096


class SlideArm:
    """A pusher on two slides is its own tip."""

    def tips(self, q: Float[np.ndarray, "n joint"]) -> Float[np.ndarray, "n 2"]:
        """Where the tips are [m]."""
        return q

    def reach(self, places: Float[np.ndarray, "n 2"], q: Float[np.ndarray, "n joint"]) -> Float[np.ndarray, "n joint"]:
        """The places themselves, as far as an arm would reach."""
        return np.clip(places, *_REACH_M)


def nominal_arena(task_name: str = "push-t", detail: PushDetail = FAST) -> Arena:
    """A task whose actions are tip_x and tip_y, with a pusher on slides; physics is drawn from the task's ranges."""
    task = get_task(task_name)
    if not task.objects or {quantity.name for quantity in task.action} != {"tip_x", "tip_y"}:
        raise ConfigError(
            f"Task {task_name!r} is not a push: its actions are {[quantity.name for quantity in task.action]}.",
            remedy="use push-t or push-hammer, or train in a twin (`gemel train DIR`)",
        )
    thing = get_object(task.objects[0])
    model, ranges = planar_push(thing, detail), dict(task.parameter_ranges)
    if detail.torsional_m:
        ranges[f"contact/{thing.name}-table/torsional"] = (0.0, _TORSIONAL_M)
    return Arena(
        model=model,
        task=task,
        object=thing.name,
        joint_names=("tip_x", "tip_y"),
        readings_at=np.array([7, 8]),
        commands_at=np.array([0, 1]),
        home=np.array(_HOME),
        T_world_rest=SE3(SO3.identity(), np.array([*_REST, thing.rest_height])),
        place=_place,
        arm=SlideArm(),
        belief=even_belief(ranges),
        fixed=feed_forward(model, frozenset()),
        delay_s=DELAY_S,
    )


def even_belief(ranges: Mapping[str, tuple[float, float]]) -> Belief:
    """Independent and even over ranges by parameter name."""
    for name, (low, high) in ranges.items():
        checked_range(name, low, high)
    rng = np.random.default_rng(0)
    parameters = tuple(
        Parameter(n, "", low, high, "linear", ValueSource.RANDOMISED) for n, (low, high) in ranges.items()
    )
    samples = np.stack([rng.uniform(low, high, _DRAWS) for low, high in ranges.values()], axis=1)
    return Belief(parameters, samples, np.full(_DRAWS, 1.0 / _DRAWS))


def _place(readings: Float[np.ndarray, "n 2"], Ts_world_object: SE3) -> Float[np.ndarray, "n 9"]:
    return np.concatenate([Ts_world_object.translation, Ts_world_object.rotation.wxyz, readings], axis=1)
