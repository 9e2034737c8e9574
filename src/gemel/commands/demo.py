"""`gemel demo`: the loop as far as it exists, on a small capture."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemel.project import Project

_SAMPLE = Path(__file__).parents[1] / "samples" / "push_t"
"""Recorded by `gemel world push-t`: one scan and 14 trials (docs/worlds.md)."""


@dataclass(frozen=True)
class Demo:
    """From a small log to a twin; a fitting step is refused the holdout, and an audit proves that none saw it."""

    out: Path | None = None
    """Folder for the demo's project; a temporary one unless given."""

    def run(self) -> int:
        """Run the demo."""
        from gemel.commands.audit import Audit
        from gemel.commands.inspect import Inspect
        from gemel.commands.new import New
        from gemel.commands.run import Run, Status
        from gemel.project import open_project

        folder = self.out or Path(tempfile.mkdtemp(prefix="gemel-demo-"))
        log, project = folder / "log", folder / "project"
        _heading(f"1. A robot's log: the bundled capture of a push-t world, copied to {log}")
        shutil.copytree(_SAMPLE, log)
        _heading(f"2. What is in it, and what is wrong with it: gemel inspect {log}")
        Inspect(log).run()
        _heading(f"3. A project: gemel new {project} --capture {log}")
        New(project, capture=log).run()
        _heading(f"4. Split before anything is fitted, then everything up to the twin: gemel run {project}")
        Run(project).run()
        Status(project).run()
        _heading("5. A fitting step asks for a holdout episode")
        _show_refusal(open_project(project))
        _heading(f"6. Proof that nothing of the holdout is in any artifact: gemel audit {project}")
        code = Audit(project).run()
        _heading(f"Done. The project is {project}")
        return code


def _heading(text: str) -> None:
    from gemel.commands.screen import console

    console().print(f"\n── {text}", style="bold cyan")


def _show_refusal(project: "Project") -> None:
    """Ask for a sealed frame the way a fitting stage would."""
    from gemel.artifacts.capture import Capture
    from gemel.artifacts.split import Role
    from gemel.commands.screen import console
    from gemel.errors import LeakageError
    from gemel.running import Run
    from gemel.store.seal import current_roles
    from gemel.store.store import Store

    store = Store.open(project.store_folder)
    roles = current_roles(store.ledger)
    assert roles is not None
    held_out = next(e for e, role in roles.role_from_episode.items() if role is Role.HOLDOUT)
    capture = store.get(roles.capture, Capture)
    frames = Run(project, store).frames(capture, "reconstruct", key="demo")
    try:
        frames.image(held_out, capture.cameras[0].name, 0)
    except LeakageError as error:
        console().print(f"refused: {error}", style="yellow")
    finally:
        store.close()
