"""`gemel bench track`: objects followed through the trials of push-t worlds, against the sealed truth.

The reconstruction is our own, from the scan of the same capture; masks come from the segment stage. Errors are taken
at the track's own times on the robot's clock, after one rigid gauge per capture and one for the object's frame. Means
over the trials' frames. Seconds are processor time of
the whole stage per frame: what the frame takes on an idle machine.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.track import Track
from gemel.benchmarks.recorded import keep_to_two_cores
from gemel.benchmarks.recorded_pushes import Prepared, Pushes, prepared, record_pushes
from gemel.benchmarks.track_error import TrackError, track_error
from gemel.services.engine import LocalEngine
from gemel.stages.track.config import TrackConfig
from gemel.stages.track.stage import track

Row = dict[str, object]
DATA = Path("out/pushes")
_MODES = {"fast": TrackConfig(), "full": TrackConfig(mode="full")}


@dataclass(frozen=True)
class _Job:
    pushes: Pushes
    folder: str
    seed: int


def bench_track(
    *, quick: bool, seed: int, data: Path = DATA, seeds: int = 4, episodes: int = 5, workers: int = 1
) -> tuple[dict[str, float], list[Row]]:
    """`seeds` worlds with `episodes` trials each; recordings in `data` are used again."""
    count, trials = (1, 2) if quick else (seeds, episodes)
    pushes = [Pushes(100 + seed + k, trials, seconds=2.0 if quick else 0.0) for k in range(count)]
    folder = data / "quick" if quick else data
    folder.mkdir(parents=True, exist_ok=True)
    record_pushes(pushes, folder)
    jobs = [_Job(one, str(folder), seed) for one in pushes]
    rows = [_measure(job) for job in jobs] if workers == 1 else LocalEngine().map(_measure, jobs, workers=workers)
    flat = [row for world in rows for row in world]
    return _figures(flat), flat


def _measure(job: _Job) -> list[Row]:
    keep_to_two_cores()
    row: Row = {"world": job.pushes.seed}
    try:
        with prepared(Path(job.folder) / job.pushes.name, seed=job.seed) as capture:
            chosen = _first_trials(capture, job.pushes.episodes)
            modes = {mode: replace(config, episodes=chosen) for mode, config in _MODES.items()}
            return [{**row, "mode": mode, **_measure_mode(capture, config)} for mode, config in modes.items()]
    except Exception as error:  # a capture that fails is a result, and must not take the others with it
        return [{**row, "failed": f"{type(error).__name__}: {str(error)[:160]}"}]


def _first_trials(capture: Prepared, count: int) -> tuple[str, ...]:
    """A recording may hold more trials than are asked for."""
    records = (*capture.fit.calibration, *capture.fit.validation)
    trials = sorted((r.id for r in records if r.kind is EpisodeKind.TASK), key=int)
    return tuple(trials[:count])


def _measure_mode(capture: Prepared, config: TrackConfig) -> Row:
    started, started_cpu = time.perf_counter(), time.process_time()
    tracks, info = track(
        capture.fit, capture.reconstruction, config, mask_of=capture.masks, frames=capture.frames, robot=capture.robot
    )
    wall_s, cpu_s = time.perf_counter() - started, time.process_time() - started_cpu
    records = (*capture.fit.calibration, *capture.fit.validation)
    wanted = sum(record.step_count for record in records if record.id in config.episodes)
    trials = list(tracks.tracks)
    error = track_error(trials, [capture.truth.episodes[int(one.episode)] for one in trials])
    frames = sum(len(one.times_s) for one in trials)
    return {
        **_errors(error),
        "lost_frames": wanted - sum(int((~one.is_lost).sum()) for one in trials),
        "episodes": len(trials),
        "frames": wanted,
        "seconds_per_frame": cpu_s / frames,
        "wall_seconds_per_frame": wall_s / frames,
        "growth": max(info.growth.values()),
        "moving_mm": _moving(error, trials),
    }


def _errors(error: TrackError) -> Row:
    return {
        "position_mm": float(error.position_mm.mean()),
        "rotation_deg": float(error.rotation_deg.mean()),
        "median_mm": float(np.median(error.position_mm)),
        "largest_mm": float(error.position_mm.max()),
        "coverage90": float(error.is_covered.mean()),
        "half_width_mm": float(np.median(error.half_width_mm)),
    }


def _moving(error: TrackError, trials: list[Track]) -> float:
    """Mean position error of frames in which the object moves faster than 1 cm/s."""
    speeds = [
        np.linalg.norm(np.gradient(one.Ts_world_object.translation, one.times_s, axis=0), axis=1) for one in trials
    ]
    is_moving = np.concatenate(speeds) > 0.01
    return float(error.position_mm[is_moving].mean()) if is_moving.any() else 0.0


def _figures(rows: list[Row]) -> dict[str, float]:
    ok = [row for row in rows if "failed" not in row]

    def mean(key: str, mode: str) -> float:
        chosen = [row for row in ok if row["mode"] == mode]
        weights = [float(str(row["frames"])) for row in chosen]
        return float(np.average([float(str(row[key])) for row in chosen], weights=weights)) if chosen else float("nan")

    figures = {f"{key}_{mode}": mean(key, mode) for mode in _MODES for key in ("position_mm", "rotation_deg")}
    figures |= {key: mean(key, "fast") for key in ("seconds_per_frame", "coverage90", "median_mm", "half_width_mm")}
    fast = [row for row in ok if row["mode"] == "fast"]
    figures |= {key: sum(float(str(row[key])) for row in fast) for key in ("lost_frames", "episodes")}
    figures["seconds_per_frame_full"] = mean("seconds_per_frame", "full")
    figures["coverage90_full"] = mean("coverage90", "full")
    figures["failed"] = float(len(rows) - len(ok))
    return {key: value for key, value in figures.items() if not np.isnan(value)}
