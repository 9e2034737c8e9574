"""What the prompt page needs from the rest of Gemel."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, UInt8

FrameKey = tuple[str, str, int]
"""Episode, camera and step."""


@dataclass(frozen=True)
class Clicks:
    """What a person pointed at in one frame."""

    points: tuple[tuple[float, float, bool], ...] = ()
    """Column, row [px] and whether it is on the object."""
    box: tuple[float, float, float, float] | None = None
    """Left, top, right and bottom edge [px]."""


@runtime_checkable
class Desk(Protocol):
    """Frames to show and places to keep what the person says."""

    def contents(self) -> dict[str, Any]:
        """Episodes with their steps and cameras, and the prompts so far, as plain JSON."""
        ...

    def image(self, key: FrameKey) -> UInt8[np.ndarray, "h w 3"]:
        """One frame."""
        ...

    def mask(self, name: str, key: FrameKey) -> Bool[np.ndarray, "h w"] | None:
        """The object's mask so far: painted, else of the last run; None without one."""
        ...

    def preview(self, key: FrameKey, clicks: Clicks) -> Bool[np.ndarray, "h w"]:
        """What the clicks alone select."""
        ...

    def save_prompt(self, name: str, text: str, clicks: dict[FrameKey, Clicks]) -> None:
        """Keep an object's prompts in twin.toml."""
        ...

    def save_mask(self, name: str, key: FrameKey, mask: Bool[np.ndarray, "h w"]) -> None:
        """Keep a painted mask."""
        ...
