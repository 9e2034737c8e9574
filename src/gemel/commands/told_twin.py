"""The twin that commands take, with a word on the screen where it may not be the one that is wanted."""

from gemel.artifacts.twin import Twin
from gemel.commands.screen import console
from gemel.in_force import twin_in_force
from gemel.project import Project
from gemel.store.store import Store


def told_twin(project: Project, store: Store) -> tuple[str, Twin]:
    """Address and content of the project's twin; said on the screen where it may not be the one in force."""
    current = twin_in_force(project, store)
    if current.note:
        console(stderr=True).print(current.note, style="yellow")
    return current.address, current.twin
