import numpy as np
import torch  # noqa: TID253

from gemel.geometry import SE3, SO3
from gemel.stages.reconstruct.rig import FreeRig
from stages.reconstruct.made_views import blank_views

CENTRE = np.array([0.05, -0.02, 0.03])


def _moved(rig: FreeRig, turns: np.ndarray, shifts: np.ndarray) -> None:
    (turn_group, shift_group) = rig.parameters()
    with torch.no_grad():
        turn_group["params"][0].copy_(torch.tensor(turns))
        shift_group["params"][0].copy_(torch.tensor(shifts))


def test_without_corrections_the_given_poses_come_back() -> None:
    """Unknowns start at zero, where poses are as given and the prior costs nothing."""
    views = blank_views(5)
    rig = FreeRig(views, CENTRE, rotation_sigma_rad=0.02, translation_sigma_m=0.005)
    Ts, intrinsics = rig.poses()
    assert np.allclose(Ts.detach().numpy(), views.Ts_camera_world, atol=1e-6)
    assert np.allclose(intrinsics.numpy(), views.intrinsics)
    assert rig.prior_loss().item() == 0.0


def test_corrections_turn_the_world_about_the_centre() -> None:
    """A turn keeps the centre where it was in every image; poses stay rigid; they agree with SE3's own algebra."""
    views, rng = blank_views(5), np.random.default_rng(1)
    rig = FreeRig(views, CENTRE, rotation_sigma_rad=0.02, translation_sigma_m=0.005)
    turns, shifts = 0.3 * rng.standard_normal((5, 3)), 0.1 * rng.standard_normal((5, 3))
    _moved(rig, turns, shifts)
    about = SE3(SO3.exp(turns), CENTRE + shifts) @ SE3(SO3.identity(), -CENTRE)
    expected = views.Ts_world_camera.inverse() @ about
    assert np.allclose(rig.poses()[0].detach().numpy(), expected.as_matrix(), atol=1e-5)


def test_prior_measures_how_far_the_cameras_went() -> None:
    """To first order the prior is that of each camera's own turn and its own displacement in the world."""
    views, rng = blank_views(4), np.random.default_rng(2)
    rig = FreeRig(views, CENTRE, rotation_sigma_rad=0.02, translation_sigma_m=0.005)
    turns, shifts = 1e-3 * rng.standard_normal((4, 3)), 1e-3 * rng.standard_normal((4, 3))
    _moved(rig, turns, shifts)
    moved = SE3.from_matrix(rig.poses()[0].detach().double().numpy()).inverse()
    displacement = moved.translation - views.Ts_world_camera.translation
    expected = 0.5 * (np.sum((displacement / 0.005) ** 2) + np.sum((turns / 0.02) ** 2))
    assert np.isclose(rig.prior_loss().item(), expected, rtol=1e-2)


def test_sigma_zero_freezes_the_cameras() -> None:
    """With both sigmas zero there is nothing to optimise."""
    rig = FreeRig(blank_views(3), CENTRE, rotation_sigma_rad=0.0, translation_sigma_m=0.0)
    assert rig.parameters() == []
    assert rig.prior_loss().item() == 0.0


def test_gradients_reach_the_unknowns_at_zero() -> None:
    """The exponential's limit at zero is differentiable: no NaN in the first step."""
    rig = FreeRig(blank_views(3), CENTRE, rotation_sigma_rad=0.02, translation_sigma_m=0.005)
    rig.poses()[0].square().sum().backward()
    for group in rig.parameters():
        assert torch.isfinite(group["params"][0].grad).all()
        assert group["params"][0].grad.abs().max() > 0.0
