"""Damage with a purpose: one entry of a table or a JSON file changed, and what is then said about the log."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # noqa: TID253 (to damage tables on purpose)
import pyarrow.parquet as pq  # noqa: TID253

from gemel.artifacts.finding import Finding
from gemel.errors import SourceError
from gemel.services.formats.source import open_source
from services.formats.mutations import ingest_log, inspect_log

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
INFO = "meta/info.json"


def edit_json(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    tree = json.loads(path.read_text())
    edit(tree)
    path.write_text(json.dumps(tree))


def edit_table(path: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(edit(pq.read_table(path)), path)


def with_column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    """Replace a column by an array, or by what a function makes of the old one."""

    def edit(table: pa.Table) -> pa.Table:
        new = values(table[name].to_pylist()) if callable(values) else values
        return table.set_column(
            table.column_names.index(name), name, new if isinstance(new, pa.Array) else pa.array(new)
        )

    return edit


def said(log: Path) -> str:
    """What opening and reading has to say, a line per finding."""
    findings: list[Finding] = []
    try:
        source = open_source(log)
        source.check_files(findings.append)
        list(source.episodes(findings.append))
    except SourceError as error:
        return str(error)
    return "\n".join(f"[{f.code}] {f.place}: {f.message} -> {f.remedy}" for f in findings)


def assert_refused(log: Path, code: int, *patterns: str) -> None:
    """`gemel inspect` ends with `code`; it and ingest say all of `patterns`; the store stays whole."""
    got, shown = inspect_log(log)
    spoken = said(log)
    error = ingest_log(log, log.parent / "project")
    assert got == code, shown
    assert "What to do:" in error
    for pattern in patterns:
        assert re.search(pattern, spoken + shown, re.DOTALL), f"{pattern!r} not in\n{spoken}\n{shown}"
