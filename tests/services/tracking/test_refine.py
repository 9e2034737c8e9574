"""One frame's pose: found from a wrong start, under another light, behind an arm; and as sure as it says."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("numba")
pytest.importorskip("scipy")

from gemel.geometry import SE3
from gemel.services.tracking.detect import detect, likely_object
from gemel.services.tracking.evidence import Evidence, about_world, moved
from gemel.services.tracking.refine import RefineConfig, Sight, look, refine
from gemel.services.tracking.resting import Resting
from services.tracking import made_views as made

FAST = RefineConfig()


def _error(found: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Position [mm] and angle [deg]."""
    turn = SE3.from_matrix(found).rotation @ SE3.from_matrix(true).rotation.inverse()
    return 1e3 * float(np.linalg.norm(found[:3, 3] - true[:3, 3])), float(np.degrees(np.linalg.norm(turn.log())))


def _refined(true: np.ndarray, start: np.ndarray, config: RefineConfig = FAST, **scene: object) -> np.ndarray:
    found = made.views(true, 3, **scene)  # type: ignore[arg-type]
    return refine(made.TRACKED, found, start, np.zeros(6), config, renderer=made.RENDERER).T_world_object


@pytest.mark.parametrize("config", [FAST, RefineConfig(splat_steps=12)], ids=["fast", "full"])
def test_pose_is_found_from_a_start_that_is_far_off(config):
    """One and a half centimetres and eight degrees off, and another light than the model's."""
    true = made.pose(0.03, -0.02, 0.5)
    step = np.array([0.012, -0.009, 0.003, 0.03, -0.02, 0.14])
    position_mm, angle_deg = _error(_refined(true, moved(true, step), config), true)
    assert position_mm < 0.5
    assert angle_deg < 0.4


def test_pose_is_found_behind_an_arm():
    """A rod hides the middle of the object in both views; its edges must not pull."""
    true = made.pose(0.0, 0.0, 0.2)
    start = moved(true, np.array([0.006, 0.004, 0.0, 0.0, 0.0, 0.06]))
    position_mm, angle_deg = _error(_refined(true, start, has_rod=True), true)
    assert position_mm < 0.7
    assert angle_deg < 0.5


def test_a_lifted_object_is_not_held_down():
    """The prior of lying on the table lets go of what the images show in the air."""
    true = moved(made.pose(0.0, 0.0, 0.3), np.array([0.0, 0.0, 0.05, 0.1, 0.0, 0.0]))
    start = moved(true, np.array([0.003, 0.002, -0.004, 0.0, 0.0, 0.03]))
    found = refine(
        made.TRACKED, made.views(true, 4), start, np.zeros(6), FAST, renderer=made.RENDERER, resting=Resting(made.REST)
    )
    assert _error(found.T_world_object, true)[0] < 0.7


def test_cameras_that_are_late_see_the_object_where_it_was():
    """With the velocity known, views of different times agree on the pose at the frame's time."""
    true, velocity = made.pose(0.02, 0.01, 0.4), np.array([0.2, -0.1, 0.0, 0.0, 0.0, 0.5])
    scene = made.views(true, 5, delays_s=(-0.02, 0.02), velocity=velocity)
    found = refine(made.TRACKED, scene, true, velocity, FAST, renderer=made.RENDERER).T_world_object
    naive = refine(made.TRACKED, scene, true, np.zeros(6), FAST, renderer=made.RENDERER).T_world_object
    assert _error(found, true)[0] < 0.5
    assert _error(naive, true)[0] > _error(found, true)[0]


def test_evidence_pulls_back_along_every_axis():
    """Between starts on either side of the truth, the step asked for turns round: Jacobians have the right signs."""
    true = made.pose(0.0, 0.0, 0.7)
    scene = made.views(true, 6, noise=0.0)

    def wanted(step: np.ndarray) -> np.ndarray:
        T = moved(true, step)
        evidence, _ = look(Sight(made.TRACKED, scene, np.zeros(6), FAST, made.RENDERER, None), T, 0.0)
        H = np.sum([e.information for e in evidence], axis=0)
        return np.linalg.solve(H, np.sum([e.gradient for e in evidence], axis=0))

    for axis, size in enumerate((1e-3, 1e-3, 1e-3, 0.02, 0.02, 0.02)):
        step = size * np.eye(6)[axis]
        slope = (wanted(step) - wanted(-step))[axis] / (2.0 * size)
        assert -1.5 < slope < -0.2


@pytest.mark.slow
def test_intervals_cover_under_noise():
    """Ninety per cent intervals hold at least that share of errors, within the binomial bound, over noise draws."""
    true, inside, count = made.pose(0.01, 0.02, 0.9), 0, 16
    for seed in range(count):
        found = refine(made.TRACKED, made.views(true, 50 + seed), true, np.zeros(6), FAST, renderer=made.RENDERER)
        sigma = np.sqrt(np.diag(np.linalg.inv(found.information)))
        turn = SE3.from_matrix(found.T_world_object).rotation @ SE3.from_matrix(true).rotation.inverse()
        error = np.concatenate([found.T_world_object[:3, 3] - true[:3, 3], turn.log()])
        inside += int(np.count_nonzero(np.abs(error) <= 1.645 * sigma))
    # Components share their noise, so 16 draws count, not 96: two standard deviations below 0.9.
    assert inside / (6 * count) > 0.9 - 2.0 * np.sqrt(0.9 * 0.1 / count)


def test_detection_needs_no_start():
    """From masks or from colour alone, the object is found anywhere on the table at any yaw."""
    true = made.pose(-0.05, 0.06, 2.3)
    scene = made.views(true, 7)
    masks = {view.camera: likely_object(view, made.TRACKED) for view in scene}
    for given in (masks, {}):
        found = detect(made.TRACKED, scene, given, Resting(made.REST), FAST, renderer=made.RENDERER)
        assert found is not None
        assert _error(found.T_world_object, true)[0] < 1.0
    empty = made.views(None, 8)
    assert detect(made.TRACKED, empty, {}, Resting(made.REST), FAST, renderer=made.RENDERER) is None


def test_hidden_views_tell_nothing():
    """An object behind something in every view has no visible pixel and no information."""
    scene = [made.emptied(view) for view in made.views(made.pose(0.0, 0.0, 0.0), 9)]
    found = refine(made.TRACKED, scene, made.pose(0.0, 0.0, 0.0), np.zeros(6), FAST, renderer=made.RENDERER)
    assert found.visible_px == 0
    assert not any(evidence.is_any for evidence in found.evidence)
    assert found.sigma == np.inf
    assert not Evidence.none().is_any


def test_perturbations_about_object_and_world_are_the_same_motion():
    """`about_world` takes one to the other, to first order."""
    T, step = made.pose(0.3, -0.2, 0.4), 1e-6 * np.arange(1.0, 7.0)
    left = SE3.exp(about_world(T[:3, 3]) @ step) @ SE3.from_matrix(T)
    np.testing.assert_allclose(left.as_matrix(), moved(T, step), atol=1e-11)
