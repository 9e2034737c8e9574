"""Cameras above a table: the map brings them together, and a plain table leaves them alone."""

import numpy as np

from gemel.geometry import SE3, SO3, Pinhole
from gemel.stages.segment.table_align import align_to_table
from gemel.stages.segment.table_map import plane_points, table_grid
from gemel.stages.segment.view import View

CAMERA = Pinhole(96, 72, 70.0, 70.0, 48.0, 36.0)


def _texture(xy: np.ndarray, contrast: float) -> np.ndarray:
    """A table with waves of many directions, so that it can be seen where it is."""
    rng = np.random.default_rng(1)
    waves = rng.normal(0.0, 90.0, (60, 2))
    phases = rng.uniform(0.0, 6.28, 60)
    value = np.cos(np.nan_to_num(xy) @ waves.T + phases).sum(axis=-1)
    return np.repeat((120 + contrast * value).clip(0, 255)[..., None], 3, axis=-1).astype(np.uint8)


def _views(contrast: float, mount_error: np.ndarray) -> tuple[list[View], list[SE3]]:
    """Views round a spot of the table whose guesses all have the same error of mounting."""
    views, true = [], []
    for k, angle in enumerate(np.linspace(0.0, 4.5, 14)):
        eye = np.array([0.45 + 0.22 * np.cos(angle), 0.22 * np.sin(angle), 0.3])
        pose = SE3.look_at(eye, np.array([0.45, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
        image = _texture(plane_points(CAMERA, pose, 0.0), contrast)
        guess = SE3(pose.rotation @ SO3.exp(mount_error[3:]), pose.translation + pose.rotation @ mount_error[:3])
        views.append(View("0", "wrist", k, image, False, model=CAMERA, T_world_camera=guess))
        true.append(pose)
    return views, true


def _disagreement(poses: list[SE3]) -> float:
    """How far apart the views see one point of the table [m]: root mean square about their mean."""
    places = []
    for pose in poses:
        point = np.array([0.46, 0.02, 0.0])
        ray = pose.rotation @ CAMERA.unproject(CAMERA.project(_TRUE[len(places)].inverse() @ point))
        places.append(pose.translation + ray * (-pose.translation[2] / ray[2]))
    return float(np.sqrt(((np.array(places) - np.mean(places, axis=0)) ** 2).sum(axis=1).mean()))


_TRUE: list[SE3] = []


def test_views_of_a_textured_table_agree_after_alignment() -> None:
    """An error of mounting of a degree and 8 mm becomes less than a millimetre of disagreement on the table."""
    views, true = _views(12.0, np.array([0.006, -0.005, 0.0, 0.012, -0.014, 0.0]))
    _TRUE[:] = true
    grid = table_grid(views, 0.0)
    assert grid is not None
    before = _disagreement([v.T_world_camera for v in views if v.T_world_camera is not None])
    states = align_to_table(views, grid, [np.zeros(v.size, dtype=bool) for v in views])
    after = _disagreement([s.pose(v) for s, v in zip(states, views, strict=True)])
    assert before > 0.004
    assert after < 0.001


def test_a_plain_table_leaves_the_guesses_alone() -> None:
    """Without texture nothing is learnt, and nothing is invented: poses stay within a tenth of their deviation."""
    views, _ = _views(0.0, np.zeros(6))
    grid = table_grid(views, 0.0)
    assert grid is not None
    for state in align_to_table(views, grid, [np.zeros(v.size, dtype=bool) for v in views]):
        assert np.abs(state.shared[:3]).max() < 0.001
        assert np.abs(state.shared[3:]).max() < 0.0035
