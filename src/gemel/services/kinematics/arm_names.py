"""What the arms of a robot are called, from the names of their links."""

import re
from collections.abc import Sequence

_SIDES = ("left", "right")
_PLAIN = ("link", "joint", "base", "body")
"""Words that say nothing of which arm it is."""


def arm_names(links: Sequence[Sequence[str]], roots: Sequence[str], *, taken: str) -> list[str]:
    """A name for each arm: its side, else its root link where it has one of its own, else what its links share.

    `links` are each arm's, `roots` the link that each stands on; `taken` is a name that none may have. Names that
    would be equal or empty are numbered.
    """
    names: list[str] = []
    for number, own in enumerate(links):
        root = _trimmed(roots[number]) if roots.count(roots[number]) == 1 else ""
        name = _side(own) or root or _trimmed(_common(own)) or "arm"
        names.append(f"{name}{number + 1}" if name in (*names, taken) else name)
    return names


def _common(links: Sequence[str]) -> str:
    """What all begin with."""
    first, last = min(links), max(links)
    return next((first[:i] for i, letter in enumerate(first) if last[i : i + 1] != letter), first)


def _side(links: Sequence[str]) -> str:
    """The side that all links name first; empty without."""
    found = {next((word for word in _words(link) if word in _SIDES), "") for link in links}
    return found.pop() if len(found) == 1 else ""


def _trimmed(name: str) -> str:
    """Without separators, numbers and plain words at the end: `arm1_link_` is `arm1`."""
    plain = "|".join(_PLAIN)
    return re.sub(rf"(?:[_\-./]+(?:(?:{plain})?\d*)?)+$", "", name)


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", name.lower())
