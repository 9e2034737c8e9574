"""`gemel bench masks`: overlap of the segment stage's masks with the true ones, per recording, camera and object."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from gemel.benchmarks.recorded import Silent
from gemel.benchmarks.true_masks import TrueMasks
from gemel.errors import ConfigError
from gemel.geometry.bitmask import unpack_masks

Result = tuple[dict[str, float], list[dict[str, object]]]
_VISIBLE_PX = 40
"""Frames in which less of the object is visible are left out: their overlap says nothing."""


def bench_masks(*, quick: bool, seed: int, data: Path | None = None) -> Result:
    """Median and 10th percentile of the overlap (intersection over union) of a recording or a folder of some."""
    rows: list[dict[str, object]] = []
    overlaps: dict[str, list[np.ndarray]] = {}
    flagged = 0
    for recording in _recordings(data):
        found, seconds = measure_masks(recording, every_n_steps=6 if quick else 1, seed=seed)
        for camera in dict.fromkeys(row["camera"] for row in found):
            of = [row for row in found if row["camera"] == camera and row["is_used"]]
            values = np.array([row["iou"] for row in of])
            rows.append({"recording": recording.name, "camera": camera, "frames": len(values), **_summary(values)})
            overlaps.setdefault(found[0]["object"], []).append(values)
        flagged += sum(not row["is_used"] for row in found)
        rows.append({"recording": recording.name, "camera": "", "frames": len(found), "seconds": seconds})
    medians = [float(row["iou_median"]) for row in rows if "iou_median" in row]  # type: ignore[arg-type]
    of_object = {name: np.concatenate(values) for name, values in overlaps.items()}
    rows += [{"recording": f"all of {n}", "camera": "", "frames": len(v), **_summary(v)} for n, v in of_object.items()]
    every = np.concatenate(list(of_object.values()))
    figures = {
        "mask_iou": float(np.median(every)), "mask_iou_p10": float(np.quantile(every, 0.1)),
        "mask_iou_worst_camera": min(medians), "frames": float(len(every)), "frames_flagged": float(flagged),
        **{f"mask_iou_{name}": _summary(values)["iou_median"] for name, values in of_object.items()},
    }  # fmt: skip
    return figures, rows


def _recordings(data: Path | None) -> list[Path]:
    """The recording, or those in the folder; each has its truth beside it."""
    folders = [] if data is None else [data] if (data / "meta").is_dir() else sorted(data.iterdir())
    found = [f for f in folders if (f / "meta" / "info.json").is_file() and f.with_name(f.name + ".truth").is_dir()]
    if not found:
        raise ConfigError(
            f"The benchmark masks found no recording with its truth at {data}.",
            remedy="record some with `gemel world scan --object hammer --record FOLDER/hammer` and give --data FOLDER",
        )
    return found


def measure_masks(recording: Path, *, every_n_steps: int, seed: int) -> tuple[list[dict[str, Any]], float]:
    """One row per frame of a recording that shows the object, and how long the segment stage took [s]."""
    from gemel.pipeline import run_project
    from gemel.project import open_project

    with tempfile.TemporaryDirectory(prefix="gemel-masks-") as scratch:
        folder = Path(scratch)
        (folder / "twin.toml").write_text(
            f'seed = {seed}\n[capture]\nsource = "{recording.resolve()}"\n[segment]\nevery_n_steps = {every_n_steps}\n'
        )
        results = run_project(open_project(folder), Silent(), last="segment")
        return compare(folder, results[-1].address, recording), results[-1].duration_s


def compare(project: Path, address: str, recording: Path, truth_folder: Path | None = None) -> list[dict[str, Any]]:
    """Overlap of every mask of a segmentation with the truth."""
    from gemel.artifacts.segmentation import Segmentation
    from gemel.store.store import Store
    from gemel.worlds.truth import read_truth
    from gemel.worlds.truth import truth_folder as beside

    store = Store.open(project / ".gemel")
    try:
        segmentation = store.get(address, Segmentation)
        sealed = read_truth(truth_folder or beside(recording))
        true = TrueMasks(sealed, recording / "meta" / "robot.xml")
        rows = []
        for track in segmentation.tracks:
            masks = unpack_masks(store.get_bytes(track.masks))
            for mask, step, confidence in zip(masks, track.steps, track.confidence, strict=True):
                truth = true.mask(int(track.episode), track.camera, step)
                if truth.sum() >= _VISIBLE_PX:
                    overlap = float((mask & truth).sum() / (mask | truth).sum())
                    is_used = bool(confidence >= segmentation.settings["min_confidence"])
                    bias = float(mask.sum() / truth.sum() - 1.0)
                    rows.append({"object": sealed.object_name, "episode": track.episode, "camera": track.camera,
                                 "step": step, "iou": overlap, "confidence": float(confidence), "is_used": is_used,
                                 "area_bias": bias})  # fmt: skip
        return rows
    finally:
        store.close()


def _summary(values: np.ndarray) -> dict[str, float]:
    if not len(values):
        return {"iou_median": 0.0, "iou_p10": 0.0}
    return {"iou_median": float(np.median(values)), "iou_p10": float(np.quantile(values, 0.1))}
