"""Putting a table into a TOML file without touching the rest of it, comments included."""

import os
from collections.abc import Sequence
from pathlib import Path


def with_table(text: str, header: str, lines: Sequence[str]) -> str:
    """The text with the table `[header]` replaced by these lines, or with them at its end."""
    kept, is_inside = [], False
    for line in text.splitlines():
        if line.startswith("["):  # lines inside a multi-line array are indented
            is_inside = line.strip() == f"[{header}]"
        if not is_inside:
            kept.append(line)
    body = "\n".join(kept).rstrip()
    return body + "\n\n" + "\n".join([f"[{header}]", *lines]) + "\n"


def rewrite(path: Path, text: str) -> None:
    """Replace a file; it is old or new, never half."""
    temporary = path.with_suffix(path.suffix + ".partial")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
