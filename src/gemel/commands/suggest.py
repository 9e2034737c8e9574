"""`gemel suggest`: the next pushes that would teach most about the twin's physical parameters."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from gemel.artifacts.twin import Twin


@dataclass(frozen=True)
class Suggest:
    """Propose the next interactions: straight pushes whose outcome the present belief is least sure of."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder; a twin must have been assembled in it."""
    object: str = ""
    """Which object to push; may be left out when there is one."""
    count: int = 3
    """How many pushes to propose."""
    json: Path | None = None
    """Also write the result as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Simulate candidates under draws of the belief, choose, show."""
        import numpy as np

        from gemel.commands.screen import print_table, write_json
        from gemel.commands.told_twin import told_twin
        from gemel.errors import ConfigError
        from gemel.project import open_project
        from gemel.stages.identify.push_scene import TIP_RADIUS_M, outline_of, push_scene
        from gemel.stages.identify.suggest import pushes_around, suggest
        from gemel.store.store import Store

        if self.count < 1:
            raise ConfigError(f"--count is {self.count}; at least one was expected.", remedy="ask for one push or more")
        project = open_project(self.folder)
        store = Store.open(project.store_folder)
        _, twin = told_twin(project, store)
        name = _object(twin, self.object)
        scene = push_scene(twin, name, store)
        pushes = pushes_around(outline_of(twin, name, store), tip_radius_m=TIP_RADIUS_M)
        rng = np.random.default_rng([project.settings.seed, 8])
        found = suggest(twin.belief, [scene.outcome(push) for push in pushes], self.count, rng)
        store.close()
        rows = [(str(i + 1), pushes[s.index].words, f"{s.gain_nats:.2f}") for i, s in enumerate(found)]
        if self.json is not None:
            write_json([{"push": words, "gain_nats": float(gain)} for _, words, gain in rows], self.json)
        if self.json is None or str(self.json) != "-":
            print_table(f"pushes of {name} that would teach most", ("", "push", "expected gain [nats]"), rows)
        return 0


def _object(twin: "Twin", given: str) -> str:
    from gemel.errors import ConfigError, choices_text

    names = tuple(twin.colliders)
    if given and given not in names:
        raise ConfigError(f"Object {choices_text(given, names)}", remedy="use one of the choices")
    if not given and len(names) != 1:
        raise ConfigError(f"The twin has the objects {list(names)}.", remedy="say which with --object NAME")
    return given or names[0]
