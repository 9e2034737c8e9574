"""Views beside what the fit makes of them: real, fit, and their difference."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.outputs.pictures.font import labelled
from gemel.outputs.pictures.sheet import Picture, as_picture, magnification, sheet

_WITHHELD = (190, 90, 20)
_FITTED = (40, 40, 40)
_GAIN = 3.0
"""Differences are shown this many times stronger."""
_DIM = 0.35


@dataclass(frozen=True, eq=False)
class ComparedView:
    """One view of one object."""

    label: str
    """Camera and time, for people."""
    is_withheld: bool
    real: Float[np.ndarray, "h w 3"]
    """0 to 1."""
    mask: Bool[np.ndarray, "h w"]
    """Where the segmentation sees the object."""
    fit: Float[np.ndarray, "h w 3"]
    """Over black, 0 to 1."""
    coverage: Float[np.ndarray, "h w"]
    """Of the fit, 0 to 1."""
    ignored: Bool[np.ndarray, "h w"]
    """Pixels that the fit did not look at: robot, unknown."""


def comparison(views: Sequence[ComparedView], *, most: int = 12) -> Picture:
    """Real, fit and difference of up to `most` views, withheld ones first and on orange bars.

    The difference is blue where the fit is darker, red where it is brighter, black where equal or not looked at; the
    mask's outline is green.
    """
    chosen = _chosen(views, most)
    pictures = []
    for view in chosen:
        n = magnification(view.real.shape[1], wanted=320)
        colour = _WITHHELD if view.is_withheld else _FITTED
        kind = "withheld" if view.is_withheld else "fitted"
        both = view.fit + (1.0 - view.coverage[..., None]) * _DIM * view.real
        for text, image in ((f"{view.label} real {kind}", view.real), ("fit", both), ("difference", _difference(view))):
            picture = as_picture(image, size=n)
            if text == "difference":
                picture[_border(np.kron(view.mask, np.ones((n, n), dtype=bool)))] = (60, 220, 60)
            pictures.append(labelled(picture, text, colour=colour))
    return sheet(pictures, columns=3 if len(chosen) < 4 else 6)


def _chosen(views: Sequence[ComparedView], most: int) -> list[ComparedView]:
    withheld = [view for view in views if view.is_withheld][: most - most // 3]
    fitted = [view for view in views if not view.is_withheld]
    kept = np.linspace(0, len(fitted) - 1, min(most - len(withheld), len(fitted))).round().astype(int)
    return withheld + [fitted[i] for i in np.unique(kept)]


def _difference(view: ComparedView) -> Float[np.ndarray, "h w 3"]:
    use = ((view.mask | (view.coverage > 0.5)) & ~view.ignored)[..., None]
    brighter = (use * (view.fit - view.mask[..., None] * view.real)).mean(axis=-1)
    red, blue = np.clip(_GAIN * brighter, 0.0, 1.0), np.clip(-_GAIN * brighter, 0.0, 1.0)
    return np.stack([red, 0.25 * (red + blue), blue], axis=-1)


def _border(mask: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """Pixels of a mask beside ones that are not of it."""
    inner = mask.copy()
    for axis in (0, 1):
        for step in (-1, 1):
            inner &= np.roll(mask, step, axis=axis)
    return mask & ~inner
