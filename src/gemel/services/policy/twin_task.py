"""Which task a twin is for, where its project names none."""

import warnings

from gemel.artifacts.task import Task
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.services.tasks import get_task, task_names


def task_of(twin: Twin) -> Task:
    """The twin's own task; else the one pushing task that handles one of its objects, and a warning says so.

    The tasks' ranges of physics stay out of it: what is believed of the twin has been fitted without them.
    """
    if twin.task is not None:
        return twin.task
    fitting = [
        task for task in map(get_task, task_names()) if _is_push(task) and set(task.objects) & set(twin.colliders)
    ]
    if len(fitting) != 1:
        raise ConfigError(
            f"The twin has no task, and its objects, {sorted(twin.colliders)}, are not those of exactly one push. "
            f"Tasks: {', '.join(task_names())}.",
            remedy="name one under [task] in twin.toml, or give `task`",
        )
    (task,) = fitting
    warnings.warn(
        f"The project names no task; {task.name!r} is used, the one push that handles {', '.join(task.objects)}. "
        f'Give task="{task.name}" to say so.',
        stacklevel=3,
    )
    return task


def _is_push(task: Task) -> bool:
    return {quantity.name for quantity in task.action} == {"tip_x", "tip_y"}
