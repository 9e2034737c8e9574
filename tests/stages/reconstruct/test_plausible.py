"""A log that was broken in a known way is recognised and named; an intact one is left alone."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.finding import Finding, Severity
from gemel.geometry import SE3, SO3
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.checks.plausible import look_again, look_over
from gemel.stages.reconstruct.located import Located, locate_as_given, locate_by_robot
from gemel.stages.reconstruct.observations import Observations
from stages.reconstruct.made_lab import BLOCK_AT, HEIGHT, JOINTS, OBJECT, WIDTH, cameras, drawn, intact

WRIST, FRONT, SIDE = 0, 1, 2


def located(observations: Observations) -> Located:
    return locate_by_robot(
        observations, JOINTS, intact().robot, CalibrationConfig(), is_calibrated=False, on_progress=lambda part: None
    )


def found_in(observations: Observations, at: Located | None = None) -> tuple[Finding, ...]:
    """What the stage would find without calibrating."""
    at = at or located(observations)
    found = look_over(observations, at, table_height_m=0.0)
    if not any(finding.severity is Severity.ERROR for finding in found):
        found += look_again(observations, at, table_height_m=0.0)
    assert all(finding.remedy and finding.value is not None for finding in found)
    return found


def codes(observations: Observations, at: Located | None = None) -> list[str]:
    return [finding.code for finding in found_in(observations, at) if finding.severity is Severity.ERROR]


def with_views(observations: Observations, change: Callable[[int, np.ndarray], np.ndarray]) -> Observations:
    """Images and masks changed view by view."""
    views = range(len(observations))
    return replace(
        observations,
        images=tuple(np.ascontiguousarray(change(v, observations.images[v])) for v in views),
        masks={k: tuple(np.ascontiguousarray(change(v, m[v])) for v in views) for k, m in observations.masks.items()},
    )


def test_an_intact_log_is_left_alone() -> None:
    """Calibration errors of the usual size are no mistake."""
    assert found_in(intact().observations) == ()


@pytest.mark.parametrize(("value", "code"), [(False, "mask-empty"), (True, "mask-covers-everything")])
def test_masks_that_show_nothing(value: bool, code: str) -> None:
    """Masks that are empty or full in every view are named as such."""
    broken = with_views(intact().observations, lambda v, a: np.full_like(a, value) if a.dtype == bool else a)
    assert codes(broken) == [code]


@pytest.mark.parametrize("pair", [(FRONT, SIDE), (WRIST, FRONT)])
def test_swapped_cameras(pair: tuple[int, int]) -> None:
    """Two cameras whose images changed places are named, both of them."""
    observations = intact().observations
    exchanged = {pair[0]: pair[1], pair[1]: pair[0]}
    camera = np.array([exchanged.get(int(c), int(c)) for c in observations.camera])
    broken = replace(observations, camera=camera)
    found = found_in(broken)
    assert [finding.code for finding in found] == ["swapped-cameras"]
    assert set(found[0].stream.split(", ")) == {observations.cameras[c].name for c in pair}


@pytest.mark.parametrize("camera", [WRIST, FRONT, SIDE])
def test_mirrored_images(camera: int) -> None:
    """The one camera whose images are mirrored is named."""
    observations = intact().observations
    broken = with_views(observations, lambda v, a: a[:, ::-1] if observations.camera[v] == camera else a)
    found = found_in(broken)
    assert [(f.code, f.stream) for f in found] == [("mirrored-images", observations.cameras[camera].name)]


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (0, 2, 1, 3), (3, 2, 1, 0), (1, 2, 3, 0)])
def test_wrong_joint_order(order: tuple[int, ...]) -> None:
    """Columns of the log that belong to other joints are recognised."""
    observations = intact().observations
    episode = observations.episodes[0]
    shuffled = replace(episode, joint_positions=np.ascontiguousarray(episode.joint_positions[:, order]))
    assert codes(replace(observations, episodes=(shuffled,))) == ["joint-order"]


@pytest.mark.parametrize("scale", [0.65, 1.5])
def test_wrong_intrinsics(scale: float) -> None:
    """A fixed camera with another lens than given is named, with about the right focal length."""
    observations = intact().observations
    front = observations.cameras[FRONT]
    assert front.model is not None
    model = replace(front.model, fx=scale * front.model.fx, fy=scale * front.model.fy)
    broken = replace(
        observations, cameras=(observations.cameras[WRIST], replace(front, model=model), observations.cameras[SIDE])
    )
    found = found_in(broken)
    assert [(f.code, f.stream) for f in found] == [("wrong-intrinsics", "front")]


def test_a_block_that_moves_half_way() -> None:
    """An object that is pushed during the scan is told, not averaged."""
    observations = intact().observations
    at = np.tile(BLOCK_AT, (len(observations), 1))
    at[observations.times_s > 3.0] += [0.0, 0.07, 0.0]
    assert codes(drawn(observations, at)) == ["scene-moves"]


def test_views_that_share_nothing() -> None:
    """Cameras that look at different places are told apart from bad masks."""
    observations = intact().observations
    wrist, front, side = observations.cameras
    lens = replace(wrist.model, fx=20.0 * wrist.model.fx, fy=20.0 * wrist.model.fy)
    places = [SE3(SO3.identity(), np.array([x, 0.0, 0.0])) for x in (5.0, -5.0)]
    aside = [replace(c, T_parent_camera=T @ c.T_parent_camera) for c, T in zip((front, side), places, strict=True)]
    apart = (replace(wrist, model=lens), *aside)
    assert codes(replace(observations, cameras=apart)) == ["views-without-overlap"]


def test_an_object_that_two_views_see() -> None:
    """An object that only two views show cannot be reconstructed, and the finding says so."""
    observations = intact().observations
    broken = with_views(observations, lambda v, a: np.zeros_like(a) if a.dtype == bool and v not in (6, 7) else a)
    assert codes(broken) == ["views-without-overlap"]


def test_mirrored_images_without_a_robot() -> None:
    """Without a robot the object's own lines of sight tell that images are mirrored."""
    observations = intact().observations
    poses = located(observations).Ts_world_camera
    per_frame = tuple(replace(camera, parent="world", has_pose_per_frame=True) for camera in cameras())
    episode = observations.episodes[0]
    track = {}
    for c, camera in enumerate(per_frame):
        steps = episode.times_s.size
        own = np.flatnonzero(observations.camera == c)
        nearest = [own[np.argmin(np.abs(observations.step[own] - s))] for s in range(steps)]
        track[camera.name] = poses[np.array(nearest)]
    free = replace(observations, cameras=per_frame, episodes=(replace(episode, camera_poses=track),))
    assert codes(free, locate_as_given(free)) == []
    flipped = with_views(free, lambda v, a: a[:, ::-1])
    assert codes(flipped, locate_as_given(flipped)) == ["mirrored-images"]
    assert observations.masks[OBJECT][0].shape == (HEIGHT, WIDTH)
