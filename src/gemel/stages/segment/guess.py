"""What a segmenter says about one object in one view, and what a person said before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool

from gemel.stages.segment.config import ObjectPrompt
from gemel.stages.segment.view import View

FrameKey = tuple[str, str, int]
"""Episode, camera and step."""


@dataclass(frozen=True, eq=False)
class Guess:
    """A mask at the view's size and how sure the segmenter is of it."""

    mask: Bool[np.ndarray, "h w"]
    confidence: float
    """0 to 1, from this view alone."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """One object, what it was prompted with, and the masks that a person painted."""

    name: str
    prompt: ObjectPrompt
    painted: Mapping[FrameKey, Bool[np.ndarray, "_ _"]]
    """Corrected masks at the size of their views."""


@runtime_checkable
class Segmenter(Protocol):
    """Masks of one object in all views, in their order."""

    def __call__(self, views: list[View], wanted: Wanted, on_progress: Callable[[float], None]) -> list[Guess]:
        """Segment the views."""
        ...


def key_of(view: View) -> FrameKey:
    """Which frame a view shows."""
    return view.episode, view.camera, view.step
