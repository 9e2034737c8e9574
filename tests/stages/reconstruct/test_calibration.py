"""Calibration finds cameras and robot that were moved, says how sure it is, and its parts obey their laws."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mujoco")
pytest.importorskip("numba")

from gemel.services.kinematics.joint_log import JointLog
from gemel.stages.reconstruct.calibration.calibrate import Calibration, calibrate
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.calibration.observed import SmoothImage, tukey_weight
from stages.reconstruct.made_scene import HEIGHT, WIDTH, MadeScene, make_scene


@pytest.fixture(scope="module")
def scene() -> MadeScene:
    return make_scene(3)


@pytest.fixture(scope="module")
def found(scene: MadeScene) -> Calibration:
    return calibrate(scene.problem, CalibrationConfig())[0]


def _pixel_error(scene: MadeScene, theta: np.ndarray) -> float:
    """How far points of the table, placed by one view and looked up by another, land from where they truly do [px]."""
    poses, truth = scene.problem.rig.poses(theta), scene.problem.rig.poses(scene.theta)
    points = np.array([[x, y, 0.0, 1.0] for x in (0.3, 0.4, 0.5) for y in (-0.1, 0.0, 0.1)])

    def pixels(at: object) -> np.ndarray:
        p = np.einsum("vij,nj->vni", at.Ts_camera_world, points)  # type: ignore[attr-defined]
        return p[..., :2] / p[..., 2:3] * at.intrinsics[:, None, :2] + at.intrinsics[:, None, 2:]  # type: ignore[attr-defined]

    return float(np.linalg.norm(pixels(poses) - pixels(truth), axis=-1).mean())


@pytest.mark.slow
def test_moved_cameras_and_joints_are_found(scene: MadeScene, found: Calibration) -> None:
    """Points of the table land at least five times nearer to their true pixels than with what the lab believed."""
    assert _pixel_error(scene, found.theta) < 0.2 * _pixel_error(scene, np.zeros_like(scene.theta))


@pytest.mark.slow
def test_intervals_hold_the_truth(scene: MadeScene, found: Calibration) -> None:
    """Of all unknowns, at least four fifths lie within two standard deviations, and none beyond eight."""
    score = np.abs(found.theta - scene.theta) / np.sqrt(np.diag(found.covariance))
    assert np.mean(score < 2.0) > 0.8
    assert score.max() < 8.0


@pytest.mark.slow
def test_measurements_only_make_surer(scene: MadeScene, found: Calibration) -> None:
    """No unknown is less certain afterwards than it was believed to be before."""
    sigma = np.sqrt(np.diag(found.covariance))
    assert (sigma <= 1.05 * scene.problem.rig.unknowns.sigma).all()
    assert np.median(sigma / scene.problem.rig.unknowns.sigma) < 0.7


def test_pose_jacobians_are_finite_differences(scene: MadeScene) -> None:
    """A step along any unknown moves cameras and links as the twists say, to second order."""
    rig, rng = scene.problem.rig, np.random.default_rng(0)
    jacobians = rig.jacobians(scene.theta)
    step = 1e-4 * rng.normal(size=len(scene.theta)) * rig.unknowns.sigma
    moved = rig.poses(scene.theta + step)
    for here, there, J in (
        (jacobians.poses.Ts_camera_world, moved.Ts_camera_world, jacobians.cameras),
        (jacobians.poses.Ts_world_link, moved.Ts_world_link, jacobians.links),
    ):
        twist = J @ step
        x, y, z, a, b, c = np.moveaxis(twist, -1, 0)
        zero = np.zeros_like(x)
        rows = [[zero, -c, b, x], [c, zero, -a, y], [-b, a, zero, z], [zero] * 4]
        predicted = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2) @ here
        np.testing.assert_allclose(there - here, predicted, atol=1e-9)


def test_play_trails_the_motion() -> None:
    """A joint that moves up rests on the upper flank, after a turn on the lower one, and stays there when it stops."""
    q = np.concatenate([np.linspace(0.0, 0.1, 20), np.linspace(0.1, 0.0, 20), np.zeros(5)])[:, None]
    side = JointLog(np.arange(45) * 0.1, q).side[:, 0]
    assert side[10] == pytest.approx(1.0)
    assert side[30] == pytest.approx(-1.0)
    assert side[-1] == pytest.approx(-1.0)


def test_what_is_not_valid_lends_nothing() -> None:
    """Smoothing ignores masked pixels: garbage under the mask does not change what is outside."""
    rng = np.random.default_rng(1)
    grey, is_valid = rng.random((HEIGHT, WIDTH)), np.ones((HEIGHT, WIDTH), dtype=bool)
    is_valid[20:40, 30:60] = False
    garbage = np.where(is_valid, grey, 1e3)
    clean, spoilt = SmoothImage.of(grey, is_valid, 2.0), SmoothImage.of(garbage, is_valid, 2.0)
    np.testing.assert_allclose(clean.value[clean.is_valid], spoilt.value[spoilt.is_valid])


def test_sampled_slopes_are_derivatives() -> None:
    """Slope at a place is the difference of samples beside it."""
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    image = SmoothImage.of(np.sin(0.2 * x) + np.cos(0.15 * y), np.ones((HEIGHT, WIDTH), dtype=bool), 1.0)
    at = np.random.default_rng(2).uniform([20, 20], [90, 60], (50, 2))
    for axis, step in ((0, np.array([0.5, 0.0])), (1, np.array([0.0, 0.5]))):
        change = image.sample(at + step)[0] - image.sample(at - step)[0]
        np.testing.assert_allclose(image.sample(at)[1][:, axis], change, atol=4e-3)


def test_outliers_have_no_weight() -> None:
    """Tukey's weight falls from one to zero at the cut and stays there."""
    weight = tukey_weight(np.array([0.0, 1.0, 3.9, 4.0, 100.0]), 1.0)
    assert weight[0] == 1.0
    assert (np.diff(weight) <= 0).all()
    assert weight[3] == weight[4] == 0.0
