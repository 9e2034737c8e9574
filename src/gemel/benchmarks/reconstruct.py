"""`gemel bench reconstruct`: six scanned objects from imprecise cameras and classical masks, against the sealed truth.

Cameras are off by 1-2 degrees and 5-10 mm, joints by half a degree; nothing is told but the log and, where `classical`
needs one, a prompt. Errors of the surface are taken twice: in the robot's frame (the rigid motion that brings the
tool's estimated path onto the true one) and after rigid alignment of the surface itself. Camera errors are taken after
one rigid gauge per capture. PSNR is taken inside the true mask of views that were withheld from the fit.
Each capture runs on its own, on two cores; figures are medians over captures.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gemel.artifacts.finding import Severity
from gemel.benchmarks.recorded import OBJECTS, Scan, Taken, keep_to_two_cores, record_scans, taken_in
from gemel.benchmarks.surface_error import aligned, surface_error
from gemel.benchmarks.true_poses import TruePoses, gauge, pose_error
from gemel.services.engine import LocalEngine
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.stages.reconstruct.stage import ReconstructInfo, reconstruct

Row = dict[str, object]
DATA = Path("out/scans")
"""Where recordings are kept between runs."""
FULL = ReconstructConfig(is_gate_strict=False)
"""The default, except that what the gate finds is counted and does not stop the measurement."""
VARIANTS = {
    "full": FULL,
    "proprio-only": replace(FULL, is_calibrated=False, is_refined=False),
    "sphere start": replace(FULL, start="sphere"),
    "no Laplacian": replace(FULL, is_smooth=False),
    "no normal clamp": replace(FULL, is_flat=False),
}


@dataclass(frozen=True)
class _Job:
    scan: Scan
    folder: str
    variants: tuple[str, ...]
    seed: int
    backend: str = "cpu"


def bench_reconstruct(
    *,
    quick: bool,
    seed: int,
    data: Path = DATA,
    seeds: int = 3,
    workers: int = 1,
    variants: str = "all",
    backend: str = "cpu",
) -> tuple[dict[str, float], list[Row]]:
    """Medians over objects and seeds; `workers` captures side by side (two cores each, or one GPU for all).

    With `variants` "full" nothing is compared: only the default method, on recordings of the default size.
    """
    jobs = [replace(job, backend=backend) for job in _jobs(quick, seed, data, seeds)]
    if variants == "full":
        jobs = [replace(job, variants=("full",)) for job in jobs if quick or job.scan.size == Scan.size]
    record_scans([job.scan for job in jobs], data)
    if workers == 1:
        groups = [_measure(job) for job in jobs]
    else:
        groups = LocalEngine().map(_measure, jobs, workers=workers)
    rows = [row for group in groups for row in group]
    return _figures(rows), rows


def _jobs(quick: bool, seed: int, data: Path, seeds: int) -> list[_Job]:
    """One for each recording; those of the first seed are reconstructed in every variant, and take longest."""
    if quick:
        return [_Job(Scan("cube", 100 + seed, (96, 72)), str(data), ("full",), seed)]
    first = 100 + seed
    every = [Scan(name, first) for name in OBJECTS]
    large = [Scan(name, first, (320, 240)) for name in OBJECTS]
    other = [Scan(name, first + k) for name in OBJECTS for k in range(1, seeds)]
    other += [Scan(name, first, has_sensor=False) for name in OBJECTS]
    other += [Scan(name, first, has_plain_table=True) for name in OBJECTS]
    jobs = [_Job(scan, str(data), tuple(VARIANTS), seed) for scan in every]
    return jobs + [_Job(scan, str(data), ("full",), seed) for scan in (*large, *other)]


def _measure(job: _Job) -> list[Row]:
    keep_to_two_cores()
    with taken_in(Path(job.folder) / job.scan.name, seed=job.seed) as taken:
        return [_measure_variant(job, variant, taken) for variant in job.variants]


def _measure_variant(job: _Job, variant: str, taken: Taken) -> Row:
    scan = job.scan
    row: Row = {
        "object": scan.object, "world": scan.seed, "size": f"{scan.size[0]}x{scan.size[1]}",
        "sensor": scan.has_sensor, "plain_table": scan.has_plain_table, "variant": variant,
    }  # fmt: skip
    try:
        config = replace(VARIANTS[variant], renderer=job.backend)
        return {**row, **measure_taken(taken, config, seed=job.seed)}
    except Exception as error:  # a capture that fails is a result, and must not take the others with it
        return {**row, "failed": f"{type(error).__name__}: {str(error)[:160]}"}


def measure_taken(taken: Taken, config: ReconstructConfig, *, seed: int) -> Row:
    """Reconstruct one recording and compare with the truth."""
    assert taken.masks is not None
    name = taken.masks.objects[0]
    started = time.perf_counter()
    _, info = reconstruct(
        taken.fit, config, objects=(name,), mask_of=taken.masks, frames=taken.frames, robot=taken.robot,
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    seconds = time.perf_counter() - started
    return {
        **_surface(taken, info, name),
        **_cameras(taken, info),
        **_looks(taken, info, name),
        "seconds": seconds,
        "segment_seconds": taken.segment_s,
        "gate_errors": sum(finding.severity is Severity.ERROR for finding in info.findings),
    }


def _surface(taken: Taken, info: ReconstructInfo, name: str) -> Row:
    rng = np.random.default_rng(0)
    T_world_object = taken.truth.episodes[0].Ts_world_object[0]
    true = (T_world_object @ taken.truth.vertices, taken.truth.faces)
    mesh = info.fitted[name].mesh
    T_true_robot = tool_gauge(taken, info)
    in_robot = (T_true_robot @ mesh.vertices, mesh.faces)
    raw, best = surface_error(in_robot, true, rng), surface_error(aligned(in_robot, true, rng)[0], true, rng)
    return {
        "root_chamfer_robot_mm": raw.root_chamfer_mm,
        "root_chamfer_aligned_mm": best.root_chamfer_mm,
        "hausdorff95_mm": best.hausdorff95_mm,
        "volume_error": abs(best.volume_ratio - 1.0),
    }


def tool_gauge(taken: Taken, info: ReconstructInfo) -> Any:
    """The rigid motion from the estimated to the true world by which the robot's last links move alike."""
    located, observations = info.after, info.observations
    assert located.calibration is not None
    estimated = located.calibration.jacobians.poses.Ts_world_link[:, -1]
    names = [observations.cameras[c].name for c in observations.camera]
    poses = TruePoses(taken.truth, taken.robot)
    true = poses.links(poses.middles_s(names, observations.times_s))[:, -1]
    return gauge(estimated, true)


def _cameras(taken: Taken, info: ReconstructInfo) -> Row:
    observations = info.observations
    names = [observations.cameras[c].name for c in observations.camera]
    true = TruePoses(taken.truth, taken.robot).cameras(names, observations.times_s)
    before = pose_error(info.before.Ts_world_camera.as_matrix(), true, observations.camera)
    after = pose_error(info.after.Ts_world_camera.as_matrix(), true, observations.camera)
    return {
        "rotation_deg_before": before.rotation_deg, "rotation_deg_after": after.rotation_deg,
        "translation_mm_before": before.translation_mm, "translation_mm_after": after.translation_mm,
    }  # fmt: skip


def _looks(taken: Taken, info: ReconstructInfo, name: str) -> Row:
    """PSNR inside the true mask of withheld views, drawn whole, and overlap of the used masks with the true ones."""
    from gemel.benchmarks.true_masks import TrueMasks
    from gemel.stages.reconstruct.looks import drawn_in_scene

    masks = TrueMasks(taken.truth, taken.robot_file)
    observations, fitted = info.observations, info.fitted[name]
    assert info.scene is not None

    def true_mask(v: int) -> np.ndarray:
        return masks.mask(0, observations.cameras[observations.camera[v]].name, int(observations.step[v]))

    errors = []
    for v in fitted.views.withheld_rows:
        picture = drawn_in_scene(fitted, info.scene, info.after, observations, int(v))
        inside = true_mask(int(v)) & ~info.after.robots[v]
        errors.append(np.square(picture - observations.images[v])[inside].mean())
    used = observations.masks[name]
    overlaps = [
        (mask & true).sum() / max((mask | true).sum(), 1)
        for v, mask in enumerate(used)
        if mask is not None and (true := true_mask(v)).sum() >= 40
    ]
    psnr = -10.0 * np.log10(np.array(errors))
    return {
        "psnr_withheld_db": float(np.mean(psnr)) if len(psnr) else float("nan"),
        "mask_iou": float(np.median(overlaps)),
    }


def _figures(rows: list[Row]) -> dict[str, float]:
    ok = [row for row in rows if "failed" not in row]

    def median(key: str, **wanted: object) -> float:
        chosen = {"variant": "full", "size": "160x120", "sensor": True, "plain_table": False, **wanted}
        values = [float(str(r[key])) for r in ok if all(r[k] == v for k, v in chosen.items())]
        return float(np.median(values)) if values else float("nan")

    keys = ("root_chamfer_aligned_mm", "root_chamfer_robot_mm", "hausdorff95_mm", "volume_error", "mask_iou")
    figures = {key: median(key) for key in keys}
    figures["psnr_withheld_sensor_db"] = median("psnr_withheld_db")
    figures["psnr_withheld_clean_db"] = median("psnr_withheld_db", sensor=False)
    figures["camera_rotation_gain"] = median("rotation_deg_before") / median("rotation_deg_after")
    figures["camera_translation_gain"] = median("translation_mm_before") / median("translation_mm_after")
    figures["seconds_per_object"] = median("seconds")
    figures["segment_seconds"] = median("segment_seconds")
    for variant in list(VARIANTS)[1:]:
        label = variant.replace(", ", "_").replace(" ", "_").replace("-", "_").lower()
        figures[f"root_chamfer_aligned_mm_{label}"] = median("root_chamfer_aligned_mm", variant=variant)
    figures["root_chamfer_aligned_mm_320x240"] = median("root_chamfer_aligned_mm", size="320x240")
    figures["root_chamfer_aligned_mm_plain_table"] = median("root_chamfer_aligned_mm", plain_table=True)
    figures["failed"] = float(len(rows) - len(ok))
    return {key: value for key, value in figures.items() if not np.isnan(value)}
