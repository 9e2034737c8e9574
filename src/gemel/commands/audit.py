"""`gemel audit`: the lineage of an artifact and proof that no holdout data is in it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from gemel.project import Project
    from gemel.store.audit import Audit as AuditResult
    from gemel.store.store import Store


@dataclass(frozen=True)
class Audit:
    """Walk the lineage of every current artifact and prove, or refute, that no holdout episode is in it.

    Exit code 1 when something is refuted.
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder."""
    artifact: str | None = None
    """Audit this artifact alone: its address, or the first digits of it."""
    json: Path | None = None
    """Also write the result as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Audit and show."""
        from gemel.commands.screen import console, write_json
        from gemel.project import open_project
        from gemel.store.audit import audit
        from gemel.store.store import Store

        project = open_project(self.folder)
        store = Store.open(project.store_folder)
        addresses, note = self._addresses(project, store)
        results = [audit(store, address) for address in addresses]
        store.close()
        if self.json is not None:
            write_json([asdict(result) | {"is_clean": result.is_clean} for result in results], self.json)
        if self.json is None or str(self.json) != "-":
            for result in results:
                show(result)
            if note:
                console().print(note, style="yellow")
            show_openings(results)
        return 0 if all(result.is_clean for result in results) else 1

    def _addresses(self, project: "Project", store: "Store") -> tuple[list[str], str]:
        """What to audit, and a note on what of it is not in force."""
        from gemel.errors import StoreError
        from gemel.in_force import in_force

        if self.artifact is None:
            current = in_force(project, store)
            return list(current.addresses.values()), current.note()
        recorded = dict.fromkeys(str(e.body["address"]) for e in store.ledger.entries("artifact"))
        found = [address for address in recorded if address.startswith(self.artifact)]
        if len(found) != 1:
            raise StoreError(
                f"{self.artifact!r} names {len(found)} artifacts of this project.",
                remedy=f"give more digits; there are {[address[:8] for address in recorded]}",
            )
        return found, ""


def show(result: "AuditResult") -> None:
    """Print one audit."""
    from gemel.commands.screen import console, print_table
    from gemel.store.address import short

    print_table(f"{result.type} {short(result.address)}", ("stage", "artifact", "episodes read"), [
        (step.stage, f"{step.type} {short(step.address)}", _count(step.episodes_read)) for step in result.steps
    ])  # fmt: skip
    out = console()
    for offence in result.offences:
        out.print(f"  refuted: {offence}", style="bold red")
    for accepted in result.accepted:
        out.print(f"  accepted by twin.toml: {accepted}", style="yellow")
    if result.is_clean and result.holdout:
        out.print(
            f"  proved: no fitting stage behind it has read any of the {len(result.holdout)} holdout episodes, nor a "
            f"copy of one (ingest and split see all, and fit nothing). Ledger whole up to "
            f"{short(result.ledger_head)}; refusals on record: {result.refusal_count}.",
            style="green",
        )
    elif result.is_clean:
        out.print(
            f"  nothing is held out at this point, so nothing can have leaked; "
            f"ledger whole up to {short(result.ledger_head)}.", style="green",
        )  # fmt: skip


def show_openings(results: "list[AuditResult]") -> None:
    """Every opening of the holdout, once for all artifacts."""
    from gemel.commands.screen import console

    openings = dict.fromkeys(opening for result in results for opening in result.openings)
    for number, opening in enumerate(openings, 1):
        console().print(f"holdout opened, {number}: {opening}")


def _count(episodes: tuple[str, ...]) -> str:
    return f"{len(episodes)}: {', '.join(episodes[:8])}{', …' if len(episodes) > 8 else ''}" if episodes else "none"
