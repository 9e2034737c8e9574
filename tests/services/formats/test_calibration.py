"""Units become SI exactly, and camera tables read back as the camera they were made from."""

import math
import tomllib

import numpy as np
import pytest

from gemel.artifacts.camera import Camera
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3, CameraModel, Fisheye, OpenCV, Pinhole
from gemel.services.formats.calibration import (
    CameraTable,
    JointScale,
    camera_from_table,
    camera_table,
    check_names,
    scales_from_tables,
)
from gemel.services.formats.toml_table import toml_lines


@pytest.mark.parametrize(
    ("scale", "logged", "si", "unit"),
    [
        (JointScale("rad"), [0.0, 1.5], [0.0, 1.5], "rad"),
        (JointScale("deg"), [180.0, -90.0], [math.pi, -math.pi / 2], "rad"),
        (JointScale("m"), [0.25], [0.25], "m"),
        (JointScale("mm"), [250.0, -1.0], [0.25, -0.001], "m"),
        (JointScale("percent"), [0.0, 25.0, 100.0], [0.0, 0.25, 1.0], "fraction"),
        (JointScale("percent", 0.0, 0.04, quantity="m"), [0.0, 50.0, 100.0], [0.0, 0.02, 0.04], "m"),
        (JointScale("percent", 1.0, 0.2), [0.0, 50.0, 100.0], [1.0, 0.6, 0.2], "rad"),
        (JointScale("span", -1.0, 3.0), [-100.0, 0.0, 100.0, 150.0], [-1.0, 1.0, 3.0, 4.0], "rad"),
    ],
)
def test_logged_values_become_si(scale: JointScale, logged: list[float], si: list[float], unit: str) -> None:
    """Degrees, millimetres, parts of a range in either direction; values beyond a span go on linearly."""
    assert np.allclose(scale.to_si(np.array(logged)), si, rtol=0, atol=1e-15)
    assert scale.si_unit == unit


def test_conversion_is_affine() -> None:
    """The mean converts like the values: nothing is clipped or wrapped."""
    rng = np.random.default_rng(0)
    for scale in (JointScale("deg"), JointScale("percent", 0.1, 0.3), JointScale("span", -2.0, 2.0)):
        a, b, w = rng.normal(size=50) * 100, rng.normal(size=50) * 100, rng.uniform(size=50)
        mixed = scale.to_si(w * a + (1 - w) * b)
        assert np.allclose(mixed, w * scale.to_si(a) + (1 - w) * scale.to_si(b))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"unit": "degg"}, r"\[joints.j\]: Joint unit 'degg' is unknown. Closest: 'deg'"),
        ({"unit": "span"}, r"\[joints.j\]: A joint in `span` units .* needs `low` and `high`"),
        ({"unit": "percent", "low": 0.0}, "only one of `low` and `high`"),
        ({"unit": "percent", "low": 1.0, "high": 1.0}, "`low` and `high` are both 1.0"),
        ({"unit": "percent", "low": 0.0, "high": float("inf")}, "high is inf, not a finite number"),
        ({"unit": "rad", "quantity": "kg"}, "Joint quantity 'kg' is unknown"),
        ({"units": "rad"}, r"'units' is unknown. Closest: 'unit'"),
        ({}, r"\[joints.j\] lacks \['unit'\]"),
        ("deg", r"\[joints.j\] must be a table, not 'deg'"),
    ],
)
def test_wrong_joint_tables(table: object, message: str) -> None:
    """The message names the table, what it says and what it should say."""
    with pytest.raises(ConfigError, match=message):
        scales_from_tables({"j": table}, {}, file="x.toml")


def _camera(model: CameraModel | None) -> Camera:
    pose = SE3(SO3.random(np.random.default_rng(3)), np.array([0.1, -0.2, 0.3]))
    return Camera(
        "wrist", 160, 120, model, "link6", pose, time_offset_s=0.02, focal_sigma_px=3.0, rotation_sigma_rad=0.05,
        translation_sigma_m=0.01, time_offset_sigma_s=0.004,
    )  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        None,
        Pinhole(160, 120, 150.0, 151.0, 80.5, 60.25),
        OpenCV(160, 120, 150.0, 151.0, 80.5, 60.25, k1=0.1, k2=-0.02, p1=1e-3, p2=-2e-3, k3=1e-4, k6=1e-5),
        Fisheye(160, 120, 90.0, 91.0, 80.0, 60.0, k1=0.01, k2=0.002, k3=-3e-4, k4=4e-5),
    ],
)
def test_camera_tables_round_trip_through_toml(model: CameraModel | None) -> None:
    """Camera → table → TOML text → table → the same camera."""
    camera = _camera(model)
    table = tomllib.loads("\n".join(toml_lines(camera_table(camera), "c")))["c"]
    again = camera_from_table("wrist", table)
    assert again.model == camera.model
    assert (again.width, again.height, again.parent, again.time_offset_s) == (160, 120, "link6", 0.02)
    assert again.rotation_sigma_rad == pytest.approx(0.05, rel=1e-12)
    assert (again.focal_sigma_px, again.translation_sigma_m, again.time_offset_sigma_s) == (3.0, 0.01, 0.004)
    assert again.T_parent_camera is not None
    assert camera.T_parent_camera is not None
    assert np.array_equal(again.T_parent_camera.wxyz_xyz, camera.T_parent_camera.wxyz_xyz)


def test_every_key_of_a_camera_table_is_used() -> None:
    """A table with all keys set to something unusual changes the camera in all of them."""
    assert set(camera_table(_camera(OpenCV(1, 1, 1.0, 1.0, 1.0, 1.0)))) == set(CameraTable.__dataclass_fields__)


def test_the_log_gives_the_image_size() -> None:
    """Where the table has none, the size that the log states counts, and so does its pose per frame."""
    known = Camera("c", 64, 48, has_pose_per_frame=True)
    camera = camera_from_table("c", {"model": "pinhole", "fx": 50, "fy": 50, "cx": 32, "cy": 24}, known)
    assert (camera.width, camera.height, camera.has_pose_per_frame) == (64, 48, True)
    assert camera.model == Pinhole(64, 48, 50.0, 50.0, 32.0, 24.0)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, r"\[cameras.c\] has no image size"),
        ({"width": -4, "height": 3}, "width -4, height 3"),
        ({"width": 4, "height": 3, "model": "pinhole"}, r"\[cameras.c\]: Pinhole.fx is 0.0"),
        ({"width": 4, "height": 3, "model": "fishey"}, r"'fishey' is unknown. Closest: 'fisheye'"),
        ({"width": 4, "height": 3, "position_m": [1, 2, 3]}, "three numbers in metres and four"),
        (
            {"width": 4, "height": 3, "position_m": [1, 2, 3], "quaternion_wxyz": [0, 0, 0, 0]},
            r"\[cameras.c\]: A quaternion of norm 0",
        ),
        ({"width": 4, "height": 3, "fx": float("nan")}, "fx is nan"),
        ({"width": 4, "heigth": 3}, r"'heigth' is unknown. Closest: 'height'"),
    ],
)
def test_wrong_camera_tables(table: dict[str, object], message: str) -> None:
    """The message names the camera, the number and what to do."""
    with pytest.raises(ConfigError, match=message):
        camera_from_table("c", table)


def test_joints_and_actions_of_one_name_share_the_joints_unit() -> None:
    """An action table counts for names that are no joints; the message names file and table."""
    scales = scales_from_tables({"a": {"unit": "deg"}}, {"a": {"unit": "rad"}, "b": {"unit": "mm"}}, file="x.toml")
    assert {name: scale.unit for name, scale in scales.items()} == {"a": "deg", "b": "mm"}
    with pytest.raises(ConfigError, match=r"x.toml \[actions.b\]: Joint unit 'inch' is unknown"):
        scales_from_tables({}, {"b": {"unit": "inch"}}, file="x.toml")


def test_tables_for_things_that_the_log_lacks() -> None:
    """A misspelt joint is not passed over in silence."""
    check_names(["a"], ("a", "b"), where="x")
    with pytest.raises(ConfigError, match=r"Table in x: 'elbw' is unknown. Closest: 'elbow'"):
        check_names(["elbw"], ("elbow",), where="x")
