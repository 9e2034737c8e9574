"""Per-feature statistics as LeRobot v3.0 stores them: min, max, mean, std, count and five quantiles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Num, UInt8

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
_IMAGE_SAMPLES = 100
_HISTOGRAM_BINS = 256


@dataclass(frozen=True, eq=False)
class Stats:
    """Statistics of one feature, elementwise."""

    values: dict[str, np.ndarray]
    """min, max, mean, std and the quantiles, each of the feature's shape."""
    count: int

    def as_lists(self) -> dict[str, Any]:
        """JSON form."""
        return {name: array.tolist() for name, array in self.values.items()} | {"count": [self.count]}


def number_stats(values: Num[np.ndarray, "t width"]) -> Stats:
    """Statistics over the steps of one episode (at least one); extremes of whole numbers stay whole."""
    extremes = {"min": values.min(0), "max": values.max(0)}
    values = values.astype(np.float64)
    quantiles = np.quantile(values, list(QUANTILES.values()), axis=0)
    basic = {**extremes, "mean": values.mean(0), "std": values.std(0)}
    return Stats(basic | dict(zip(QUANTILES, quantiles, strict=True)), len(values))


class image_stats:  # noqa: N801 (reads as the function that it stands for)
    """Collects colour statistics over the frames of one episode, per channel on a 0..1 scale, in constant memory."""

    def __init__(self) -> None:
        self._histogram = np.zeros((3, _HISTOGRAM_BINS), dtype=np.int64)
        self._frames = 0

    def add(self, image: UInt8[np.ndarray, "h w 3"]) -> None:
        """Count one frame; after the first hundred only every tenth is counted."""
        if self._frames < _IMAGE_SAMPLES or self._frames % 10 == 0:
            for channel in range(3):
                self._histogram[channel] += np.bincount(image[..., channel].ravel(), minlength=_HISTOGRAM_BINS)
        self._frames += 1

    def result(self) -> Stats:
        """Statistics of shape (3, 1, 1); `count` is the number of frames."""
        levels = np.arange(_HISTOGRAM_BINS) / 255.0
        total = np.maximum(self._histogram.sum(1), 1)
        mean = self._histogram @ levels / total
        variance = np.maximum(self._histogram @ levels**2 / total - mean**2, 0.0)
        cumulative = self._histogram.cumsum(1) / total[:, None]

        def level_at(fraction: float) -> np.ndarray:
            return levels[np.argmax(cumulative >= fraction, axis=1)]

        values = {
            "min": level_at(1e-12),
            "max": level_at(1.0 - 1e-12),
            "mean": mean,
            "std": np.sqrt(variance),
        }
        values |= {name: level_at(fraction) for name, fraction in QUANTILES.items()}
        return Stats({name: v.reshape(3, 1, 1) for name, v in values.items()}, self._frames)


def combine_stats(parts: list[Stats]) -> Stats:
    """Statistics of all episodes together; quantiles are weighted means, as LeRobot combines them."""
    counts = np.array([part.count for part in parts], dtype=np.float64)
    total = max(counts.sum(), 1.0)

    def stacked(name: str) -> np.ndarray:
        return np.stack([part.values[name] for part in parts])

    def weighted(values: np.ndarray) -> np.ndarray:
        return np.tensordot(counts, values, axes=1) / total

    mean = weighted(stacked("mean"))
    variance = weighted(stacked("std") ** 2 + (stacked("mean") - mean) ** 2)
    values = {
        "min": stacked("min").min(0),
        "max": stacked("max").max(0),
        "mean": mean,
        "std": np.sqrt(variance),
    }
    values |= {name: weighted(stacked(name)) for name in QUANTILES}
    return Stats(values, int(counts.sum()))
