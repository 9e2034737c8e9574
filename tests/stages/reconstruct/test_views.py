from dataclasses import replace

import numpy as np
import pytest

from gemel.errors import GemelError
from stages.reconstruct.made_views import blank_views


def test_half_size_projects_points_to_half_the_pixel() -> None:
    """A 2x2 block becomes one pixel: means of colours, ignored if any part was, half the intrinsics."""
    rng = np.random.default_rng(0)
    views = blank_views(2)
    images = rng.random(views.images.shape, dtype=np.float32)
    ignore = np.zeros(views.ignore.shape, bool)
    ignore[0, 3, 5] = True
    half = replace(views, images=images, ignore=ignore).half_size()
    assert half.images.shape == (2, 6, 8, 3)
    assert np.allclose(half.images[1, 2, 3], images[1, 4:6, 6:8].mean(axis=(0, 1)), atol=1e-6)
    assert np.argwhere(half.ignore).tolist() == [[0, 1, 2]]
    assert np.allclose(half.intrinsics, 0.5 * views.intrinsics)


def test_subset_keeps_what_belongs_together() -> None:
    """The chosen views come in the asked order with their own poses."""
    views = blank_views(4)
    chosen = views.subset([2, 0])
    assert len(chosen) == 2
    assert np.allclose(chosen.Ts_world_camera.translation, views.Ts_world_camera.translation[[2, 0]])


def test_unequal_lengths_are_refused() -> None:
    """One pose too few is told, not broadcast."""
    views = blank_views(3)
    with pytest.raises(GemelError, match="one of each per image"):
        replace(views, Ts_world_camera=views.Ts_world_camera[:2])
