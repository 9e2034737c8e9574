"""Tasks and objects as data: watertight shapes with the right number of holes, contracts that make sense."""

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.geometry import (
    bounds,
    centroid,
    component_count,
    euler_characteristic,
    is_watertight,
    is_winding_consistent,
    volume,
)
from gemel.geometry.isosurface import isosurface_mesh
from gemel.services.tasks import get_object, get_task, object_names, task_names
from gemel.services.tasks.box_union import Box, box_union_mesh

HOLES = {"t_block": 0, "hammer": 0, "cube": 0, "big_cube": 0, "mug": 1, "ring": 1, "bracket": 3}


@pytest.mark.parametrize("name", object_names())
def test_objects_are_closed_surfaces_with_their_holes(name: str) -> None:
    """One piece, no border, faces outward, and as many holes as the thing has (Euler: 2 - 2 holes)."""
    model = get_object(name)
    mesh = (model.vertices, model.faces)
    assert is_watertight(*mesh)
    assert is_winding_consistent(*mesh)
    assert component_count(*mesh) == 1
    assert volume(*mesh) > 0.0
    assert euler_characteristic(*mesh) == 2 - 2 * HOLES[name]


@pytest.mark.parametrize("name", object_names())
def test_object_frames_lie_in_the_middle(name: str) -> None:
    """The origin is the middle of the bounding box (the mug's handle aside); objects rest on its lower side."""
    model = get_object(name)
    low, high = bounds(model.vertices, model.faces)
    assert model.rest_height == pytest.approx(-low[2])
    np.testing.assert_allclose((low + high)[1:], 0.0, atol=1e-3)


def test_the_t_block_is_that_of_the_paper() -> None:
    """20 x 20 x 4 cm, and a uniform one balances 3.2 cm from the middle towards the bar."""
    model = get_object("t-block")
    low, high = bounds(model.vertices, model.faces)
    np.testing.assert_allclose(high - low, [0.2, 0.2, 0.04])
    np.testing.assert_allclose(centroid(model.vertices, model.faces), [0.0, 0.0321428, 0.0], atol=1e-6)


def test_boxes_may_be_cut_out_of_boxes() -> None:
    """A frame of four bars: volume of the block less that of the hole, one hole through it."""
    frame = box_union_mesh([Box((0.0, 0.0, 0.0), (3.0, 3.0, 1.0))], [Box((0.0, 0.0, 0.0), (1.0, 1.0, 2.0))])
    assert volume(*frame) == pytest.approx(8.0)
    assert euler_characteristic(*frame) == 0


def test_isosurface_of_a_ball_has_its_volume() -> None:
    """Marching tetrahedra close the surface and come within a percent of the ball's volume."""
    ball = isosurface_mesh(lambda p: np.linalg.norm(p, axis=1) - 1.0, (-1.2,) * 3, (1.2,) * 3, 0.1)
    assert is_watertight(*ball)
    assert is_winding_consistent(*ball)
    assert volume(*ball) == pytest.approx(4.0 / 3.0 * np.pi, rel=0.01)


@pytest.mark.parametrize("name", task_names())
def test_contracts_are_complete(name: str) -> None:
    """Ranges are ordered, objects exist, and goals are inside what the observation allows."""
    task = get_task(name)
    assert task.control_period_s > 0
    assert task.time_limit_s > task.control_period_s
    assert all(low < high for low, high in (*task.initial_conditions.values(), *task.parameter_ranges.values()))
    assert all(get_object(object_name).mass_kg > 0 for object_name in task.objects)


def test_unknown_names_get_the_closest_one() -> None:
    """Typing errors are answered with a suggestion."""
    with pytest.raises(ConfigError, match="Closest: 'push-t'"):
        get_task("pusht")
    with pytest.raises(ConfigError, match="Closest: 'hammer'"):
        get_object("hamer")
