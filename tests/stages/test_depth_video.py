"""Depth video of a LeRobot log: from the writer's numbers to metres, through ingest and the seal."""

import json
from pathlib import Path

import av  # noqa: TID253
import numpy as np
import pytest

from gemel.artifacts.capture import DepthCode
from gemel.services.formats.depth_video import LARGEST_CODE, decoded_depth
from gemel.services.formats.lerobot_info import depth_camera_name
from gemel.services.formats.lerobot_spec import LerobotSpec
from gemel.services.formats.lerobot_writer import LerobotWriter
from gemel.services.formats.source import open_source
from gemel.store.store import Store
from stages.test_depth_logs import frames_of

WIDTH, HEIGHT, STEPS = 64, 48, 5


def _codes(step: int) -> np.ndarray:
    """All over the range, with a corner that measured nothing."""
    codes = (np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH) + 37 * step) % (LARGEST_CODE + 1)
    codes[:4, :4] = 0
    return codes.astype(np.uint16)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A dataset whose second video holds depth of the first, without loss."""
    root = tmp_path / "log"
    spec = LerobotSpec(
        fps=10.0, joint_names=("a",), action_names=("a",), robot_type="none",
        camera_sizes={"front": (WIDTH, HEIGHT), "front_depth": (WIDTH, HEIGHT)},
    )  # fmt: skip
    images = np.zeros((STEPS, HEIGHT, WIDTH, 3), np.uint8)
    with LerobotWriter(root, spec) as writer:
        writer.add_episode(
            task="scan", state=np.zeros((STEPS, 1)), action=np.zeros((STEPS, 1)), times_s=np.arange(STEPS) / 10.0,
            images={"front": images, "front_depth": images},
        )  # fmt: skip
    (root / "meta" / "gemel.toml").write_text('[joints.a]\nunit = "rad"\n')
    _write_depth(next((root / "videos" / "observation.images.front_depth").rglob("*.mp4")))
    path = root / "meta" / "info.json"
    info = json.loads(path.read_text())
    feature = info["features"]["observation.images.front_depth"]
    feature["shape"] = [HEIGHT, WIDTH, 1]
    feature["info"] |= {"is_depth_map": True, "video.depth_min": 0.1, "video.depth_max": 2.0, "video.shift": 1.0}
    path.write_text(json.dumps(info))
    return root


def _write_depth(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx265", rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "gray12le"
        stream.options = {"x265-params": "lossless=1:log-level=none"}
        for step in range(STEPS):
            frame = av.VideoFrame(WIDTH, HEIGHT, "gray12le")
            plane = frame.planes[0]
            padded = np.zeros((HEIGHT, plane.line_size // 2), "<u2")
            padded[:, :WIDTH] = _codes(step)
            plane.update(padded.tobytes())
            frame.pts = step
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def test_depth_video_comes_in_metres(log: Path, tmp_path: Path) -> None:
    """Every frame is decoded by its own code, 0 stays unmeasured, and the depth video is no camera of its own."""
    source = open_source(log)
    assert [camera.name for camera in source.layout.cameras] == ["front"]
    assert source.layout.depth_from_camera == {"front": "12-bit video"}
    findings: list[object] = []
    source.check_files(findings.append)
    assert findings == []
    asked: list[str] = []
    _, frames = frames_of(source, Store(tmp_path / "store"), lambda record, what: asked.append(what))
    for step in (0, 3):
        depth = frames.depth("0", "front", step)
        assert depth is not None
        np.testing.assert_allclose(depth, decoded_depth(_codes(step), DepthCode(0.1, 2.0, 1.0)), atol=1e-6)
        assert not depth[:4, :4].any()
    assert asked == ["depth/front"]


def test_codes_span_the_stated_range() -> None:
    """The largest code is the farthest depth, codes rise with depth, and in log the near ones lie closer together."""
    codes = np.array([[1, 1000, 2000, LARGEST_CODE]], dtype=np.uint16)
    for code in (DepthCode(), DepthCode(is_log=False)):
        depth = decoded_depth(codes, code)[0]
        assert depth[-1] == pytest.approx(10.0)
        assert np.all(np.diff(depth) > 0.0)
        assert depth[0] == pytest.approx(0.01, abs=0.005)
    assert decoded_depth(codes, DepthCode())[0, 2] < decoded_depth(codes, DepthCode(is_log=False))[0, 2]


def test_depth_features_are_named_after_their_camera() -> None:
    """`wrist_depth`, `depth.wrist` and `wrist.depth` belong to `wrist`."""
    for name in ("wrist_depth", "depth.wrist", "wrist.depth"):
        assert depth_camera_name(f"observation.images.{name}") == "wrist"
