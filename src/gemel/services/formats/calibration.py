"""Units and cameras as TOML tables: the part of a log that the log's own format cannot say.

The same tables stand in `twin.toml`, in a plain folder's `capture.toml` and in `meta/gemel.toml` of a LeRobot set:

    [joints.shoulder_pan]
    unit = "deg"                 # rad, deg, m, mm, percent or span
    [joints.gripper]
    unit = "percent"             # 0..100; low and high give the SI values at its ends
    low = 0.0
    high = 0.04

    [cameras.wrist]
    width = 160
    height = 120
    model = "pinhole"            # pinhole, opencv or fisheye, with fx fy cx cy and its coefficients
    fx = 150.0
    fy = 150.0
    cx = 80.0
    cy = 60.0
    parent = "link6"             # or "world"
    position_m = [0.0, 0.05, 0.1]
    quaternion_wxyz = [1.0, 0.0, 0.0, 0.0]
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import WORLD, Camera
from gemel.errors import ConfigError, GemelError, choices_text
from gemel.geometry import SE3, CameraModel, Fisheye, OpenCV, Pinhole
from gemel.services.formats.toml_table import from_table

_FACTOR = {"rad": 1.0, "deg": math.pi / 180.0, "m": 1.0, "mm": 1e-3}
_SI_UNIT = {"rad": "rad", "deg": "rad", "m": "m", "mm": "m"}
_SPAN = {"percent": (0.0, 100.0), "span": (-100.0, 100.0)}
UNITS = (*_FACTOR, *_SPAN)


@dataclass(frozen=True)
class JointScale:
    """How logged values of one joint become SI."""

    unit: str
    """rad, deg, m, mm; `percent` (0..100 of a range) or `span` (-100..100 of a calibrated span)."""
    low: float | None = None
    """SI value at the lower end of a percent or span joint."""
    high: float | None = None
    """SI value at the upper end of a percent or span joint."""
    confirmed: bool = True
    """False while the unit is only inferred; ingest refuses such a joint."""
    quantity: str = "rad"
    """SI unit of `low` and `high`: rad or m."""
    model_joint: str = ""
    """Name of this joint in the robot model, where it differs from the log's."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ConfigError(f"Joint unit {choices_text(self.unit, UNITS)}", remedy="use one of the choices")
        if self.quantity not in ("rad", "m"):
            raise ConfigError(
                f"Joint quantity {choices_text(self.quantity, ('rad', 'm'))}", remedy="use one of the choices"
            )
        if self.low is not None and self.low == self.high:
            raise ConfigError(f"`low` and `high` are both {self.low}.", remedy="give the SI values at the two ends")
        if (self.low is None) != (self.high is None):
            raise ConfigError("A joint has only one of `low` and `high`.", remedy="give both SI values, or neither")
        if self.unit == "span" and self.low is None:
            raise ConfigError(
                "A joint in `span` units (-100..100) needs `low` and `high`, the SI values at its ends.",
                remedy="read them from the arm's calibration file, in rad or m",
            )

    @property
    def si_unit(self) -> str:
        """Unit after conversion: rad, m, or fraction when a percent joint has no SI range."""
        if self.unit in _SI_UNIT:
            return _SI_UNIT[self.unit]
        return "fraction" if self.low is None else self.quantity

    def to_si(self, logged: Float[np.ndarray, "*t"]) -> Float[np.ndarray, "*t"]:
        """Logged values in SI units."""
        if self.unit in _FACTOR:
            return logged * _FACTOR[self.unit]
        first, last = _SPAN[self.unit]
        fraction = (logged - first) / (last - first)
        if self.low is None or self.high is None:
            return fraction
        return self.low + (self.high - self.low) * fraction


@dataclass(frozen=True)
class CameraTable:
    """One `[cameras.NAME]` table, as written."""

    width: int = 0
    height: int = 0
    model: str = ""
    fx: float = 0.0
    fy: float = 0.0
    cx: float = 0.0
    cy: float = 0.0
    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    parent: str = WORLD
    position_m: tuple[float, ...] = ()
    quaternion_wxyz: tuple[float, ...] = ()
    time_offset_s: float = 0.0
    focal_sigma_px: float | None = None
    rotation_sigma_deg: float | None = None
    translation_sigma_m: float | None = None
    time_offset_sigma_s: float | None = None


def camera_from_table(name: str, table: Any, known: Camera | None = None, *, file: str = "twin.toml") -> Camera:
    """A camera from its table in `file`; image size may come from the log instead (`known`)."""
    where = f"{file} [cameras.{name}]"
    values = from_table(CameraTable, table, where=where)
    width = values.width or (known.width if known else 0)
    height = values.height or (known.height if known else 0)
    if width <= 0 or height <= 0:
        raise ConfigError(
            f"{where} has no image size: width {width}, height {height}.", remedy="give width and height in pixels"
        )
    sigma_deg = values.rotation_sigma_deg
    return Camera(
        name=name,
        width=width,
        height=height,
        model=_model(values, width, height, where),
        parent=values.parent,
        T_parent_camera=_pose(values, where),
        time_offset_s=values.time_offset_s,
        focal_sigma_px=values.focal_sigma_px,
        rotation_sigma_rad=None if sigma_deg is None else math.radians(sigma_deg),
        translation_sigma_m=values.translation_sigma_m,
        time_offset_sigma_s=values.time_offset_sigma_s,
        has_pose_per_frame=known.has_pose_per_frame if known else False,
    )


def camera_table(camera: Camera) -> dict[str, Any]:
    """The table that reads back as this camera (what is unknown is left out)."""
    table: dict[str, Any] = {"width": camera.width, "height": camera.height}
    if camera.model is not None:
        table["model"] = type(camera.model).__name__.lower()
        names = ("fx", "fy", "cx", "cy", "k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2")
        table |= {name: float(getattr(camera.model, name)) for name in names if hasattr(camera.model, name)}
    table["parent"] = camera.parent
    if camera.T_parent_camera is not None:
        table["position_m"] = camera.T_parent_camera.translation.tolist()
        table["quaternion_wxyz"] = camera.T_parent_camera.rotation.wxyz.tolist()
    table["time_offset_s"] = camera.time_offset_s
    if camera.rotation_sigma_rad is not None:
        table["rotation_sigma_deg"] = math.degrees(camera.rotation_sigma_rad)
    for name in ("focal_sigma_px", "translation_sigma_m", "time_offset_sigma_s"):
        if getattr(camera, name) is not None:
            table[name] = getattr(camera, name)
    return table


def scales_from_tables(joints: Mapping[str, Any], actions: Mapping[str, Any], *, file: str) -> dict[str, JointScale]:
    """`[joints.NAME]` and `[actions.NAME]` tables of `file`; an action that is also a joint has the joint's unit."""
    return {
        name: from_table(JointScale, table, where=f"{file} [{kind}.{name}]")
        for kind, tables in (("actions", actions), ("joints", joints))
        for name, table in tables.items()
    }


def check_names(given: Iterable[str], known: Sequence[str], *, where: str) -> None:
    """Refuse a table for something that the log does not have: a misspelt name must not go unnoticed."""
    for name in given:
        if name not in known:
            raise ConfigError(f"Table in {where}: {choices_text(name, list(known))}", remedy="use the log's own names")


def _model(values: CameraTable, width: int, height: int, where: str) -> CameraModel | None:
    if not values.model:
        return None
    common: dict[str, Any] = {
        "width": width,
        "height": height,
        "fx": values.fx,
        "fy": values.fy,
        "cx": values.cx,
        "cy": values.cy,
    }
    k: dict[str, Any] = {"k1": values.k1, "k2": values.k2, "k3": values.k3, "k4": values.k4}
    try:
        match values.model.lower():
            case "pinhole":
                return Pinhole(**common)
            case "opencv":
                return OpenCV(**common, **k, k5=values.k5, k6=values.k6, p1=values.p1, p2=values.p2)
            case "fisheye":
                return Fisheye(**common, **k)
    except GemelError as error:  # the model knows which number is wrong, but not in which table it stands
        raise ConfigError(f"{where}: {error.problem}", remedy=error.remedy) from error
    raise ConfigError(
        f"{where} model {choices_text(values.model, ('pinhole', 'opencv', 'fisheye'))}",
        remedy="use one of the choices",
    )


def _pose(values: CameraTable, where: str) -> SE3 | None:
    if not values.position_m and not values.quaternion_wxyz:
        return None
    if len(values.position_m) != 3 or len(values.quaternion_wxyz) != 4:
        raise ConfigError(
            f"{where} has position_m {list(values.position_m)} and quaternion_wxyz {list(values.quaternion_wxyz)}.",
            remedy="give three numbers in metres and four in the order w, x, y, z",
        )
    try:
        return SE3.from_wxyz_xyz(np.array([*values.quaternion_wxyz, *values.position_m], dtype=np.float64))
    except GemelError as error:
        raise ConfigError(f"{where}: {error.problem}", remedy=error.remedy) from error
