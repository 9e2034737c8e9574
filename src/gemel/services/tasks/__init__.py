"""Each task's contract, nominal models and ranges, as data.

Owns what a policy, a twin and an evaluation have to agree on before anyone has measured anything: the contract
(`artifacts.task.Task`), the nominal shape of the objects, and the ranges within which their parameters lie. Does not
own what is true in a particular world (`worlds/`) or what was found out about it (`Belief`).
"""

from gemel.artifacts.task import Task
from gemel.errors import ConfigError, choices_text
from gemel.services.tasks.handover import HANDOVER
from gemel.services.tasks.objects import ObjectModel, get_object, object_names
from gemel.services.tasks.push_hammer import PUSH_HAMMER
from gemel.services.tasks.push_t import PUSH_T
from gemel.services.tasks.scan import SCAN
from gemel.services.tasks.toss import TOSS

_TASKS = {task.name: task for task in (PUSH_T, PUSH_HAMMER, HANDOVER, TOSS, SCAN)}

__all__ = ["ObjectModel", "get_object", "get_task", "object_names", "task_names"]


def task_names() -> tuple[str, ...]:
    """Names of all tasks."""
    return tuple(_TASKS)


def get_task(name: str) -> Task:
    """The task of that name."""
    if name not in _TASKS:
        raise ConfigError(f"Task {choices_text(name, task_names())}", remedy="use one of the choices")
    return _TASKS[name]
