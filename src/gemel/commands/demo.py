"""`gemel demo`: the whole loop on a small capture, from a log to a report about its twin."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemel.project import Project

_SAMPLE = Path(__file__).parents[1] / "samples" / "push_t"
"""Recorded by `gemel world push-t`: one scan and 14 trials (docs/worlds.md)."""
_OWN = ("log", "project", "report.html", "evidence.json")
"""What a demo leaves in its folder."""
_POLICY = Path(__file__).parents[1] / "samples" / "policies" / "push-t" / "privileged-0.safetensors"
"""Trained in the nominal scene; the file says by which command."""
_ROBOT, _EPISODES = "world:push-t:3", 5
"""The world that the capture was recorded in."""
_HOLDOUT = 0.3
"""Four of the 14 trials: claims about unseen data need a few."""
_DOMAIN = 'domain = "stand-in"  # recorded in a simulated world, and claims say so'
_QUICK = """
# What makes the demo quick, at some cost in precision; leave it out for a twin that you want to use.
[identify]
ensemble = 48
rounds = 8

[evaluate]
draws = 24
"""


@dataclass(frozen=True)
class Demo:
    """From a small log to a twin and a report on episodes that it never saw; an audit proves that it did not.

    A demo that was stopped goes on where it was when it is given the same folder.
    """

    out: Path | None = None
    """Folder for the demo; a temporary one unless given. It ends with report.html and evidence.json in it."""

    def run(self) -> int:
        """Run the demo."""
        from gemel.commands.audit import Audit
        from gemel.commands.evaluate import Evaluate
        from gemel.commands.inspect import Inspect
        from gemel.commands.new import New
        from gemel.commands.run import Run, Status
        from gemel.commands.screen import console
        from gemel.project import SETTINGS, open_project

        folder = self.out or Path(tempfile.mkdtemp(prefix="gemel-demo-"))
        log, project = folder / "log", folder / "project"
        _heading(f"1. A robot's log: the bundled capture of a push-t world, copied to {log}")
        _copy_log(folder, log)
        _heading(f"2. What is in it, and what is wrong with it: gemel inspect {log}")
        Inspect(log).run()
        _heading(f"3. A project: gemel new {project} --capture {log} --holdout {_HOLDOUT}")
        if (project / SETTINGS).exists():
            console().print(f"{project} exists: what is in it is used.")
        else:
            New(project, capture=log, holdout=_HOLDOUT).run()
            _adapt(project / SETTINGS)
        _heading(f"4. Split before anything is fitted, then everything up to the twin: gemel run {project}")
        Run(project).run()
        Status(project).run()
        _heading("5. A fitting step asks for a holdout episode")
        _show_refusal(open_project(project))
        _heading(
            f"6. The holdout is opened for this twin, and counted: gemel evaluate {project} --out {folder} --again"
        )
        # A demo that goes on under a newer version of the program may have been here before.
        code = Evaluate(project, out=folder, again=True).run()
        _heading(f"7. Proof that nothing of the holdout is in the twin: gemel audit {project}")
        code = max(code, Audit(project).run())
        _heading(
            f"8. A bundled policy pushes on that robot, and a filter learns what it pushes: {_policy_command(project)}"
        )
        code = max(code, Evaluate(project, policy=_POLICY, robot=_ROBOT, episodes=_EPISODES).run())
        _heading(f"Done. The project is {project}, the report {folder / 'report.html'}")
        return code


def _adapt(settings: Path) -> None:
    """The demo's own settings: where its log is from, and less work."""
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("[capture]\n", f"[capture]\n{_DOMAIN}\n", 1) + _QUICK, encoding="utf-8")


def _policy_command(project: Path) -> str:
    """What one would type for the last step."""
    return f"gemel evaluate {project} --policy {_POLICY} --robot {_ROBOT} --episodes {_EPISODES}"


def _copy_log(folder: Path, log: Path) -> None:
    """The bundled capture beside the project; a folder with other things in it is left alone."""
    from gemel.errors import ConfigError

    strange = [p.name for p in folder.iterdir() if p.name not in _OWN] if folder.is_dir() else []
    if strange or (folder.exists() and not folder.is_dir()):
        raise ConfigError(
            f"{folder} has things in it that are not the demo's: {', '.join(strange[:3]) or 'it is a file'}.",
            remedy="give a new folder with --out, or the folder of a demo to go on with it",
        )
    shutil.copytree(_SAMPLE, log, dirs_exist_ok=True)


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
