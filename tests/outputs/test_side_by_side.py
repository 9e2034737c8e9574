"""Real frames beside the twin's: what the pictures and their scores say."""

import numpy as np
import pytest

from gemel.artifacts.track import Track
from gemel.geometry import SE3, SO3
from gemel.outputs.pictures.side_by_side import TwinFrame, side_by_side
from gemel.twin_pictures import likeness, pose_at


def test_scores_follow_the_error() -> None:
    """An error of 0.1 everywhere is 20 dB; the same image is perfect."""
    rng = np.random.default_rng(0)
    image = rng.uniform(0.2, 0.8, (24, 32, 3)).astype(np.float32)
    psnr, ssim = likeness(image, image + np.float32(0.1))
    assert psnr == pytest.approx(20.0, abs=0.01)
    assert ssim < 1.0
    assert likeness(image, image)[1] == pytest.approx(1.0)


def test_differences_are_red_where_the_twin_is_brighter() -> None:
    real = np.full((60, 80, 3), 0.5, dtype=np.float32)
    twin = real.copy()
    twin[:, :40] += 0.2
    twin[:, 40:] -= 0.2
    picture = side_by_side([TwinFrame("1 front 0.5 s", real, twin, 14.0, 0.9)])
    right = picture[picture.shape[0] // 2, -320:]
    assert right[40, 0] > 100 > right[40, 2]
    assert right[-40, 2] > 100 > right[-40, 0]


def test_a_pose_between_two_tracked_ones_and_beyond_them() -> None:
    poses = SE3(SO3.exp(np.array([[0.0, 0, 0], [0.0, 0, 1.0]])), np.array([[0.0, 0, 0], [0.1, 0, 0]]))
    track = Track("1", "block", np.array([0.0, 1.0]), poses, np.zeros((2, 6, 6)), np.zeros(2, dtype=bool))
    assert pose_at(track, 0.25).rotation.log()[2] == pytest.approx(0.25)
    np.testing.assert_allclose(pose_at(track, -5.0).translation, 0.0, atol=1e-12)
    np.testing.assert_allclose(pose_at(track, 5.0).translation, [0.1, 0.0, 0.0], atol=1e-12)
