"""What commands show: tables, findings, progress bars, JSON."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gemel.artifacts.finding import Finding, Severity
from gemel.errors import ConfigError
from gemel.running import OnProgress, StageResult
from gemel.store.address import short

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
_PLACES_SHOWN = 3


def console(*, stderr: bool = False) -> Any:
    """The terminal; tables keep their width when the output is a file."""
    from rich.console import Console

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    # Markup is off: messages name TOML tables such as [split], which must not be read as styles.
    return Console(stderr=stderr, width=None if is_terminal else 120, highlight=False, markup=False)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table with a title."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", expand=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    console().print(table)


def print_findings(findings: Iterable[Finding]) -> None:
    """Findings of one kind together, with their first places and the remedy."""
    from rich.text import Text

    groups: dict[tuple[str, Severity], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.severity), []).append(finding)
    if not groups:
        console().print("Nothing wrong was found.", style="green")
        return
    rows = []
    for (code, severity), found in groups.items():
        places = [finding.place for finding in found[:_PLACES_SHOWN]]
        if len(found) > _PLACES_SHOWN:
            places.append(f"and {len(found) - _PLACES_SHOWN} more")
        rows.append((
            Text(str(severity), style=_STYLE[severity]), code, "\n".join(places),
            f"{found[0].message}\n→ {found[0].remedy}",
        ))  # fmt: skip
    print_table("Findings", ("severity", "code", "where", "what, and what to do"), rows)


def check_json_target(target: Path) -> None:
    """Refuse a file for `--json` that could not be written, before the work whose result goes there."""
    from gemel.services.formats.target_folder import check_target_folder

    if str(target) == "-":
        return
    if target.is_dir():
        raise _no_json(target, os.strerror(errno.EISDIR))
    if not target.parent.is_dir():
        raise _no_json(target, os.strerror(errno.ENOTDIR if target.parent.exists() else errno.ENOENT))
    check_target_folder(target.parent)


def _no_json(target: Path, why: str) -> ConfigError:
    return ConfigError(
        f"The result as JSON cannot be written to {target}: {why}.",
        remedy="give a file in a folder that is there and can be written to",
    )


def write_json(tree: Any, target: Path) -> None:
    """Write a result for machines: to a file, or to the screen for `-`."""
    text = json.dumps(tree, indent=2, ensure_ascii=False, default=str)
    if str(target) == "-":
        print(text)
    else:
        try:
            target.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise _no_json(target, str(error.strerror)) from error
        console(stderr=True).print(f"Wrote {target}")


@contextmanager
def progress_bar(title: str) -> Iterator[OnProgress]:
    """A bar with the remaining time, on the terminal only; it vanishes when done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    terminal = console(stderr=True)
    # Elsewhere even a bar that shows nothing would end with an empty line.
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


class ScreenReporter:
    """Shows a run on the terminal: a bar per running stage, a line per result."""

    @contextmanager
    def stage(self, name: str) -> Iterator[OnProgress]:
        """A progress bar while the stage runs."""
        with progress_bar(name) as on_progress:
            yield on_progress

    def done(self, result: StageResult) -> None:
        """One line, then what the stage noticed."""
        how = "unchanged" if result.is_cached else f"made in {result.duration_s:.1f} s"
        console().print(f"{result.name:<12} {short(result.address)}  {how}", style="bold")
        if result.findings:
            print_findings(result.findings)
