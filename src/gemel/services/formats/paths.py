"""Paths that a log names: kept inside the log's folder, and only ever plain files."""

import re
import string
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gemel.errors import SourceError

_LONGEST_PATH, _LONGEST_NAME = 2048, 255
_NUMBER_FORMAT = re.compile(r"(0?[0-9]{1,2})?d?")
"""Zero-padded to at most 99 digits: a longer field would only serve to fill the memory."""


@lru_cache(maxsize=4096)
def inside(root: Path, relative: str) -> Path:
    """The file that `relative` names below `root`; refused when it points out of it by any route."""
    pure = PurePosixPath(relative)
    is_odd = "\\" in relative or any(ord(character) < 32 for character in relative)
    is_odd |= len(relative) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in pure.parts)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or is_odd:
        raise _escapes(relative, root)
    path = root / pure
    try:
        relative.encode("utf-8")
        is_inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, or a name that no disk can hold
        raise _escapes(relative, root) from error
    if not is_inside:
        raise _escapes(relative, root)
    return path


def plain_file(path: Path, what: str) -> Path:
    """The path itself, once it is sure to be a file with something in it; `what` names it in messages."""
    # A pipe or a device would block the reader for ever, so only files and links to files pass.
    if not path.exists():
        raise SourceError(f"The {what} {path} is missing.", remedy="copy it back beside the rest of the log")
    if not path.is_file():
        raise SourceError(f"The {what} {path} is not a file.", remedy="replace it by the recorded file")
    if path.stat().st_size == 0:
        raise SourceError(f"The {what} {path} has 0 bytes.", remedy="copy it again from the recording machine")
    return path


def files_below(root: Path, tops: Iterable[str]) -> tuple[str, ...]:
    """Every file below the given folders of `root`, relative to it and sorted; links that lead nowhere are refused."""
    found = (p for top in tops for p in (root / top).rglob("*") if p.is_symlink() or not p.is_dir())
    relative = sorted(p.relative_to(root).as_posix() for p in found)
    for name in relative:
        path = inside(root, name)
        if not path.is_file() and not path.is_dir():
            raise SourceError(
                f"{path} is neither a file nor a folder: a broken link, or a pipe.",
                remedy="remove it, or copy the log with its links resolved (`cp -rL`)",
            )
    return tuple(name for name in relative if not (root / name).is_dir())


def fill_template(template: str, *, allowed: tuple[str, ...], **values: object) -> str:
    """`str.format` for templates out of files: plain field names with short number formats, nothing else."""
    try:
        fields = [part[1:] for part in string.Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise _bad_template(template, allowed) from error
    for name, form, conversion in fields:
        if name not in allowed or conversion is not None or not _NUMBER_FORMAT.fullmatch(form or ""):
            raise _bad_template(template, allowed)
    try:
        return template.format(**values)
    except (ValueError, KeyError) as error:
        raise _bad_template(template, allowed) from error


def _escapes(relative: str, root: Path) -> SourceError:
    return SourceError(
        f"The log names the path {relative!r}, which leads out of its folder {root} or is no path at all.",
        remedy="copy the log with its links resolved (`cp -rL`), and correct the path in its metadata",
    )


def _bad_template(template: str, allowed: tuple[str, ...]) -> SourceError:
    return SourceError(
        f"The path template {template!r} uses fields other than {list(allowed)}, or odd formats.",
        remedy="correct data_path or video_path in meta/info.json",
    )
