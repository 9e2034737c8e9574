"""The stage stops at a log that is not what it says, and shows why first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from gemel.artifacts.blob import BlobRef
from gemel.artifacts.capture import Domain, EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Episode
from gemel.artifacts.split import FitData
from gemel.errors import ConfigError, SourceError
from gemel.reconstruct_pictures import reconstruct_pictures
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.stages.reconstruct.observations import Observations
from gemel.stages.reconstruct.stage import ReconstructInfo, reconstruct
from stages.reconstruct.made_lab import FIXED, JOINTS, MOVING, OBJECT, intact

SWAPPED = {"front": "side", "side": "front", "wrist": "wrist"}


@dataclass(frozen=True, eq=False)
class LabFrames:
    """Reads the small lab's frames; fixed cameras deliver each other's."""

    observations: Observations

    def row(self, camera: str, step: int) -> int:
        """Which observation a frame is."""
        o = self.observations
        names = [o.cameras[c].name for c in o.camera]
        return next(v for v in range(len(o)) if names[v] == SWAPPED[camera] and o.step[v] == step)

    def episode(self, episode_id: str) -> Episode:
        return self.observations.episodes[0]

    def image(self, episode_id: str, camera: str, step: int) -> np.ndarray:
        return np.round(255.0 * self.observations.images[self.row(camera, step)]).astype(np.uint8)

    def images(self, episode_id: str, camera: str, steps: Sequence[int]) -> Iterator[np.ndarray]:
        return (self.image(episode_id, camera, step) for step in steps)

    def mask(self, episode_id: str, camera: str, step: int) -> np.ndarray | None:
        return None

    def depth(self, episode_id: str, camera: str, step: int) -> np.ndarray | None:
        return None


def lab_data(observations: Observations) -> FitData:
    steps = len(observations.episodes[0].times_s)
    record = EpisodeRecord("0", EpisodeKind.SCAN, Domain.STAND_IN, "look", steps, 6.0, BlobRef("0" * 64, 0), "f")
    return FitData((record,), (), observations.cameras, JOINTS, (), None)


def test_swapped_cameras_stop_the_stage_after_their_picture_was_shown() -> None:
    """The error names the mistake and the cameras; what was noticed can be drawn, though nothing was fitted."""
    observations = intact().observations
    frames = LabFrames(observations)
    shown: list[ReconstructInfo] = []
    with pytest.raises(SourceError, match="swapped-cameras") as caught:
        reconstruct(
            lab_data(observations),
            ReconstructConfig(CalibrationConfig(moving_views=MOVING, fixed_views=FIXED)),
            objects=(OBJECT,),
            mask_of=lambda name, episode, camera, step: observations.masks[name][frames.row(camera, step)],
            frames=frames,
            robot=intact().robot,
            rng=np.random.default_rng(0),
            on_judged=shown.append,
        )
    assert "'front' and 'side'" in str(caught.value)
    assert list(reconstruct_pictures(shown[0])) == ["robot"]


def test_an_unknown_route_is_refused() -> None:
    """A misspelt route is told with the choices."""
    with pytest.raises(ConfigError, match="generated"):
        ReconstructConfig(route="generatd")
