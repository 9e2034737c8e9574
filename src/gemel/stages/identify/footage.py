"""Frames of tracked motion as pixels: what the last refinement of `identify` looks at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.services.tracking.view import View
from gemel.stages.identify.segments import Segment


@runtime_checkable
class Footage(Protocol):
    """Images of episodes, with cameras, robot and background in place."""

    def frame_times_s(self, episode: str) -> Float[np.ndarray, " t"]:
        """When frames were taken, on the robot's clock [s]; those of the track."""
        ...

    def views(self, episode: str, steps: Sequence[int]) -> Iterator[list[View]]:
        """What all cameras saw at each of the steps."""
        ...


@dataclass(frozen=True, eq=False)
class SeenFrame:
    """One camera's image of one frame of a segment."""

    segment: int
    time_s: float
    """The camera's own, on the robot's clock [s]."""
    scales: Float[np.ndarray, "6"]
    """Expected error of track and model there, along the object's axes (`Segment.scales`)."""
    view: View


def seen_frames(segments: Sequence[Segment], footage: Footage, *, per_segment: int) -> tuple[SeenFrame, ...]:
    """At most so many frames of each segment, evenly spread and with its last, in the order of the segments."""
    found = []
    for index, segment in enumerate(segments):
        count, wanted = len(segment.times_s), min(per_segment, len(segment.times_s))
        chosen = np.linspace(count / wanted, count, wanted).round().astype(int) - 1
        times_s = footage.frame_times_s(segment.episode)
        steps = [int(np.argmin(np.abs(times_s - segment.times_s[row]))) for row in chosen]
        for row, views in zip(chosen, footage.views(segment.episode, steps), strict=True):
            found += [
                SeenFrame(index, float(segment.times_s[row]) + view.delay_s, segment.scales[row], view)
                for view in views
            ]  # fmt: skip
    return tuple(found)
