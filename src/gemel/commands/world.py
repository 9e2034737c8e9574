"""`gemel world`: records a stand-in capture, with its truth sealed beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

from gemel.worlds.imperfections import Imperfections

_SPANS = {"simulating": (0.0, 0.05), "rendering": (0.05, 0.93), "writing": (0.98, 0.02)}
"""Start and length of each phase on the progress bar."""


@dataclass(frozen=True)
class World:
    """Record a stand-in capture: a LeRobot v3.0 dataset of one scan and some episodes, as a lab would have it.

    The truth (object poses, parameters, true cameras) goes to FOLDER.truth, which only benchmarks and tests open.
    """

    name: Annotated[str, tyro.conf.Positional]
    """Which world: push-t, push-hammer, handover, toss or scan."""
    record: Path
    """New folder for the dataset."""
    episodes: int = 14
    """Task episodes after the scan. A scan world records that many scans, one unless told."""
    seed: int = 0
    """Draws the hidden truth and everything that happens; the same seed gives the same bytes."""
    object: str = ""
    """Object of a scan: t-block, hammer, cube, big-cube, mug, ring or bracket."""
    size: str = "160x120"
    """Width and height of the images in pixels, as WxH."""
    seconds: float = 0.0
    """Longest episode in seconds; 0 means what the world's operators take."""
    plain_table: bool = False
    """A grey table instead of wood."""
    samples: int = 4
    """Light paths for each pixel, before the denoiser."""
    codec: str = "h264"
    """Video codec: h264 or av1."""
    workers: int = 0
    """Processes; 0 means one for each core."""
    quiet: bool = False
    """No progress bar."""
    imperfections: Imperfections = field(default_factory=Imperfections)
    """What is wrong with the robot, its cameras and its recorder."""

    def run(self) -> int:
        """Record and say where."""
        from gemel.commands.screen import console
        from gemel.worlds.record import RecordPlan, record_world
        from gemel.worlds.scenario import WorldConfig

        config = WorldConfig(
            name=self.name,
            seed=self.seed,
            object=self.object,
            size=parse_size(self.size),
            plain_table=self.plain_table,
            sample_count=self.samples,
            imperfections=self.imperfections,
        )
        count = 1 if self.name == "scan" and self.episodes == World.episodes else self.episodes
        plan = RecordPlan(count, self.seconds, self.codec, self.workers)
        with _bar(self.name, is_quiet=self.quiet) as on_progress:
            truth = record_world(config, self.record, plan, on_progress=on_progress)
        console().print(f"Recorded {self.record}  (its truth is sealed in {truth})")
        return 0


def parse_size(text: str) -> tuple[int, int]:
    """`160x120` as two even numbers."""
    from gemel.errors import ConfigError

    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) >= 16 and int(part) % 2 == 0 for part in parts):
        raise ConfigError(
            f"Image size {text!r} is not understood; two even numbers of at least 16, such as 160x120, were expected.",
            remedy="give --size WxH",
        )
    return int(parts[0]), int(parts[1])


@contextmanager
def _bar(name: str, *, is_quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """One bar for all phases; rendering is nearly all of it."""
    from gemel.commands.screen import progress_bar

    if is_quiet:
        yield lambda phase, done, total: None
        return
    with progress_bar(f"recording {name}") as on_fraction:
        yield lambda phase, done, total: on_fraction(_SPANS[phase][0] + _SPANS[phase][1] * done / max(total, 1))
