"""Putting a table into a TOML file without touching the rest of it, comments included."""

import os
from collections.abc import Sequence
from pathlib import Path


def with_table(text: str, header: str, lines: Sequence[str], *, replaced: Sequence[str]) -> str:
    """The text with these lines in the table `[header]`, at its end; of the old table only keys in `replaced` go."""
    others, own = [], []
    is_inside, is_dropped = False, False
    for line in text.splitlines():
        if line.startswith("["):  # lines inside a multi-line array are indented
            is_inside, is_dropped = line.strip() == f"[{header}]", True
        elif is_inside and not line.startswith((" ", "\t", "]")):
            is_dropped = line.split("=")[0].strip() in replaced
        if not is_inside:
            others.append(line)
        elif not is_dropped and line.strip():
            own.append(line)
    body = "\n".join(others).rstrip()
    return body + "\n\n" + "\n".join([f"[{header}]", *lines, *own]) + "\n"


def rewrite(path: Path, text: str) -> None:
    """Replace a file; it is old or new, never half."""
    temporary = path.with_suffix(path.suffix + ".partial")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
