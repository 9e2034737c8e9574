"""Paths that a log names, kept inside the log's folder."""

import string
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gemel.errors import SourceError


@lru_cache(maxsize=4096)
def inside(root: Path, relative: str) -> Path:
    """The file that `relative` names below `root`; refused when it points out of it by any route."""
    pure = PurePosixPath(relative)
    if pure.is_absolute() or ".." in pure.parts or "\\" in relative or "\0" in relative or not pure.parts:
        raise _escapes(relative, root)
    path = root / pure
    if not path.resolve().is_relative_to(root.resolve()):
        raise _escapes(relative, root)
    return path


def fill_template(template: str, *, allowed: tuple[str, ...], **values: object) -> str:
    """`str.format` for templates out of files: plain field names only, no attributes, no indexing."""
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise _bad_template(template, allowed) from error
    if any(name not in allowed for name in fields):
        raise _bad_template(template, allowed)
    try:
        return template.format(**values)
    except (ValueError, KeyError) as error:
        raise _bad_template(template, allowed) from error


def _escapes(relative: str, root: Path) -> SourceError:
    return SourceError(
        f"The log names the path {relative!r}, which leads out of its folder {root}.",
        remedy="copy the log with its links resolved (`cp -rL`), and correct the path in its metadata",
    )


def _bad_template(template: str, allowed: tuple[str, ...]) -> SourceError:
    return SourceError(
        f"The path template {template!r} uses fields other than {list(allowed)}.",
        remedy="correct data_path or video_path in meta/info.json",
    )
