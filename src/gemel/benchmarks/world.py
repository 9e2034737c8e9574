"""`gemel bench world`: frames per second of each stand-in on one core, and how much of that time is mitsuba's own.

Each task's operator works for a few seconds without pictures; then frames of every camera are made as recording makes
them, spread over the episode. The clock counts everything that a frame costs: poses, renderings, denoiser, sensor.
`renderer_share` is the smallest share over the tasks of the time inside mitsuba's render calls.
"""

import time

import numpy as np

from gemel.worlds.render import RenderClock
from gemel.worlds.render_world import world_renderer
from gemel.worlds.scenario import World, WorldConfig, world_names
from gemel.worlds.simulate import EpisodeJob, simulate_episode


def bench_world(*, quick: bool, seed: int) -> tuple[dict[str, float], list[dict[str, object]]]:
    """Figures `frames_per_s_per_core` (all tasks together) and `renderer_share` (worst task), one row per task."""
    frame_count = 2 if quick else 24
    rows = [_measure(name, seed, frame_count, is_quick=quick) for name in world_names()]
    seconds = sum(float(str(row["seconds"])) for row in rows)
    frames = sum(int(str(row["frames"])) for row in rows)
    figures = {
        "frames_per_s_per_core": frames / seconds,
        "renderer_share": min(float(str(row["renderer_share"])) for row in rows),
    }
    return figures, rows


def _measure(name: str, seed: int, frame_count: int, *, is_quick: bool) -> dict[str, object]:
    """Time some frames of every camera of one world, on this core."""
    size = (64, 48) if is_quick else (160, 120)
    config = WorldConfig(name=name, seed=seed, size=size)
    started = time.perf_counter()
    simulated = simulate_episode(EpisodeJob(config, 0 if name == "scan" else 1, is_scan=name == "scan", seconds=4.0))
    simulating_s = time.perf_counter() - started
    renderer = world_renderer(config)
    times_s = np.linspace(0.1, float(simulated.history.times_s[-1]), frame_count)
    cameras = [camera.name for camera in World(config).camera_guesses]
    for camera in cameras:  # brings code and scene into the caches
        renderer.frame(simulated.history, camera, 0, float(times_s[0]), simulated.job.episode)
    renderer.clock = RenderClock()
    for step, time_s in enumerate(times_s):
        for camera in cameras:
            renderer.frame(simulated.history, camera, step, float(time_s), simulated.job.episode)
    clock = renderer.clock
    return {
        "task": name,
        "cameras": len(cameras),
        "frames": clock.frame_count,
        "seconds": round(clock.total_s, 3),
        "frames_per_s_per_core": round(clock.frame_count / clock.total_s, 3),
        "renderer_share": round(clock.mitsuba_s / clock.total_s, 4),
        "simulating_s": round(simulating_s, 3),
    }
