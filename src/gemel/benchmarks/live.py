"""`gemel bench live`: a live twin follows trials of push-t worlds as they happen, against the sealed truth.

The twin is made from the scan of the same capture with the prior's physics; the trials' joint readings and frames are
handed to it one by one. Errors are of the pose that it tells for *now* (images are older than that), after one rigid
gauge per capture and one for the object's frame; beside it, a static twin leaves the object where it lay at the start.
`lag_ms` is how long an update takes, `pose_lag_ms` by how much the told pose trails the true one: the shift in time
under which they agree best, over the frames in which the object moves.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.capture import Capture, EpisodeKind
from gemel.artifacts.split import FitData, Split
from gemel.artifacts.twin import Twin
from gemel.benchmarks.recorded import keep_to_two_cores, ran
from gemel.benchmarks.recorded_pushes import Pushes, project_of, record_pushes
from gemel.benchmarks.track_error import gauges, pose_errors, true_poses
from gemel.runtime.follow_log import Followed, follow_log
from gemel.runtime.live_twin import LiveTwin
from gemel.services.engine import LocalEngine
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.stats import weighted_quantiles
from gemel.worlds.truth import EpisodeTruth, Truth, read_truth, truth_folder

Row = dict[str, object]
DATA = Path("out/pushes")
_SHIFTS_S = np.linspace(-0.2, 0.2, 81)
_MOVING_M_PER_S = 0.005


@dataclass(frozen=True)
class _Job:
    pushes: Pushes
    folder: str
    seed: int


def bench_live(
    *, quick: bool, seed: int, data: Path = DATA, seeds: int = 4, episodes: int = 5, workers: int = 1
) -> tuple[dict[str, float], list[Row]]:
    """`seeds` worlds with `episodes` trials each; recordings in `data` are used again."""
    worlds = [Pushes(100 + seed + k, episodes) for k in range(seeds)]
    if quick:
        worlds = [Pushes(100 + seed, 1, (96, 72), 4.0)]
    record_pushes(worlds, data)
    jobs = [_Job(world, str(data), seed) for world in worlds]
    groups = [_measure(job) for job in jobs] if workers == 1 else LocalEngine().map(_measure, jobs, workers=workers)
    rows = [row for group in groups for row in group]
    return _figures(rows), rows


def _measure(job: _Job) -> list[Row]:
    keep_to_two_cores()
    recording = Path(job.folder) / job.pushes.name
    truth = read_truth(truth_folder(recording))
    followed = _follow_all(recording, job.seed)
    given = np.concatenate([_told(one, truth) for one in followed])
    true = np.concatenate([true_poses(truth.episodes[int(one.episode)], one.times_s) for one in followed])
    left, right = (pose.as_matrix() for pose in gauges(given, true))
    return [{"world": job.pushes.seed, **_row(one, left, right, truth)} for one in followed]


def _told(one: Followed, truth: Truth) -> Float[np.ndarray, "t 4 4"]:
    return one.track(truth.object_name).Ts_world_object.as_matrix()


def _follow_all(recording: Path, seed: int) -> list[Followed]:
    """Every trial of a capture, each with a live twin of its own."""
    with ran(project_of(recording, seed=seed), "draft") as (run, _):
        capture, twin = run.get("ingest", Capture), run.get("draft", Twin)
        fit = FitData.of(capture, run.get("split", Split))
        frames = run.frames(capture, "track", "0" * 64)
        assert capture.robot is not None
        robot = compile_stored_robot(capture.robot, run.store)
        trials = [record for record in (*fit.calibration, *fit.validation) if record.kind is EpisodeKind.TASK]
        return [
            follow_log(
                LiveTwin(twin, capture.joints, robot=robot, blobs=run.store, rng=np.random.default_rng(seed)),
                record.id, frames,
            )
            for record in trials
        ]  # fmt: skip


def _row(one: Followed, left: np.ndarray, right: np.ndarray, truth: Truth) -> Row:
    episode = truth.episodes[int(one.episode)]
    told, true = left @ _told(one, truth) @ right, true_poses(episode, one.times_s)
    still = np.repeat(told[:1], len(told), axis=0)
    error, static = pose_errors(told, true), pose_errors(still, true)
    row: Row = {
        "frames": len(told),
        "position_mm": 1e3 * float(np.linalg.norm(error[:, :3], axis=1).mean()),
        "rotation_deg": float(np.degrees(np.linalg.norm(error[:, 3:], axis=1)).mean()),
        "static_position_mm": 1e3 * float(np.linalg.norm(static[:, :3], axis=1).mean()),
        "static_rotation_deg": float(np.degrees(np.linalg.norm(static[:, 3:], axis=1)).mean()),
        "lag_ms": 1e3 * float(np.median([state.seconds for state in one.states[1:]])),
        "pose_lag_ms": 1e3 * _pose_lag_s(told, one.times_s, episode),
        "lost_frames": sum(bool(state.lost) for state in one.states),
    }
    return {**row, **_learnt(one, right, truth)}


def _pose_lag_s(told: Float[np.ndarray, "t 4 4"], times_s: Float[np.ndarray, " t"], truth: EpisodeTruth) -> float:
    """By how much the told positions trail the true ones."""
    speed = np.linalg.norm(np.gradient(true_poses(truth, times_s)[:, :3, 3], times_s, axis=0), axis=1)
    moving = speed > _MOVING_M_PER_S
    if moving.sum() < 5:
        return float("nan")
    gaps = [
        np.linalg.norm(told[moving, :3, 3] - true_poses(truth, times_s[moving] - shift)[:, :3, 3], axis=1).mean()
        for shift in _SHIFTS_S
    ]
    return float(_SHIFTS_S[int(np.argmin(gaps))])


def _learnt(one: Followed, right: np.ndarray, truth: Truth) -> Row:
    """Width of the 90 % intervals of the centre of mass along the table before and after, how far off its median is,
    and the part of these intervals that hold the truth; along the true axes of the object."""
    ends = [_com_quantiles(state.belief, right, truth.object_name) for state in (one.states[0], one.states[-1])]
    low, middle, high = ends[1]
    return {
        "com_interval_mm_before": 1e3 * float((ends[0][2] - ends[0][0]).mean()),
        "com_interval_mm_after": 1e3 * float((high - low).mean()),
        "com_error_mm_before": 1e3 * float(np.linalg.norm(ends[0][1] - truth.com[:2])),
        "com_error_mm_after": 1e3 * float(np.linalg.norm(middle - truth.com[:2])),
        "com_coverage90_after": float(np.mean((low <= truth.com[:2]) & (truth.com[:2] <= high))),
    }


def _com_quantiles(belief: Belief, right: np.ndarray, name: str) -> Float[np.ndarray, "3 2"]:
    """5, 50 and 95 % of the centre of mass along x and y of the object's true frame; `right` is that frame's pose in
    the frame of the reconstruction, which the belief speaks of."""
    columns = [belief.names.index(f"object/{name}/com_{axis}") for axis in "xyz"]
    p_true = (belief.samples[:, columns] - right[:3, 3]) @ right[:3, :3]
    levels = np.array([0.05, 0.5, 0.95])
    return np.stack([weighted_quantiles(p_true[:, i], belief.weights, levels) for i in range(2)], axis=1)


def _figures(rows: list[Row]) -> dict[str, float]:
    keys = ("position_mm", "rotation_deg", "static_position_mm", "static_rotation_deg", "lag_ms", "pose_lag_ms",
            "com_interval_mm_before", "com_interval_mm_after", "com_error_mm_before", "com_error_mm_after",
            "com_coverage90_after")  # fmt: skip
    figures = {key: float(np.nanmean([float(str(row[key])) for row in rows])) for key in keys}
    figures["lost_frames"] = float(sum(int(str(row["lost_frames"])) for row in rows))
    figures["episodes"] = float(len(rows))
    return figures
