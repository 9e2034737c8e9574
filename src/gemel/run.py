"""One project being run: its store, its log, and everything that stages are given besides artifacts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from gemel.artifacts.capture import Capture
from gemel.artifacts.episode import Frames
from gemel.artifacts.robot import RobotModel
from gemel.project import Project
from gemel.services.formats.frames import CaptureFrames
from gemel.services.formats.mask_folder import MaskFolder
from gemel.services.formats.robot_model import compile_robot, read_robot_model
from gemel.services.formats.source import Source, open_source, robot_model_path
from gemel.stages.segment.robot_shape import RobotShape
from gemel.store.seal import Grant
from gemel.store.store import Store

T = TypeVar("T")


@dataclass
class Run:
    """One project being run: its store, its log and the artifacts so far."""

    project: Project
    store: Store
    addresses: dict[str, str] = field(default_factory=dict)
    on_hashed: Callable[[float], None] = lambda fraction: None

    @cached_property
    def source(self) -> Source:
        """The log, opened."""
        return open_source(self.project.source)

    @cached_property
    def hash_from_file(self) -> dict[str, str]:
        """SHA-256 of every file of the log; files that were hashed before and did not change are not read."""
        paths = {relative: self.source.root / relative for relative in self.source.files()}
        total = max(sum(path.stat().st_size for path in paths.values()), 1)
        done = 0

        def on_file(path: Any, digest: str) -> None:
            nonlocal done
            done += path.stat().st_size
            self.on_hashed(done / total)

        hashes = self.store.hash_files(list(paths.values()), on_file=on_file)
        return {relative: hashes[path] for relative, path in paths.items()}

    @cached_property
    def robot(self) -> RobotModel | None:
        """The robot's description: the project's, else the one that came with the log."""
        path = robot_model_path(self.source, self.project.robot_model)
        return read_robot_model(path, self.store) if path else None

    @cached_property
    def robot_shape(self) -> RobotShape | None:
        """The robot as it can be drawn."""
        path = robot_model_path(self.source, self.project.robot_model)
        return RobotShape(compile_robot(path)) if path else None

    @cached_property
    def masks(self) -> MaskFolder:
        """Masks that the user keeps beside the log."""
        return MaskFolder(self.project.masks_folder)

    @cached_property
    def corrections(self) -> MaskFolder:
        """Masks that were painted with `gemel prompt`."""
        return MaskFolder(self.project.corrections_folder)

    def segment_files(self) -> dict[str, list[Path]]:
        """What the segment stage takes from outside the log, as far as there are such files here."""
        files = {"corrections": self.corrections.files(), "masks": self.masks.files()}
        model = Path(self.project.segment_model) if self.project.segment_model else None
        if model is not None and model.exists():
            files["model"] = sorted(p for p in model.rglob("*") if p.is_file()) if model.is_dir() else [model]
        return {name: paths for name, paths in files.items() if paths}

    def get(self, stage: str, kind: type[T]) -> T:
        """The artifact of an earlier stage."""
        return self.store.get(self.addresses[stage], kind)

    def frames(self, capture: Capture, stage: str, key: str) -> Frames:
        """The reader for one stage: sealed, logged, checked against the hashes of ingest."""
        grant = Grant(self.store.ledger, stage, key)
        return CaptureFrames(
            capture,
            source_root=self.source.root,
            blobs=self.store,
            grant=grant.read,
            hash_of=lambda path: self.store.hash_files([path])[path],
        )
