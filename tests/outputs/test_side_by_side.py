"""Real frames beside the twin's: what the pictures and their scores say."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.split import FitData
from gemel.artifacts.track import Track, Tracks
from gemel.geometry import SE3, SO3
from gemel.outputs.pictures.side_by_side import TwinFrame, side_by_side
from gemel.store.store import Store
from gemel.trial_frames import pose_at
from gemel.twin_pictures import likeness, twin_pictures
from services.sim.made_twin import block_twin


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


def test_a_twin_without_a_robot_says_why_it_was_not_drawn(tmp_path: Path) -> None:
    """No pictures, and a finding instead of silence."""

    def nothing(*_: object) -> Any:
        raise AssertionError("no frame was expected to be read")

    store = Store(tmp_path / "store")
    twin, fit = block_twin(store, {}), FitData((), (), (), (), (), None)
    frames: Any = SimpleNamespace(episode=nothing, image=nothing, images=nothing, depth=nothing, close=nothing)
    pictures, finding = twin_pictures(twin, fit, Tracks((), "video"), frames, store)
    assert pictures == {}
    assert finding.code == "twin-not-shown"
    assert "robot" in finding.message
    store.close()
