"""Logged depth on its way from a log to a stage: in metres, sealed like images, and named by `gemel inspect`."""

import json
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import Capture
from gemel.errors import LeakageError, SourceError
from gemel.geometry import SE3
from gemel.services.formats.frames import CaptureFrames
from gemel.services.formats.image_file import encode_depth_png, encode_png, read_depth
from gemel.services.formats.source import Source, open_source
from gemel.stages.ingest.config import IngestConfig
from gemel.stages.ingest.inspect import InspectConfig, inspect
from gemel.stages.ingest.stage import ingest
from gemel.store.store import Store

SIZE = (6, 8)


def _depth_m(step: int) -> np.ndarray:
    """Whole millimetres, 0 in one corner."""
    depth = 0.4 + 0.001 * step + 0.001 * np.arange(48, dtype=np.float32).reshape(SIZE)
    depth[0, 0] = 0.0
    return depth.astype(np.float32)


def _nerfstudio(root: Path) -> Path:
    """Three views, the second without depth."""
    rng, frames = np.random.default_rng(0), []
    for step in range(3):
        (root / f"{step}.png").write_bytes(encode_png(np.full((*SIZE, 3), 40 * (step + 1), np.uint8)))
        frames.append({"file_path": f"{step}.png", "transform_matrix": SE3.random(rng).as_matrix().tolist()})
        if step != 1:
            (root / f"depth{step}.png").write_bytes(encode_depth_png(_depth_m(step)))
            frames[-1]["depth_file_path"] = f"depth{step}.png"
    tree = {"w": 8, "h": 6, "fl_x": 10.0, "fl_y": 10.0, "cx": 4.0, "cy": 3.0, "frames": frames}
    (root / "transforms.json").write_text(json.dumps(tree))
    return root


def _folder(root: Path) -> Path:
    """The same as a plain folder with a clock."""
    episode = root / "episodes" / "look"
    episode.mkdir(parents=True)
    rows = ["time_s,image.front,depth.front"]
    for step in range(3):
        (episode / f"{step}.png").write_bytes(encode_png(np.full((*SIZE, 3), 40 * (step + 1), np.uint8)))
        (episode / f"depth{step}.png").write_bytes(encode_depth_png(_depth_m(step)))
        rows.append(f"{0.1 * step:.1f},{step}.png,{'' if step == 1 else f'depth{step}.png'}")
    (episode / "steps.csv").write_text("\n".join(rows) + "\n")
    (root / "capture.toml").write_text("[capture]\n[cameras.front]\nwidth = 8\nheight = 6\n")
    return root


@pytest.fixture(params=[_nerfstudio, _folder])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    root = tmp_path / "log"
    root.mkdir()
    return open_source(request.param(root))


def frames_of(source: Source, store: Store, grant: object) -> tuple[Capture, CaptureFrames]:
    hashes = store.hash_files([source.root / name for name in source.files()])
    capture, _ = ingest(
        source, IngestConfig(), robot=None, source_hash="00", blobs=store,
        hash_from_file={path.relative_to(source.root).as_posix(): digest for path, digest in hashes.items()},
    )  # fmt: skip
    return capture, CaptureFrames(
        capture, source_root=source.root, blobs=store, grant=grant,
        hash_of=lambda path: store.hash_files([path])[path],
    )  # fmt: skip


def test_depth_comes_in_metres_where_it_was_logged(source: Source, tmp_path: Path) -> None:
    """What was written comes back to the millimetre, 0 stays 0, and a step without depth has none."""
    capture, frames = frames_of(source, Store(tmp_path / "store"), lambda record, what: None)
    episode, camera = capture.episodes[0].id, capture.cameras[0].name
    for step in (0, 2):
        depth = frames.depth(episode, camera, step)
        assert depth is not None
        np.testing.assert_allclose(depth, _depth_m(step), atol=5e-4)
        assert depth[0, 0] == 0.0
    assert frames.depth(episode, camera, 1) is None


def test_depth_is_sealed_and_checked_like_images(source: Source, tmp_path: Path) -> None:
    """Reading asks the seal first, and a file that changed since it was ingested is refused."""
    asked: list[str] = []
    capture, frames = frames_of(source, Store(tmp_path / "store"), lambda record, what: asked.append(what))
    episode, camera = capture.episodes[0].id, capture.cameras[0].name
    frames.depth(episode, camera, 0)
    assert asked == [f"depth/{camera}"]
    next(source.root.rglob("depth2.png")).write_bytes(encode_depth_png(_depth_m(7)))
    with pytest.raises(SourceError, match="changed since it was ingested"):
        frames.depth(episode, camera, 2)

    def refuse(record: object, what: str) -> None:
        raise LeakageError("no", remedy="no")

    with pytest.raises(LeakageError):
        frames_of(source, Store(tmp_path / "other"), refuse)[1].depth(episode, camera, 0)


def test_inspect_names_depth(source: Source) -> None:
    """The list of streams says which camera logs depth, and how."""
    streams = inspect(source, InspectConfig(), robot_joints=None).streams
    assert [(s.name, s.kind, s.detail) for s in streams if s.kind == "depth"] == [
        (source.layout.cameras[0].name, "depth", "16-bit PNG, mm")
    ]


def test_depth_that_is_no_16_bit_png_is_refused(tmp_path: Path) -> None:
    """A picture in the place of depth is an error that names the file."""
    path = tmp_path / "depth.png"
    path.write_bytes(encode_png(np.zeros((*SIZE, 3), np.uint8)))
    with pytest.raises(SourceError, match=r"depth\.png cannot be decoded: depth has to be 16-bit grey"):
        read_depth(path)
