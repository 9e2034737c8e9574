"""Plates: what a camera sees without robot and objects, from frames in which they are elsewhere."""

import numpy as np

from gemel.services.tracking.scenery import plate


def test_a_plate_is_the_table_behind_what_moves():
    """A block that wanders over the table leaves no trace; where nothing is ever free, the drawing stands in."""
    rng = np.random.default_rng(0)
    table = rng.uniform(0.2, 0.8, (20, 30, 3)).astype(np.float32)
    images, is_free = [], []
    for k in range(12):
        free = np.ones((20, 30), dtype=bool)
        free[5:12, 2 * k : 2 * k + 6] = False
        free[18:] = False
        image = np.where(free[..., None], table, 1.0) + 0.01 * rng.standard_normal(table.shape)
        images.append(image.astype(np.float32))
        is_free.append(free)
    drawn = np.full_like(table, 0.5)
    found = plate(images, is_free, drawn)
    np.testing.assert_allclose(found[:18], table[:18], atol=0.02)
    np.testing.assert_array_equal(found[18:], drawn[18:])
