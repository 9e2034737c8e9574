"""nerfstudio sets: poses and intrinsics reproject as the source's own matrices do; odd fields are refused."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.finding import Finding
from gemel.errors import GemelError, SourceError
from gemel.geometry import SE3, Fisheye, OpenCV, Pinhole
from gemel.services.formats.image_file import encode_png, read_image
from gemel.services.formats.raw_images import raw_images
from gemel.services.formats.source import RawEpisode, RawImages, open_source

FLIP = np.diag([1.0, -1.0, -1.0, 1.0])


def _episode(root: Path) -> RawEpisode:
    findings: list[Finding] = []
    source = open_source(root)
    source.check_files(findings.append)
    (episode,) = source.episodes(findings.append)
    assert findings == []
    return episode


def _problems(root: Path) -> str:
    """All that opening and reading has to say, whichever way it says it."""
    findings: list[Finding] = []
    try:
        source = open_source(root)
        source.check_files(findings.append)
        list(source.episodes(findings.append))
    except GemelError as error:
        return str(error)
    return "\n".join(f"{f.place}: {f.message} {f.remedy}" for f in findings)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """Three 8x6 views, the second without a mask."""
    rng = np.random.default_rng(0)
    frames = []
    for i in range(3):
        for name in ("rgb", "mask"):
            (tmp_path / name).mkdir(exist_ok=True)
            image = np.full((6, 8, 3), 40 * (i + 1), dtype=np.uint8)
            (tmp_path / name / f"{i}.png").write_bytes(encode_png(image))
        pose = SE3.random(rng).as_matrix()
        frames.append({"file_path": f"./rgb/{i}.png", "transform_matrix": pose.tolist()})
        if i != 1:
            frames[-1]["mask_path"] = f"mask/{i}.png"
    tree = {"w": 8, "h": 6, "fl_x": 10, "fl_y": 11.0, "cx": 4.0, "cy": 3.0, "frames": frames}
    return tmp_path, tree


def _write(root: Path, tree: Any) -> Path:
    (root / "transforms.json").write_text(json.dumps(tree))
    return root


def test_dtu_reprojects_like_its_own_matrices(shared_data: Path) -> None:
    """Pose and pinhole of each view project points to the pixels that DTU's P (world mm → pixels) gives.

    transforms.json and cameras.npz share one pixel convention: the mean difference is below 1e-5 px, so there is
    no half-pixel shift between them. Measured: at most 8e-5 px over 49 views.
    """
    root = shared_data / "dtu_scan24"
    episode, rng = _episode(root), np.random.default_rng(0)
    centre_m = np.array(json.loads((root / "transforms.json").read_text())["object_centre_m"])
    differences = []
    for i, P in enumerate(np.load(root / "cameras.npz")["P"]):
        p_world = centre_m + rng.uniform(-0.2, 0.2, (50, 3))
        fx, fy, cx, cy = episode.camera_intrinsics["camera"][i]
        T_world_camera = episode.camera_poses["camera"][i]
        ours = Pinhole(400, 300, fx, fy, cx, cy).project(T_world_camera.inverse() @ p_world)
        homogeneous = np.c_[1000.0 * p_world, np.ones(50)] @ P.T
        differences.append(ours - homogeneous[:, :2] / homogeneous[:, 2:])
    assert len(differences) == 49
    assert np.abs(differences).max() < 1e-3
    assert np.abs(np.mean(differences, axis=(0, 1))).max() < 1e-5


def test_dtu_images_and_masks(shared_data: Path) -> None:
    """49 views of one scan, each with a mask of its own that covers a part of the picture."""
    root = shared_data / "dtu_scan24"
    episode = _episode(root)
    (stream,) = episode.streams
    assert isinstance(stream, RawImages)
    assert episode.kind is EpisodeKind.SCAN
    assert len(stream.paths) == len(stream.mask_paths) == 49
    _, image = next(raw_images(root, stream, episode.times_s, [48]))
    assert image.shape == (300, 400, 3)
    mask = read_image(root / stream.mask_paths[48], grey=True)
    assert 0.05 < (mask > 0).mean() < 0.95
    files = open_source(root).files()
    assert len(files) == 1 + 49 + 49


def test_axes_are_turned_to_x_right_y_down_z_forward(made: tuple[Path, dict[str, Any]]) -> None:
    """T_world_camera of the file looks along -z with y up; Gemel's is the same pose with both axes turned."""
    root, tree = made
    poses = _episode(_write(root, tree)).camera_poses["camera"]
    stored = np.array([frame["transform_matrix"] for frame in tree["frames"]])
    assert np.allclose(poses.as_matrix(), stored @ FLIP, atol=1e-12)
    assert np.allclose(poses.translation, stored[:, :3, 3])


def test_a_mask_may_be_missing_for_some_frames(made: tuple[Path, dict[str, Any]]) -> None:
    """Frames keep their own masks; the one without has none."""
    root, tree = made
    (stream,) = _episode(_write(root, tree)).streams
    assert isinstance(stream, RawImages)
    assert stream.paths == ("rgb/0.png", "rgb/1.png", "rgb/2.png")
    assert stream.mask_paths == ("mask/0.png", "", "mask/2.png")


def test_intrinsics_per_frame_win_over_those_at_the_top(made: tuple[Path, dict[str, Any]]) -> None:
    """Each frame may bring its own; what it leaves out comes from the top, the centre from the size."""
    root, tree = made
    tree["frames"][2] |= {"fl_x": 20.0, "cx": 3.5}
    del tree["cy"]
    intrinsics = _episode(_write(root, tree)).camera_intrinsics["camera"]
    assert intrinsics.tolist() == [[10.0, 11.0, 4.0, 3.0], [10.0, 11.0, 4.0, 3.0], [20.0, 11.0, 3.5, 3.0]]


def test_size_and_fl_y_may_be_left_out(made: tuple[Path, dict[str, Any]]) -> None:
    """The size is then read from the first image, and pixels are square."""
    root, tree = made
    for name in ("w", "h", "fl_y"):
        del tree[name]
    camera = open_source(_write(root, tree)).layout.cameras[0]
    assert (camera.width, camera.height) == (8, 6)
    assert camera.model == Pinhole(8, 6, 10.0, 10.0, 4.0, 3.0)


def test_models(made: tuple[Path, dict[str, Any]]) -> None:
    """Without distortion a pinhole, with it OpenCV's model, and the fisheye where it is named."""
    root, tree = made
    k = {"k1": 0.1, "k2": 0.01, "k3": 0.001, "p1": 1e-3, "p2": 2e-3}
    model = open_source(_write(root, tree | k)).layout.cameras[0].model
    assert model == OpenCV(8, 6, 10.0, 11.0, 4.0, 3.0, **k)
    fisheye = {"camera_model": "OPENCV_FISHEYE", "k1": 0.1, "k2": 0.2, "k3": 0.3, "k4": 0.4}
    model = open_source(_write(root, tree | fisheye)).layout.cameras[0].model
    assert model == Fisheye(8, 6, 10.0, 11.0, 4.0, 3.0, 0.1, 0.2, 0.3, 0.4)


NAN = float("nan")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frames": []}, "transforms.json lists no frames"),
        ({"frames": {}}, "lists no frames"),
        ({"frames": [1, 2]}, "lists no frames"),
        ({"frames": None}, "lists no frames"),
        ({"fl_x": None}, "gives no focal length `fl_x`"),
        ({"fl_x": "10"}, "has fl_x = '10'"),
        ({"fl_x": True}, "has fl_x = True"),
        ({"fl_x": NAN}, "has fl_x = nan"),
        ({"fl_x": -3.0}, "Pinhole.fx is -3.0"),
        ({"w": 1e300}, "has w = 1e[+]300"),
        ({"w": 9}, "rgb/0.png is 8x6; 9x6 was expected"),
        ({"camera_model": "EQUIRECTANGULAR"}, "has camera_model 'EQUIRECTANGULAR'"),
        ({"k4": 0.5}, "has k4 = 0.5"),
    ],
)
def test_odd_fields_at_the_top(change: dict[str, Any], message: str, made: tuple[Path, dict[str, Any]]) -> None:
    """Each is named with its value."""
    root, tree = made
    problems = _problems(_write(root, tree | change))
    assert re.search(message, problems), problems


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file_path": "../x.png"}, "leads out of its folder"),
        ({"file_path": "/etc/passwd"}, "leads out of its folder"),
        ({"file_path": 3}, "has file_path = 3"),
        ({"file_path": ""}, "has file_path = ''"),
        ({"file_path": "rgb/9.png"}, "9.png is missing"),
        ({"mask_path": "mask/9.png"}, "9.png is missing"),
        ({"mask_path": "../mask.png"}, "leads out of its folder"),
        ({"transform_matrix": None}, "pose matrix|transform_matrix|rotation"),
        ({"transform_matrix": [[1, 0], [0, 1]]}, "4x4 `transform_matrix`"),
        ({"transform_matrix": [[1, 2, 3, 4]] * 4}, "bottom row of a pose matrix"),
        ({"transform_matrix": np.diag([2.0, 2, 2, 1]).tolist()}, "rotation"),
        ({"transform_matrix": [[NAN] * 4] * 3 + [[0, 0, 0, 1]]}, "rotation|NaN"),
        ({"k1": 0.5}, "Frame 1 of transforms.json has size, camera_model or distortion"),
        ({"camera_model": "OPENCV_FISHEYE"}, "Frame 1 of transforms.json has size, camera_model or distortion"),
    ],
)
def test_odd_fields_of_a_frame(change: dict[str, Any], message: str, made: tuple[Path, dict[str, Any]]) -> None:
    """One bad frame gives one clear problem, never a traceback."""
    root, tree = made
    tree["frames"][1] |= change
    problems = _problems(_write(root, tree))
    assert re.search(message, problems), problems


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"frames": [{"file_path": "\\ud800"}]}'])
def test_files_that_are_no_transforms(text: str, tmp_path: Path) -> None:
    """Empty, cut off, another kind of JSON, absurdly nested, not printable."""
    (tmp_path / "transforms.json").write_text(text)
    with pytest.raises(SourceError, match=r"transforms\.json"):
        open_source(tmp_path)


def test_files_are_those_that_exist(made: tuple[Path, dict[str, Any]]) -> None:
    """A missing image is a finding of check_files, not an exception while hashing."""
    root, tree = made
    tree["frames"][0]["file_path"] = "rgb/9.png"
    assert open_source(_write(root, tree)).files() == (
        "mask/0.png", "mask/2.png", "rgb/1.png", "rgb/2.png", "transforms.json",
    )  # fmt: skip
