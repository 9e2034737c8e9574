"""The frames of a lab by the episode's name, for stages that look at pixels after tracking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import EpisodeRecord
from gemel.services.tracking.view import View
from gemel.stages.track.episode_views import Lab


@dataclass(frozen=True, eq=False)
class LabFootage:
    """Views and times of a lab's calibration and validation episodes."""

    lab: Lab

    def frame_times_s(self, episode: str) -> Float[np.ndarray, " t"]:
        """When frames were taken, on the robot's clock [s]: the times of the track."""
        return self.lab.frame_times_s(self.lab.frames.episode(episode))

    def views(self, episode: str, steps: Sequence[int]) -> Iterator[list[View]]:
        """What all cameras saw at each of the steps."""
        return self.lab.views(self._record(episode), steps)

    def _record(self, episode: str) -> EpisodeRecord:
        records = (*self.lab.fit.calibration, *self.lab.fit.validation)
        return next(record for record in records if record.id == episode)
