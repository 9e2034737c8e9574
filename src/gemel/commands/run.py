"""`gemel run`, `gemel status` and `gemel gc`: making, looking at and tidying a project's artifacts."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)


@dataclass(frozen=True)
class Run:
    """Run what is missing in a project, resume what was cut off: every stage from the log to the twin."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder."""
    first: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Run this stage and all after it again, even if nothing changed."""
    until: str | None = None
    """Stop after this stage; `train` goes on to training, which takes minutes."""
    json: Path | None = None
    """Also write the results as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Run the stages."""
        from gemel.commands.screen import ScreenReporter, console, write_json
        from gemel.pipeline import run_project
        from gemel.project import open_project

        project = open_project(self.folder)
        results = run_project(project, ScreenReporter(), first=self.first, last=self.until)
        if self.json is not None:
            write_json([asdict(result) for result in results], self.json)
        addresses = {result.name: result.address for result in results}
        if any(result.name == "segment" and not result.is_cached for result in results):
            from gemel.commands.segment_pictures import write_segment_pictures

            folder = write_segment_pictures(project, capture=addresses["ingest"], segmentation=addresses["segment"])
            console().print(f"Masks over frames: {folder}")
        if any(result.name == "reconstruct" and not result.is_cached for result in results):
            console().print(f"Robot, objects and views: {project.folder / 'pictures' / 'reconstruct'}")
        if any(result.name == "track" and not result.is_cached for result in results):
            console().print(f"Outlines of what was followed: {project.folder / 'pictures' / 'track'}")
        if any(result.name == "prior" and not result.is_cached for result in results):
            from gemel.commands.show_belief import print_prior

            print_prior(project.store_folder, addresses["prior"])
        if any(result.name == "identify" and not result.is_cached for result in results):
            from gemel.commands.show_belief import print_posterior

            print_posterior(project.store_folder, addresses["prior"], addresses["identify"])
        if any(result.name == "assemble" and not result.is_cached for result in results):
            console().print(f"Real frames beside the twin's: {project.folder / 'pictures' / 'twin'}")
        console().print(
            f"Artifacts are in {project.store_folder}. Next: gemel train {self.folder} or gemel evaluate {self.folder}"
        )
        return 0


@dataclass(frozen=True)
class Status:
    """What exists in a project, how old it is, and which episodes have which role."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder."""
    json: Path | None = None
    """Also write the result as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Show the state of every stage."""
        from gemel.commands.screen import print_table, write_json
        from gemel.pipeline import project_status
        from gemel.project import open_project
        from gemel.store.address import short

        project = open_project(self.folder)
        rows = project_status(project)
        if self.json is not None:
            write_json([asdict(row) for row in rows], self.json)
        print_table(f"Project {self.folder}", ("stage", "state", "artifact", "made (UTC)", "took"), [
            (r.name, r.state, short(r.address), r.made_at, f"{r.duration_s:.1f} s" if r.address else "") for r in rows
        ])  # fmt: skip
        _show_roles(project.store_folder)
        return 0


@dataclass(frozen=True)
class Gc:
    """Free space: remove data of superseded artifacts. Lineage and ledger stay."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder."""
    dry_run: bool = False
    """Only say what would be removed."""

    def run(self) -> int:
        """Collect garbage."""
        from gemel.commands.screen import console
        from gemel.pipeline import project_status
        from gemel.project import open_project
        from gemel.store.collect import collect_garbage
        from gemel.store.store import Store

        project = open_project(self.folder)
        current = [row.address for row in project_status(project) if row.address]
        store = Store.open(project.store_folder)
        result = collect_garbage(store, current, is_dry_run=self.dry_run)
        store.close()
        verb = "Would remove" if self.dry_run else "Removed"
        console().print(
            f"{verb} {result.object_count} objects ({result.freed_bytes / 1e6:.1f} MB); {result.kept_count} kept."
        )
        return 0


def _show_roles(store_folder: Path) -> None:
    from gemel.artifacts.split import Role
    from gemel.commands.screen import print_table
    from gemel.store.seal import current_roles
    from gemel.store.store import Store

    if not (store_folder / "ledger.sqlite").exists():
        return
    store = Store.open(store_folder)
    roles = current_roles(store.ledger)
    store.close()
    if roles is None:
        return
    by_role = {role: [e for e, r in roles.role_from_episode.items() if r is role] for role in Role}
    print_table("Roles", ("role", "episodes", "which"), [
        (role.value, len(episodes), _listed(episodes)) for role, episodes in by_role.items()
    ])  # fmt: skip


def _listed(episodes: list[str], most: int = 12) -> str:
    episodes = sorted(episodes, key=lambda name: (len(name), name) if name.isdigit() else (0, name))
    return ", ".join(episodes[:most]) + (f" and {len(episodes) - most} more" if len(episodes) > most else "")
