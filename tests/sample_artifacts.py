"""One instance of every artifact that the store may hold, with awkward values in every field."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.artifacts.blob import BlobRef, FileRef
from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import (
    Capture,
    ClockReport,
    DepthCode,
    DepthVideo,
    Domain,
    EpisodeKind,
    EpisodeRecord,
    ImageSequence,
    JointSignal,
    UnitSource,
    VideoSegment,
)
from gemel.artifacts.evidence import Claim, Curve, Evidence, Failure, FailureLabel, Following, Range
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.inspection import EpisodeSummary, Estimate, Inspection, StreamSummary, UnitGuess
from gemel.artifacts.policy_card import PolicyCard
from gemel.artifacts.reconstruction import ArticulatedObject, ColourResponse, Reconstruction
from gemel.artifacts.robot import RobotJoint, RobotModel
from gemel.artifacts.segmentation import MaskTrack, Segmentation
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.split import Likeness, Role, Split
from gemel.artifacts.task import Criterion, Quantity, Task
from gemel.artifacts.track import Track, Tracks
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, Fisheye, Inertia, OpenCV, Pinhole

_RNG = np.random.default_rng(7)
_BLOB = BlobRef("ab" * 32, 12)
_FILE = FileRef("videos/käse.mp4", "cd" * 32, 99)


def _cameras() -> tuple[Camera, ...]:
    common: dict[str, Any] = {"width": 64, "height": 48, "fx": 50.0, "fy": 51.0, "cx": 32.0, "cy": 24.0}
    pose = SE3.random(_RNG)
    return (
        Camera("plain", 64, 48),
        Camera("pinhole", 64, 48, Pinhole(**common), "link6", pose, 0.02, 1.0, 0.01, 0.005, None),
        Camera("opencv", 64, 48, OpenCV(**common, k1=0.1, p2=-0.001), has_pose_per_frame=True),
        Camera("fisheye", 64, 48, Fisheye(**common, k1=0.01), T_parent_camera=SE3.identity()),
    )


def _robot() -> RobotModel:
    joints = (RobotJoint("j0", "hinge", -1.0, math.pi), RobotJoint("j1", "slide"))
    return RobotModel("arm", "mjcf", "arm.xml", {"arm.xml": _BLOB}, joints, ("base", "link1"))


def _capture() -> Capture:
    record = EpisodeRecord(
        "0", EpisodeKind.SCAN, Domain.STAND_IN, "push the „T“", 3, 0.2, _BLOB, "ef" * 32,
        (VideoSegment("plain", _FILE, 1.5, 3), ImageSequence("opencv", 3)), None, "mug",
        (DepthVideo(VideoSegment("plain", _FILE, 1.5, 3), DepthCode(is_log=False)),),
    )  # fmt: skip
    return Capture(
        "lerobot-v3", "12" * 32, (record,), _cameras(),
        (JointSignal("j0", "deg", "rad", UnitSource.PROJECT, "j0"),), ("dx",), ("as logged",),
        ClockReport(10.0, 1e-4, 1, 2, 3, 4), _robot(), {"effort": 6},
    )  # fmt: skip


def _splatmesh() -> SplatMesh:
    return SplatMesh(
        vertices=_RNG.normal(size=(4, 3)), faces=np.array([[0, 1, 2], [0, 2, 3]]),
        is_seen=np.array([True, False, True, True]), face_from_gaussian=np.array([0, 1, 1]),
        barycentric=np.full((3, 3), 1 / 3), in_plane_scale=np.ones((3, 2)), normal_scale_m=1e-4,
        sh=_RNG.normal(size=(3, 4, 3)), opacity=np.array([0.1, 0.5, 1.0]), dilation_px2=0.02,
    )  # fmt: skip


def _gaussians() -> Gaussians:
    return Gaussians(
        means=_RNG.normal(size=(5, 3)), rotations=np.tile([1.0, 0.0, 0.0, 0.0], (5, 1)),
        scales=np.full((5, 3), 0.01), opacities=np.linspace(0.1, 0.9, 5), sh=_RNG.normal(size=(5, 1, 3)),
        extras={"id": np.ones((5, 1))}, dilation_px2=0.3,
    )  # fmt: skip


def _response() -> ColourResponse:
    return ColourResponse(_RNG.normal(size=(3, 3)), _RNG.normal(size=(3, 3)), _RNG.normal(size=(3, 3)))


def _reconstruction() -> Reconstruction:
    return Reconstruction(
        {"mug": _splatmesh()}, {"mug": SE3.random(_RNG)}, {"link1": _splatmesh()}, _splatmesh(),
        {"drawer": ArticulatedObject("urdf", _BLOB)}, _gaussians(), _cameras(),
        SE3.random(_RNG, 1), np.zeros(2), np.array([0.01, np.inf]), np.zeros(2), True,
        _response(), {"mug": _response()}, _RNG.random((2, 3)),
    )  # fmt: skip


def _belief() -> Belief:
    parameter = Parameter("object/mug/com_x", "m", -0.1, 0.1, "linear", ValueSource.INFERRED, ("0", "3"))
    return Belief((parameter,), np.array([[0.01], [np.pi]]), np.array([0.25, 0.75]), _BLOB)


def _task() -> Task:
    quantity = Quantity("tip", 2, "m", -math.inf, 0.02)
    criterion = Criterion("object/position_error", "m", 0.03, 2.0)
    return Task(
        "push-t", "push the T", 0.1, 12.0, (quantity,), (quantity,), {"x": 0.0}, (criterion,), (), {"near": 0.1},
        ("touch", "place"), {"yaw": (-math.pi, math.pi)},
    )  # fmt: skip


def samples() -> list[Any]:
    """One of each."""
    split = Split(
        "episode", 3, {"0": Role.CALIBRATION, "1": Role.HOLDOUT}, {"0": 0, "1": 1}, {"0": "aa", "1": "bb"},
        (Likeness("0", "1", "same object", "mug"),),
    )  # fmt: skip
    inspection = Inspection(
        "log", "folder", "arm", (EpisodeSummary("0", "t", "task", 3, 0.2, 1.0),),
        (StreamSummary("joints", "joints", "6", 10.0, 0.0, ""),), (UnitGuess("j0", "rad", ("why",), False),),
        (Estimate("camera offset", "front", -0.1, math.nan, 1),),
        (Finding("x", Severity.NOTE, "m", "r", time_s=None, value=math.inf),), 5,
    )  # fmt: skip
    masks = MaskTrack("0", "plain", "mug", _BLOB, (0, 2), np.array([0.5, 1.0]), "the mug")
    track = Track("0", "mug", np.array([0.0, 0.1]), SE3.random(_RNG, 2), np.zeros((2, 6, 6)), np.array([False, True]))
    claim = Claim(
        "success", "1", 0.5, 0.2, math.inf, 0.95, 10, (Domain.REAL, Domain.TWIN), "mug", "posterior", "logged", "cut"
    )
    undefined = replace(claim, name="ratio", estimate=math.nan, low=math.nan, high=math.nan)
    following = Following("0", "mug", "posterior", "logged", 1.5, 2.0, True)
    times = np.array([0.0, 0.1])
    curves = (
        Curve("0", "mug", "position", "m", "posterior", "logged", times, times / 3.0, 0.5 * times, 2.0 * times),
        Curve("0", "mug", "position", "m", "nominal", "logged", times, times),
    )
    evidence = Evidence(
        (claim, undefined), (Failure("3", FailureLabel.PHYSICS, "replay diverges"),), "aa" * 32, 1,
        {"assemble": "bb" * 32}, ("0",), 2, 0.02, 5.0, curves,
        (Range("object/mug/mass", "kg", "prior", 0.1, 0.2, 0.3),), {"j0": 1.0}, {"j0": math.pi},
        ("<b>noted</b> „so“",), (following,), ("not <i>shown</i>",),
    )  # fmt: skip
    quantity = Quantity("tip", 2, "m", -0.02, 0.02)
    card = PolicyCard("p", "push-t", _BLOB, "", (quantity,), (quantity,), ("com_x",), {"twin": "cc" * 32})
    twin = Twin(
        _robot(), _reconstruction(), _belief(), {"mug": (_BLOB,)}, {"mug": SE3.identity()}, _task(),
        {"mug": Inertia.box(0.3, (0.1, 0.2, 0.3))}, {"mug": 0.002}, None, ("j0", ""),
    )  # fmt: skip
    return [
        _capture(), split, inspection, Segmentation((masks,), "sam 2.1", {"t": 0.5}), _reconstruction(), track,
        Tracks((track,), "video"), _belief(), twin, card, evidence,
    ]  # fmt: skip
