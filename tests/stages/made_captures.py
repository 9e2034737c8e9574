"""Captures made in memory, and a reader for them without a seal, for tests of single stages."""

from collections.abc import Iterator, Sequence

import numpy as np

from gemel.artifacts.blob import BlobRef
from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import Capture, ClockReport, Domain, EpisodeKind, EpisodeRecord, ImageSequence
from gemel.artifacts.episode import Episode
from gemel.geometry import SE3


class MadeEpisode:
    """One episode for a made capture: its start decides what the camera sees."""

    def __init__(
        self, name: str, *, start: float = 0.0, scene: float = 0.0, seed: int = 0, steps: int = 20,
        task: str = "push", kind: EpisodeKind = EpisodeKind.TASK, object_name: str = "", path: float = 0.0,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        self.name, self.task, self.kind, self.object_name = name, task, kind, object_name
        walk = rng.normal(size=(steps, 3)).cumsum(axis=0) * 0.01
        self.joints = np.array([start, 0.0, 0.0]) + walk - walk[0] + path * np.linspace(0, 1, steps)[:, None]
        self.actions = rng.normal(size=(steps, 2))
        self.image = np.full((24, 32, 3), 90, dtype=np.uint8)
        at = int(np.clip(scene, 0, 1) * 24)
        self.image[8:16, at : at + 8] = 220
        self.fingerprint = f"{hash((self.joints.tobytes(), self.actions.tobytes())):x}"

    def record(self) -> EpisodeRecord:
        """Its row in the capture."""
        return EpisodeRecord(
            self.name, self.kind, Domain.REAL, self.task, len(self.joints), 0.1 * len(self.joints),
            BlobRef("00" * 32, 1), self.fingerprint, (ImageSequence("front", len(self.joints)),), None,
            self.object_name,
        )  # fmt: skip


class MadeFrames:
    """Reads made episodes; implements `Frames`."""

    def __init__(self, episodes: Sequence[MadeEpisode]) -> None:
        self._from_name = {episode.name: episode for episode in episodes}

    def episode(self, episode_id: str) -> Episode:
        made = self._from_name[episode_id]
        times = np.arange(len(made.joints)) / 10.0
        return Episode(made.name, made.kind, Domain.REAL, made.task, times, made.joints, made.actions)

    def image(self, episode_id: str, camera: str, step: int) -> np.ndarray:
        return self._from_name[episode_id].image

    def images(self, episode_id: str, camera: str, steps: Sequence[int]) -> Iterator[np.ndarray]:
        return iter([self._from_name[episode_id].image] * len(steps))

    def mask(self, episode_id: str, camera: str, step: int) -> np.ndarray | None:
        return None

    def depth(self, episode_id: str, camera: str, step: int) -> np.ndarray | None:
        return None


def made_capture(episodes: Sequence[MadeEpisode]) -> tuple[Capture, MadeFrames]:
    """A capture of these episodes, with one camera."""
    capture = Capture(
        "folder", "00" * 32, tuple(e.record() for e in episodes),
        (Camera("front", 32, 24, T_parent_camera=SE3.identity()),), (), ("a", "b"), ("as logged",) * 2,
        ClockReport(10.0, 0.0, 0, 0, 0, 0),
    )  # fmt: skip
    return capture, MadeFrames(episodes)


def different_episodes(count: int, **options: object) -> list[MadeEpisode]:
    """Episodes that have nothing in common: each starts elsewhere and sees another scene."""
    return [
        MadeEpisode(str(i), start=0.1 * i, scene=(i % 9) / 9, seed=i, **options)  # type: ignore[arg-type]
        for i in range(count)
    ]
