"""The rig of the joint fit starts at the calibration, and moves as its unknowns do."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("mujoco")
pytest.importorskip("numba")

from gemel.stages.reconstruct.calibrated_rig import CalibratedRig  # noqa: E402
from gemel.stages.reconstruct.calibration.calibrate import Calibration  # noqa: E402
from stages.reconstruct.made_scene import make_scene  # noqa: E402


def _calibration() -> Calibration:
    rig = make_scene(4, moving=4, fixed=1).problem.rig
    covariance = np.diag((0.1 * rig.unknowns.sigma) ** 2)
    theta = np.zeros(len(rig.unknowns))
    return Calibration(theta, covariance, rig.jacobians(theta))


def test_starts_where_the_calibration_is() -> None:
    """Poses, intrinsics and unknowns are the calibration's, and the prior costs nothing there."""
    calibration = _calibration()
    poses = calibration.jacobians.poses
    rig = CalibratedRig(calibration, np.arange(len(poses.intrinsics)), poses.intrinsics)
    Ts, intrinsics = rig.poses()
    np.testing.assert_allclose(Ts.detach().numpy(), poses.Ts_camera_world, atol=1e-6)
    np.testing.assert_allclose(intrinsics.detach().numpy(), poses.intrinsics, rtol=1e-6)
    np.testing.assert_allclose(rig.theta(), calibration.theta)
    assert float(rig.prior_loss().detach()) == 0.0


def test_shared_unknowns_move_all_views_as_kinematics_does() -> None:
    """A step of the whitened unknowns gives the poses of the robot's own rig at the unknowns it stands for."""
    scene_rig = make_scene(4, moving=4, fixed=1).problem.rig
    calibration = _calibration()
    poses = calibration.jacobians.poses
    rig = CalibratedRig(calibration, np.arange(len(poses.intrinsics)), poses.intrinsics)
    shared = rig.parameters()[0]["params"][0]
    with torch.no_grad():
        shared += 0.01 * torch.randn(len(shared), generator=torch.Generator().manual_seed(0))
    expected = scene_rig.poses(rig.theta())
    # At the ends of the log the joints are held, so there the poses have a kink in time.
    inner = (scene_rig.views.times_s > 0.0) & (scene_rig.views.times_s < 5.9)
    found = rig.poses()[0].detach().numpy()
    np.testing.assert_allclose(found[inner], expected.Ts_camera_world[inner], atol=5e-6)
    np.testing.assert_allclose(rig.poses()[1].detach().numpy(), expected.intrinsics, rtol=1e-5)
    assert float(rig.prior_loss().detach()) > 0.0
