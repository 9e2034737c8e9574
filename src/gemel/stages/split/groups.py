"""Groups of episodes that have to share a role."""

from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import EpisodeRecord
from gemel.artifacts.episode import Episode
from gemel.artifacts.split import Likeness
from gemel.errors import ConfigError

_PATH_SAMPLES = 32


class Groups:
    """Disjoint sets of episode ids, merged by likeness."""

    def __init__(self, episodes: Iterable[str]) -> None:
        self._parent = {episode: episode for episode in episodes}

    def find(self, episode: str) -> str:
        """The set's representative."""
        while self._parent[episode] != episode:
            self._parent[episode] = self._parent[self._parent[episode]]
            episode = self._parent[episode]
        return episode

    def merge(self, first: str, second: str) -> bool:
        """Put two episodes into one set; False when they were in one already."""
        a, b = self.find(first), self.find(second)
        self._parent[b] = a
        return a != b

    def merge_all(self, likenesses: Iterable[Likeness]) -> list[Likeness]:
        """Merge all pairs and return those that joined two sets: enough to explain every group."""
        return [alike for alike in likenesses if self.merge(alike.first, alike.second)]

    def numbered(self) -> dict[str, int]:
        """Group number of each episode, in order of first appearance."""
        numbers: dict[str, int] = {}
        return {episode: numbers.setdefault(self.find(episode), len(numbers)) for episode in self._parent}


def same_object(records: Iterable[EpisodeRecord]) -> list[Likeness]:
    """Pairs that handle the same object."""
    records = list(records)
    unlabelled = [record.id for record in records if not record.object]
    if unlabelled:
        raise ConfigError(
            f'[split] by = "object", but episodes {unlabelled[:8]} have no object label.',
            remedy='label them in twin.toml: [episodes.object] mug = ["0", "1"]',
        )
    first_of: dict[str, str] = {}
    pairs = []
    for record in records:
        first = first_of.setdefault(record.object, record.id)
        if first != record.id:
            pairs.append(Likeness(first, record.id, "same object", record.object))
    return pairs


def camera_path(episode: Episode) -> Float[np.ndarray, "sample value"]:
    """Where the cameras went, at 32 equal parts of the episode: given poses, else the joints that carry them."""
    if episode.camera_poses:
        path = np.concatenate([poses.wxyz_xyz for poses in episode.camera_poses.values()], axis=1)
    else:
        path = episode.joint_positions
    at = np.linspace(0, len(path) - 1, _PATH_SAMPLES)
    return np.stack([np.interp(at, np.arange(len(path)), column) for column in path.T], axis=1)


def same_path(paths: Mapping[str, Float[np.ndarray, "sample value"]], tolerance: float) -> list[Likeness]:
    """Pairs whose camera paths differ by less than the tolerance (root mean square)."""
    items = list(paths.items())
    pairs = []
    for i, (first, a) in enumerate(items):
        for second, b in items[i + 1 :]:
            apart = float(np.sqrt(np.mean((a - b) ** 2)))
            if apart <= tolerance:
                pairs.append(Likeness(first, second, "same camera path", f"{apart:.3g} apart"))
    return pairs
