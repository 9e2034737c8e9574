"""`gemel export`: the twin in the formats of other programs, each read back and verified."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gemel.outputs.export.report import FormatReport


@dataclass(frozen=True)
class Export:
    """Write the twin for other programs, read every file back and compare.

    Exit code 1 when something that was read back is not the twin.
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder; a twin must have been assembled in it."""
    to: str = "mjcf,urdf,usd,glb,ply"
    """Formats with commas between: mjcf, urdf, usd, glb, ply, lerobot."""
    out: Path | None = None
    """Where to write, one folder per format; DIR/exports if not given. Older exports there are replaced by
    verified ones; what is not the twin goes to NAME.unverified beside them."""
    draw: int | None = None
    """Export a draw of the belief, by this seed, instead of its mean."""
    json: Path | None = None
    """Also write the result as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Export, verify, show."""
        from gemel.commands.screen import progress_bar, write_json
        from gemel.commands.told_twin import told_twin
        from gemel.outputs.export.export import export_twin, parse_formats
        from gemel.project import open_project
        from gemel.store.store import Store

        formats = parse_formats(self.to)
        project = open_project(self.folder)
        out = self.out if self.out is not None else self.folder / "exports"
        store = Store.open(project.store_folder)
        try:
            address, twin = told_twin(project, store)
            with progress_bar("exporting") as on_progress:
                reports = export_twin(
                    twin, store, formats, out, draw_seed=self.draw, stamp={"twin": address}, on_progress=on_progress
                )
        finally:
            store.close()
        if self.json is not None:
            trees = [report.as_tree() | {"folder": str(out / report.folder)} for report in reports]
            write_json({"twin": address, "formats": trees}, self.json)
        if self.json is None or str(self.json) != "-":
            show(reports, out)
        return 0 if all(report.is_verified for report in reports) else 1


def show(reports: "Sequence[FormatReport]", out: Path) -> None:
    """A table of what was written, what reading it back showed and what is left out."""
    from rich.text import Text

    from gemel.commands.screen import console, print_table

    rows = []
    for report in reports:
        verdict = Text("verified", "green") if report.is_verified else Text("NOT VERIFIED", "bold red")
        checks = "\n".join(str(check) for check in report.checks)
        left_out = "\n".join(f"· {words}" for words in report.not_carried)
        rows.append((f"{report.folder}/", verdict, checks, left_out))
    columns = ("path", "", "read back: largest difference and limit", "what the format cannot carry")
    print_table(f"Exports in {out}", columns, rows)
    wrong = [report.folder for report in reports if not report.is_verified]
    if wrong:
        console().print(f"Not the twin, and put beside older exports: {', '.join(wrong)}", style="bold red")
