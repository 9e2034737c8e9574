"""Contact sheets of a project's masks: `DIR/pictures/segment/OBJECT-EPISODE-CAMERA.png`."""

from pathlib import Path

import numpy as np

from gemel.artifacts.capture import Capture
from gemel.artifacts.episode import Frames
from gemel.artifacts.segmentation import MaskTrack, Segmentation
from gemel.geometry.bitmask import unpack_masks
from gemel.outputs.contact_sheet import contact_sheet, outlined
from gemel.project import Project
from gemel.running import Run
from gemel.services.formats.image_file import encode_png
from gemel.store.store import Store

_FRAMES = 16


def write_segment_pictures(project: Project, *, capture: str, segmentation: str) -> Path:
    """Write one sheet for each object, episode and camera; returns their folder."""
    folder = project.folder / "pictures" / "segment"
    folder.mkdir(parents=True, exist_ok=True)
    store = Store.open(project.store_folder)
    try:
        run = Run(project, store, {"ingest": capture, "segment": segmentation})
        masks = run.get("segment", Segmentation)
        frames = run.frames(run.get("ingest", Capture), "segment", "pictures")
        for track in masks.tracks:
            _write_sheet(
                folder, track, unpack_masks(store.get_bytes(track.masks)), frames, masks.settings["min_confidence"]
            )
    finally:
        store.close()
    return folder


def _write_sheet(folder: Path, track: MaskTrack, masks: np.ndarray, frames: Frames, min_confidence: float) -> None:
    chosen = np.unique(np.linspace(0, len(track.steps) - 1, min(_FRAMES, len(track.steps))).astype(int))
    images = frames.images(track.episode, track.camera, [track.steps[i] for i in chosen])
    cells = [
        outlined(image, masks[i], is_sure=bool(track.confidence[i] >= min_confidence))
        for i, image in zip(chosen, images, strict=True)
    ]
    name = f"{track.object}-{track.episode}-{track.camera}".replace("/", "_")
    (folder / f"{name}.png").write_bytes(encode_png(contact_sheet(cells)))
