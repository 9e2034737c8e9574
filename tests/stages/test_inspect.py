from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.finding import Severity
from gemel.artifacts.inspection import Inspection
from gemel.artifacts.robot import RobotJoint
from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter
from gemel.services.formats.source import open_source
from gemel.stages.ingest.image_checks import CameraLook, check_camera, look_at
from gemel.stages.ingest.inspect import InspectConfig, inspect
from gemel.worlds.waving_arm import WavingArm, write_log

_TEXTURE = np.random.default_rng(0).integers(0, 200, (9, 40, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)


def _inspect(folder: Path, world: WavingArm, joints: tuple[RobotJoint, ...] | None = None) -> Inspection:
    return inspect(open_source(write_log(folder / "log", world)), InspectConfig(), robot_joints=joints)


def _codes(result: Inspection) -> set[str]:
    return {finding.code for finding in result.findings}


def test_a_sound_log_has_no_faults_of_timing_or_images(tmp_path: Path) -> None:
    """Nothing is reported that was not switched on."""
    result = _inspect(tmp_path, WavingArm(has_sidecar=True))
    assert _codes(result) == {"missing-calibration", "no-robot-model"}
    assert not result.has_errors


def test_what_is_in_the_log_is_counted(tmp_path: Path) -> None:
    """Episodes, steps, durations, streams and rates are those that were written."""
    result = _inspect(tmp_path, WavingArm(episode_count=3, step_count=30, has_sidecar=True))
    assert [(e.id, e.kind, e.step_count) for e in result.episodes] == [
        ("0", "scan", 30),
        ("1", "task", 30),
        ("2", "task", 30),
    ]
    assert {s.name: s.kind for s in result.streams} == {
        "joints": "joints",
        "actions": "actions",
        "front": "camera",
        "wrist": "camera",
    }
    assert all(s.rate_hz == pytest.approx(10.0, rel=1e-4) for s in result.streams)


@pytest.mark.parametrize("delay_s", [0.15, 0.06])
def test_a_late_camera_is_found_with_its_delay(tmp_path: Path, delay_s: float) -> None:
    """The offset is reported for both cameras, with the right sign and within 25 ms at 10 Hz."""
    result = _inspect(tmp_path, WavingArm(camera_delay_s=delay_s, seed=3, has_sidecar=True))
    offsets = {e.stream: e.value_s for e in result.estimates if e.name == "camera offset"}
    assert set(offsets) == {"front", "wrist"}
    assert all(value == pytest.approx(-delay_s, abs=0.025) for value in offsets.values())
    assert "camera-offset" in _codes(result)


def test_actuator_lag_is_found(tmp_path: Path) -> None:
    """Joints that follow their targets 0.1 s later are said to; without lag nothing is said."""
    lagging = _inspect(tmp_path, WavingArm(actuator_lag_s=0.1, has_sidecar=True))
    lag = next(e for e in lagging.estimates if e.name == "action lag")
    assert lag.value_s == pytest.approx(0.1, abs=0.01)
    assert "action-lag" in _codes(lagging)


def test_dropped_samples_have_their_place(tmp_path: Path) -> None:
    """Each gap is named with episode, time and count."""
    result = _inspect(tmp_path, WavingArm(episode_count=2, step_count=40, dropped_samples=3, has_sidecar=True))
    gaps = [f for f in result.findings if f.code == "dropped-samples"]
    assert [(f.episode, f.time_s, f.value) for f in gaps] == [
        ("0", pytest.approx(1.9, abs=1e-5), 3.0),
        ("1", pytest.approx(1.9, abs=1e-5), 3.0),
    ]


def test_units_that_nobody_stated_need_confirming(tmp_path: Path) -> None:
    """Degrees and percent are inferred with evidence, and marked as open."""
    result = _inspect(tmp_path, WavingArm(episode_count=2, step_count=30))
    assert {u.joint: u.unit for u in result.units} == {
        "shoulder.pos": "deg",
        "elbow.pos": "deg",
        "gripper.pos": "percent",
    }
    assert "units-unconfirmed" in _codes(result)


def test_joints_outside_the_models_limits_are_placed(tmp_path: Path) -> None:
    """A limit that is passed is named with joint, episode and time; joints that the model lacks are listed."""
    joints = (RobotJoint("shoulder", "hinge", -0.1, 0.1), RobotJoint("elbow", "hinge", -3.0, 3.0))
    result = _inspect(tmp_path, WavingArm(episode_count=2, step_count=30, has_sidecar=True), joints)
    outside = [f for f in result.findings if f.code == "outside-limits"]
    assert {f.stream for f in outside} == {"shoulder.pos"}
    assert all(f.episode in ("0", "1") and f.time_s is not None for f in outside)
    missing = next(f for f in result.findings if f.code == "joints-not-in-model")
    assert missing.stream == "gripper.pos"


def _still_log(folder: Path, images: list[np.ndarray], state: np.ndarray) -> Inspection:
    spec = LerobotSpec(10.0, ("a", "b"), ("a", "b"), {"cam": (96, 72)})
    with LerobotWriter(folder / "log", spec) as writer:
        writer.add_episode(task="t", state=state, action=state, images={"cam": images})
    return inspect(open_source(folder / "log"), InspectConfig(), robot_joints=None)


def test_an_arm_that_never_moves_is_said(tmp_path: Path) -> None:
    """One value per joint throughout: the finding says so, and the camera that sees nothing is only noted."""
    result = _still_log(tmp_path, [_TEXTURE[:72, :96]] * 20, np.ones((20, 2)))
    assert {"arm-never-moves", "static-camera"} <= _codes(result)
    assert "frozen-camera" not in _codes(result)


def test_a_camera_that_hangs_while_the_robot_moves_is_frozen(tmp_path: Path) -> None:
    """The same picture throughout, with moving joints, is a fault of the camera."""
    state = np.random.default_rng(1).normal(size=(40, 2)).cumsum(axis=0)
    assert "frozen-camera" in _codes(_still_log(tmp_path, [_TEXTURE[:72, :96]] * 40, state))


def test_frames_that_the_recorder_filled_in_are_counted(tmp_path: Path) -> None:
    """Every fifth frame repeats the one before it while the scene slides by."""
    shown = [i - 1 if i % 5 == 4 else i for i in range(41)]
    images = [np.roll(_TEXTURE, 3 * i, axis=1)[:72, :96] for i in shown]
    state = np.stack([np.arange(41.0), np.arange(41.0)], axis=1)
    result = _still_log(tmp_path, images, state)
    repeated = next(f for f in result.findings if f.code == "duplicated-frames")
    assert repeated.value == 8.0
    assert repeated.stream == "cam"


def _look(image: np.ndarray) -> set[str]:
    frames = [look_at(image, episode="0", step=i, time_s=0.1 * i) for i in range(2)]
    return {f.code for f in check_camera(CameraLook("cam", spread=frames), robot_moves=False)}


def test_exposure_and_focus_are_judged() -> None:
    """White, black and blurred pictures are named; a sharp one is not."""
    sharp = _TEXTURE[:72, :160]
    kernel = np.ones(13) / 13
    blurred = np.concatenate([np.zeros_like(sharp), np.full_like(sharp, 255)]).astype(np.float64)
    for axis in (0, 0, 1, 1):
        blurred = np.apply_along_axis(lambda row: np.convolve(row, kernel, mode="valid"), axis, blurred)
    smooth = blurred.astype(np.uint8)
    assert _look(sharp) == {"static-camera"}
    assert "blurred" in _look(smooth)
    assert "over-exposed" in _look(np.full((60, 80, 3), 255, dtype=np.uint8))
    assert "under-exposed" in _look(np.full((60, 80, 3), 3, dtype=np.uint8))


def test_the_number_of_decoded_frames_is_bounded(tmp_path: Path) -> None:
    """Ten times the episodes do not mean more decoded frames once the budget is reached."""
    small = _inspect(tmp_path / "a", WavingArm(episode_count=10, step_count=20, has_sidecar=True))
    large = _inspect(tmp_path / "b", WavingArm(episode_count=30, step_count=20, has_sidecar=True))
    assert large.decoded_frame_count <= small.decoded_frame_count


def test_the_real_arm_that_never_moves(shared_data: Path) -> None:
    """SO-101 recording: the arm never moves, units need confirming, the evidence disagrees, no calibration."""
    result = inspect(open_source(shared_data / "so101_lerobot_v3"), InspectConfig(), robot_joints=None)
    assert len(result.episodes) == 6
    assert sum(e.step_count for e in result.episodes) == 1782
    assert {"arm-never-moves", "units-unconfirmed", "missing-calibration"} <= _codes(result)
    assert not any(f.severity is Severity.ERROR for f in result.findings)
    assert all(any("disagree" in line for line in unit.evidence) for unit in result.units)


def test_a_scan_without_a_clock(shared_data: Path) -> None:
    """DTU views: calibrated, one scan, no time stamps."""
    result = inspect(open_source(shared_data / "dtu_scan24"), InspectConfig(), robot_joints=None)
    assert [(e.kind, e.step_count) for e in result.episodes] == [("scan", 49)]
    assert _codes(result) == {"no-clock"}
