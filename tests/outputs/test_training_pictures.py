"""Pictures of a training: lines go up where success does, and the object is drawn where it is."""

import numpy as np

from gemel.outputs.pictures.learning_curve import learning_curve
from gemel.outputs.pictures.push_sheet import push_sheet
from gemel.services.tasks import get_object


def test_a_curve_rises_from_left_to_right() -> None:
    """Coloured pixels of a rising line are higher on the right; unknown success is not drawn; nothing may be empty."""
    steps, success = np.arange(1, 101) * 1000, np.linspace(-0.1, 1.0, 100)
    picture = learning_curve({"privileged-0": (steps, success), "privileged-1": (steps[:1], success[:1])})
    blue = (picture == (31, 119, 180)).all(axis=2)[:300]
    rows, columns = np.nonzero(blue)
    left, right = rows[columns < np.median(columns)].mean(), rows[columns > np.median(columns)].mean()
    assert right < left - 50
    assert learning_curve({}).shape == picture.shape


def test_the_object_is_drawn_where_it_is() -> None:
    """Eight moments; the block's pixels have its area and its middle, and cover the goal at the end."""
    goal, shape = np.array([0.47, -0.12, 0.0]), get_object("t_block").collision
    path = np.zeros((120, 5))
    path[:, 0], path[:, 1], path[:, 3] = 0.47, np.linspace(0.1, -0.12, 120), 0.2
    picture = push_sheet(path, goal, shape)
    orange = (picture == (230, 120, 50)).all(axis=2)
    area_m2 = orange.sum() * 0.004**2 / 8
    assert np.isclose(area_m2, sum(box.size[0] * box.size[1] for box in shape), rtol=0.05)
    green = (picture == (150, 200, 150)).all(axis=2)
    half = picture.shape[1] // 4
    assert green[:, :half].any()
    assert not green[picture.shape[0] // 2 :, -half:].any()
