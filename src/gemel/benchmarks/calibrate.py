"""`gemel bench calibrate`: cameras and robot from one scan of each of many worlds, against the sealed truth.

The tool-centre-point error is taken over the scan's joint readings after the rigid gauge that brings the estimated
cameras onto the true ones: it is how far the tool is from where the twin would draw it in the cameras' pictures. Joint
offsets are compared as they are. Intervals are 90 %; their score (Gneiting and Raftery 2007) is compared with that of a
constant width, the 95 % quantile of the errors themselves on the first half of the worlds, scored on the second.
Masks come from the segment stage.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.benchmarks.recorded import OBJECTS, Scan, keep_to_two_cores, record_scans, taken_in
from gemel.benchmarks.true_poses import TruePoses, gauge, pose_error
from gemel.geometry import SE3
from gemel.services.engine import LocalEngine
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.stages.reconstruct.found import joint_columns
from gemel.stages.reconstruct.located import Located, locate_by_robot
from gemel.stages.reconstruct.observations import Observations, observe

Row = dict[str, object]
DATA = Path("out/scans")
_Z90 = 1.6448536269514722
_TOOL_M = np.array([0.0, 0.0, 0.15, 1.0])
"""Tip of the pusher in the last link."""


@dataclass(frozen=True)
class _Job:
    scan: Scan
    folder: str
    seed: int


def bench_calibrate(
    *, quick: bool, seed: int, data: Path = DATA, seeds: int = 40, workers: int = 1
) -> tuple[dict[str, float], list[Row]]:
    """Medians over worlds; `seeds` worlds, the six objects in turn."""
    count = 1 if quick else seeds
    size = (96, 72) if quick else (160, 120)
    scans = [Scan(OBJECTS[k % len(OBJECTS)], 100 + seed + k // len(OBJECTS), size) for k in range(count)]
    record_scans(scans, data)
    jobs = [_Job(scan, str(data), seed) for scan in scans]
    rows = [_measure(job) for job in jobs] if workers == 1 else LocalEngine().map(_measure, jobs, workers=workers)
    return _figures(rows), rows


def _measure(job: _Job) -> Row:
    keep_to_two_cores()
    with taken_in(Path(job.folder) / job.scan.name, seed=job.seed) as taken:
        assert taken.masks is not None
        config = ReconstructConfig().calibration
        observations = observe(
            taken.fit, taken.frames, objects=taken.masks.objects, mask_of=taken.masks,
            moving_views=config.moving_views, fixed_views=config.fixed_views,
        )  # fmt: skip
        before, after = (
            locate_by_robot(
                observations, taken.fit.joints, taken.robot, config, is_calibrated=on, on_progress=lambda f: None
            )
            for on in (False, True)
        )
        true = TruePoses(taken.truth, taken.robot)
        names = [observations.cameras[c].name for c in observations.camera]
        cameras = true.cameras(names, observations.times_s)
        errors = [pose_error(at.Ts_world_camera.as_matrix(), cameras, observations.camera) for at in (before, after)]
        offsets, sigmas, _ = joint_columns(taken.fit.joints, after)
        truth = -taken.truth.joint_offsets
        base = _base(after, taken.truth.T_world_bases)
        return {
            "object": job.scan.object, "world": job.scan.seed,
            "tcp_mm_before": _tool_error_mm(before, observations, true, cameras),
            "tcp_mm_after": _tool_error_mm(after, observations, true, cameras),
            "rotation_deg_before": errors[0].rotation_deg, "rotation_deg_after": errors[1].rotation_deg,
            "translation_mm_before": errors[0].translation_mm, "translation_mm_after": errors[1].translation_mm,
            "offset_error_mrad": [round(float(e), 3) for e in 1e3 * (offsets - truth)],
            "offset_true_mrad": [round(float(t), 3) for t in 1e3 * truth],
            "offset_sigma_mrad": [round(float(s), 3) for s in 1e3 * sigmas],
            "base_error": [round(float(e), 3) for e in base[0]], "base_sigma": [round(float(s), 3) for s in base[1]],
        }  # fmt: skip


def _tool_error_mm(at: Located, observations: Observations, true: TruePoses, cameras: np.ndarray) -> float:
    """Mean distance of the tool's tip from its true place, in the frame of the cameras."""
    assert at.calibration is not None
    estimated = at.calibration.jacobians.poses.Ts_world_link[:, -1] @ _TOOL_M
    names = [observations.cameras[c].name for c in observations.camera]
    tips = true.links(true.middles_s(names, observations.times_s))[:, -1] @ _TOOL_M
    T = gauge(at.Ts_world_camera.as_matrix(), cameras)
    return float(1e3 * np.linalg.norm(T @ estimated[:, :3] - tips[:, :3], axis=1).mean())


def _base(at: Located, bases: dict[str, SE3]) -> tuple[np.ndarray, np.ndarray]:
    """Error and sigma of the first base: x, y [mm] and yaw [mrad]."""
    assert at.problem is not None
    assert at.calibration is not None
    unknowns = at.problem.rig.unknowns
    sigma = np.sqrt(np.diag(at.calibration.covariance))[unknowns.base(0)]
    estimated = at.problem.rig.base_poses(at.calibration.theta)[0]
    pose = next(iter(bases.values())).as_matrix()
    turn = estimated[:3, :3] @ pose[:3, :3].T
    yaw = np.arctan2(turn[1, 0], turn[0, 0])
    error = np.array([*(estimated[:2, 3] - pose[:2, 3]), yaw])
    return 1e3 * error, 1e3 * sigma[[0, 1, 5]]


def _figures(rows: list[Row]) -> dict[str, float]:
    error = np.array([[*_list(row["offset_error_mrad"]), *_list(row["base_error"])] for row in rows])
    sigma = np.array([[*_list(row["offset_sigma_mrad"]), *_list(row["base_sigma"])] for row in rows])
    joints = error.shape[1] - 3
    figures = {key: float(np.median([float(str(row[key])) for row in rows])) for key in (
        "tcp_mm_before", "tcp_mm_after", "rotation_deg_before", "rotation_deg_after", "translation_mm_before",
        "translation_mm_after",
    )}  # fmt: skip
    figures["joint_offset_mrad_before"] = float(np.median(np.abs([_list(row["offset_true_mrad"]) for row in rows])))
    figures["joint_offset_mrad_after"] = float(np.median(np.abs(error[:, :joints])))
    figures["coverage90"] = float(np.mean(np.abs(error) <= _Z90 * sigma))
    figures["coverage90_joints"] = float(np.mean(np.abs(error[:, :joints]) <= _Z90 * sigma[:, :joints]))
    figures["coverage90_base"] = float(np.mean(np.abs(error[:, joints:]) <= _Z90 * sigma[:, joints:]))
    figures["worlds"] = float(len(rows))
    if len(rows) >= 4:
        half = len(rows) // 2
        width = np.quantile(np.abs(error[:half]), 0.9, axis=0)
        own = _interval_score(error[half:], _Z90 * sigma[half:])
        constant = _interval_score(error[half:], np.broadcast_to(width, error[half:].shape))
        figures["interval_score_ratio"] = float(np.mean(own / constant))
    return figures


def _interval_score(error: np.ndarray, half_width: np.ndarray) -> np.ndarray:
    """Mean 90 % interval score of each column: width plus 20 times what lies outside."""
    outside = np.maximum(np.abs(error) - half_width, 0.0)
    return np.asarray((2.0 * half_width + 20.0 * outside).mean(axis=0))


def _list(value: object) -> list[float]:
    assert isinstance(value, list)
    return [float(x) for x in value]
