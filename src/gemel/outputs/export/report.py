"""What was written, what reading it back showed, and what the format has no place for."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

STAMP_FILE = "export.json"
"""In every folder that an export wrote; its presence is what allows the next export to replace the folder."""
UNVERIFIED = ".unverified"
"""Ends the name of a folder whose files are not the twin."""


def largest(*differences: "float | np.ndarray | Iterable[float]") -> float:
    """The largest size of numbers, arrays or series of numbers; NaN if any is NaN, 0 of nothing.

    Python's own `max` would lose a NaN that does not come first, and a NaN must fail its check.
    """
    found = [0.0]
    for each in differences:
        values = each if isinstance(each, float | np.ndarray) else [*each]
        found.append(float(np.abs(np.asarray(values, dtype=np.float64)).max(initial=0.0)))
    return float(np.max(found))


@dataclass(frozen=True)
class Check:
    """One comparison of what was read back with the twin."""

    what: str
    measured: float
    """Largest difference found, or the number of failures."""
    limit: float
    """The largest that counts as equal."""
    unit: str = ""
    where: str = ""
    """Where the first difference is, if one can be named."""

    @property
    def is_passed(self) -> bool:
        """Whether the difference is within the limit; NaN is not."""
        return bool(self.measured <= self.limit)

    def as_tree(self) -> dict[str, Any]:
        """For JSON, which has no infinity."""
        measured = self.measured if math.isfinite(self.measured) else None
        return {**vars(self), "measured": measured, "is_passed": self.is_passed}

    def __str__(self) -> str:
        sign = "≤" if self.is_passed else ">"
        unit = f" {self.unit}" if self.unit else ""
        where = f" (first: {self.where})" if self.where and not self.is_passed else ""
        return f"{self.what}: {self.measured:.2g} {sign} {self.limit:.2g}{unit}{where}"


@dataclass(frozen=True)
class FormatReport:
    """One format of one export."""

    format: str
    files: tuple[str, ...]
    """Paths inside the format's folder."""
    conventions: Mapping[str, str]
    """Unit, axes and order of quaternions as this format has them."""
    checks: tuple[Check, ...]
    not_carried: tuple[str, ...]
    """What of the twin the format has no place for, in words."""

    @property
    def is_verified(self) -> bool:
        """Whether reading back gave the twin."""
        return bool(self.checks) and all(check.is_passed for check in self.checks)

    @property
    def folder(self) -> str:
        """Name of the folder: the format's own is only for files that are the twin."""
        return self.format if self.is_verified else f"{self.format}{UNVERIFIED}"

    def as_tree(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": self.format,
            "is_verified": self.is_verified,
            "folder": self.folder,
            "files": list(self.files),
            "conventions": dict(self.conventions),
            "checks": [check.as_tree() for check in self.checks],
            "not_carried": list(self.not_carried),
        }
