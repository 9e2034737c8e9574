"""Pictures of every stand-in world from all of its cameras, as docs/worlds.md shows them.

python examples/world_pictures.py docs/images/worlds
"""

import sys
from pathlib import Path

import numpy as np

from gemel.services.formats.image_file import encode_png
from gemel.services.tasks import object_names
from gemel.worlds.render_world import world_renderer
from gemel.worlds.scenario import WorldConfig, world_names
from gemel.worlds.simulate import EpisodeJob, simulate_episode

MOMENT_S = {"push-t": 5.0, "push-hammer": 4.0, "handover": 8.9, "toss": 0.25, "scan": 3.0}
"""A telling moment of each world's first episode."""
SIZE = (192, 144)


def main(folder: Path) -> None:
    """Write one picture per world, and one with all objects."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in world_names():
        write(folder / f"{name}.png", np.concatenate(views(name, "", MOMENT_S[name]), axis=1))
    objects = [views("scan", name, MOMENT_S["scan"])[2] for name in object_names()]
    blank = np.full_like(objects[0], 255)
    rows = [np.concatenate([*objects, blank][i : i + 4], axis=1) for i in (0, 4)]
    write(folder / "objects.png", np.concatenate(rows, axis=0))


def views(name: str, object_name: str, time_s: float) -> list[np.ndarray]:
    """What every camera of a world sees at a moment."""
    config = WorldConfig(name, seed=3, object=object_name, size=SIZE, sample_count=16)
    is_scan = name == "scan"
    simulated = simulate_episode(EpisodeJob(config, 0 if is_scan else 1, is_scan=is_scan, seconds=time_s + 0.2))
    renderer = world_renderer(config)
    episode = simulated.job.episode
    return [renderer.frame(simulated.history, camera.name, 0, time_s, episode) for camera in renderer.cameras]


def write(path: Path, picture: np.ndarray) -> None:
    """Six bits a channel: half the bytes, and no eye sees it."""
    path.write_bytes(encode_png((picture & 0xFC) | 0x02))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
