"""The estimator that belongs to a variant, from files and priors."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gemel.artifacts.task import Task
from gemel.errors import ConfigError, choices_text
from gemel.runtime.adapt.ensemble import Ensemble, Memoryless
from gemel.runtime.adapt.push_filter import FilterConfig, PushFilter
from gemel.runtime.adapt.push_model import QuasiStaticPush
from gemel.services.policy.checkpoint import load_network
from gemel.services.policy.estimator import Estimator, Fixed, Prior, even_prior
from gemel.services.policy.push_outline import Outline
from gemel.services.sim.planar_push import PUSHER_RADIUS_M
from gemel.services.tasks import get_object

ESTIMATED = ("prior_only", "history_only", "fused_memoryless", "fused")
"""Variants that run a policy which is told parameters, with an estimator beside it."""
_OTHER_AXIS_SIGMA_M, _OTHER_AXIS_MOST_M = 0.003, 0.015
"""Centre of mass along the axis about which the object is symmetric."""


def priors_of(task: Task, given: Sequence[Prior] = ()) -> tuple[Prior, ...]:
    """What is believed of all of a push task's parameters: what is given, and the task's ranges of the rest."""
    known = {prior.name: prior for prior in given}
    found = [known.get(name, even_prior(name, low, high)) for name, (low, high) in task.parameter_ranges.items()]
    return (*found, *(prior for prior in given if prior.name not in task.parameter_ranges))


def make_estimator(
    variant: str, task: Task, priors: Sequence[Prior], *, encoders: Path | None = None,
    config: FilterConfig | None = None,
) -> Estimator:  # fmt: skip
    """What says the parameters to a policy in one of the variants of `ESTIMATED`."""
    priors = priors_of(task, priors)
    if variant == "prior_only":
        means, sigmas = (np.array([getattr(prior, part) for prior in priors]) for part in ("mean", "sigma"))
        return Fixed([prior.name for prior in priors], means, sigmas)
    if variant == "fused":
        return make_filter(task, priors, config)
    if variant not in ESTIMATED:
        raise ConfigError(f"Variant {choices_text(variant, ESTIMATED)}", remedy="use one of the choices")
    if encoders is None:
        raise ConfigError(
            f"Variant {variant!r} needs encoders.", remedy=f"train them: gemel train {task.name} --variant {variant}"
        )
    ensemble = Ensemble(load_network(encoders, "encoders"), task)
    return ensemble if variant == "history_only" else Memoryless(ensemble, priors)


def make_filter(task: Task, priors: Sequence[Prior], config: FilterConfig | None = None) -> PushFilter:
    """The filter with memory for the object of a push task; the centre of mass has two axes."""
    thing = get_object(task.objects[0])
    names = [prior.name for prior in priors]
    across = [f"object/{thing.name}/com_{axis}" for axis in "xy" if f"object/{thing.name}/com_{axis}" not in names]
    most = _OTHER_AXIS_MOST_M
    both = (*priors, *(Prior(name, 0.0, _OTHER_AXIS_SIGMA_M, -most, most) for name in across))
    model = QuasiStaticPush(thing.name, Outline.of(thing, PUSHER_RADIUS_M), period_s=task.control_period_s)
    return PushFilter(model, both, config)
