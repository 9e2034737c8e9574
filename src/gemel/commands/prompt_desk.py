"""The prompt page's desk on a project: its frames through the seal, its twin.toml and its corrections."""

from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from gemel.artifacts.capture import Capture, EpisodeRecord
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.errors import ConfigError, choices_text
from gemel.geometry.bitmask import unpack_masks
from gemel.outputs.prompt.desk import Clicks, FrameKey
from gemel.pipeline import project_status
from gemel.project import SETTINGS, open_project
from gemel.running import Run
from gemel.services.formats.mask_folder import write_mask
from gemel.services.formats.toml_edit import rewrite, with_table
from gemel.services.formats.toml_table import toml_key, toml_value
from gemel.stages.segment.config import BoxPrompt, ObjectPrompt, PointPrompt
from gemel.stages.segment.prompt_region import grab
from gemel.store.store import Store


class ProjectDesk:
    """Implements `Desk` for one project whose split exists. Holdout episodes are neither listed nor readable."""

    def __init__(self, folder: Path) -> None:
        self._project = open_project(folder)
        addresses = {s.name: s.address for s in project_status(self._project) if s.address}
        self._store = Store.open(self._project.store_folder)
        self._run = Run(self._project, self._store, addresses)
        capture = self._run.get("ingest", Capture)
        fit = FitData.of(capture, self._run.get("split", Split))
        self._records: dict[str, EpisodeRecord] = {r.id: r for r in (*fit.calibration, *fit.validation)}
        self._frames = self._run.frames(capture, "prompt", "prompt")

    def __enter__(self) -> "ProjectDesk":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def contents(self) -> dict[str, Any]:
        """See `Desk`."""
        names = [record.object for record in self._records.values() if record.object]
        objects = open_project(self._project.folder).settings.objects
        return {
            "name": names[0] if names else "object",
            "episodes": [
                {"id": r.id, "steps": r.step_count, "cameras": [s.camera for s in r.streams]}
                for r in self._records.values() if r.streams
            ],
            "objects": {name: _as_json(prompt) for name, prompt in objects.items()},
        }  # fmt: skip

    def image(self, key: FrameKey) -> UInt8[np.ndarray, "h w 3"]:
        """See `Desk`."""
        self._check(key)
        return self._frames.image(*key)

    def mask(self, name: str, key: FrameKey) -> Bool[np.ndarray, "h w"] | None:
        """See `Desk`."""
        self._check(key)
        painted = self._run.corrections.mask(name, key)
        if painted is not None:
            return painted > 127
        if "segment" not in self._run.addresses:
            return None
        for track in self._run.get("segment", Segmentation).tracks:
            if (track.object, track.episode, track.camera) == (name, *key[:2]) and key[2] in track.steps:
                return unpack_masks(self._store.get_bytes(track.masks))[track.steps.index(key[2])]
        return None

    def preview(self, key: FrameKey, clicks: Clicks) -> Bool[np.ndarray, "h w"]:
        """See `Desk`."""
        on = [(x, y) for x, y, is_object in clicks.points if is_object]
        off = [(x, y) for x, y, is_object in clicks.points if not is_object]
        if not on and clicks.box is None:
            raise ConfigError("Nothing to select.", remedy="click on the object or draw a box around it")
        return grab(self.image(key), on, off, clicks.box, None)

    def save_prompt(self, name: str, text: str, clicks: dict[FrameKey, Clicks]) -> None:
        """See `Desk`."""
        for key in clicks:
            self._check(key)
        path = self._project.folder / SETTINGS
        new = with_table(
            path.read_text(encoding="utf-8"), f"objects.{toml_key(name)}", _lines(text, clicks),
            replaced=("prompt", "points", "boxes"),
        )  # fmt: skip
        before = path.read_text(encoding="utf-8")
        rewrite(path, new)
        try:
            open_project(self._project.folder)
        except Exception:
            rewrite(path, before)
            raise

    def save_mask(self, name: str, key: FrameKey, mask: Bool[np.ndarray, "h w"]) -> None:
        """See `Desk`."""
        if mask.shape != self.image(key).shape[:2]:
            raise ConfigError(
                f"The painted mask has {mask.shape[1]} x {mask.shape[0]} pixels.", remedy="paint on the frame itself"
            )
        write_mask(self._project.corrections_folder, name, key, mask)

    def _check(self, key: FrameKey) -> None:
        if key[0] not in self._records:
            raise ConfigError(f"Episode {choices_text(key[0], list(self._records))}", remedy="choose a listed episode")
        cameras = [stream.camera for stream in self._records[key[0]].streams]
        if key[1] not in cameras:
            raise ConfigError(f"Camera {choices_text(key[1], cameras)}", remedy="choose a listed camera")


def _as_json(prompt: ObjectPrompt) -> dict[str, Any]:
    frames: dict[FrameKey, dict[str, Any]] = {}
    for frame in dict.fromkeys([*(p.frame for p in prompt.points), *(b.frame for b in prompt.boxes)]):
        points = [[*p.xy, p.is_object] for p in prompt.points if p.frame == frame]
        box = next((list(b.box) for b in prompt.boxes if b.frame == frame), None)
        frames[frame] = {"episode": frame[0], "camera": frame[1], "step": frame[2], "points": points, "box": box}
    return {"prompt": prompt.prompt, "frames": list(frames.values())}


def _lines(text: str, clicks: dict[FrameKey, Clicks]) -> list[str]:
    points = [PointPrompt(c, e, s, (x, y), on) for (e, c, s), k in clicks.items() for x, y, on in k.points]
    boxes = [BoxPrompt(c, e, s, k.box) for (e, c, s), k in clicks.items() if k.box]
    rows = {"points": [asdict(p) for p in points], "boxes": [asdict(b) for b in boxes]}
    lines = [f"prompt = {toml_value(text)}"]
    for name, tables in rows.items():
        if tables:
            lines += [f"{name} = [", *(f"    {_inline(table)}," for table in tables), "]"]
    return lines


def _inline(table: dict[str, Any]) -> str:
    rounded = {k: [round(v, 1) for v in value] if isinstance(value, tuple) else value for k, value in table.items()}
    return "{ " + ", ".join(f"{toml_key(k)} = {toml_value(v)}" for k, v in rounded.items()) + " }"
