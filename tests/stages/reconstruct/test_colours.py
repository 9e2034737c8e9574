"""Colour responses in the artifact: a row for each camera, and cameras that saw nothing of an object."""

from dataclasses import replace

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.geometry import SE3, Pinhole, box_mesh
from gemel.stages.reconstruct.colours import object_response, scene_response
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.object_views import ObjectViews
from gemel.stages.reconstruct.scene.response import Responses
from services.sim.made_twin import splat_mesh
from stages.reconstruct.made_views import blank_views


def _camera(name: str) -> Camera:
    return Camera(name, 64, 48, Pinhole(64, 48, 60.0, 60.0, 32.0, 24.0), "world", SE3.identity())


def _fitted() -> FittedObject:
    views = replace(blank_views(4), camera_names=("side", "side", "wrist", "wrist"))
    rows = np.arange(4)
    lights = np.array([[0.1, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]])
    return FittedObject(
        splat_mesh(*box_mesh((0.1, 0.1, 0.1))), ObjectViews(views, None, rows, rows[:0]),
        ((1.0, 1.0, 1.0), (0.8, 0.9, 1.1)), ((0.0, 0.0, 0.0), (0.01, 0.02, 0.03)), lights,
    )  # fmt: skip


def test_every_camera_has_a_row_for_scene_and_object() -> None:
    """Rows follow the cameras of the reconstruction; what a camera's views were lit by is averaged."""
    cameras = (_camera("wrist"), _camera("front"), _camera("side"))
    scene = scene_response(
        cameras, ("front", "side"), Responses(np.array([[9.0] * 3, [0.5, 1.0, 2.0]]), np.array([[9.0] * 3, [0.1] * 3]))
    )
    assert np.array_equal(scene.gains, [[1.0] * 3, [1.0] * 3, [0.5, 1.0, 2.0]])  # the first is the gauge
    assert np.array_equal(scene.offsets[2], [0.1] * 3)
    found = object_response(cameras, _fitted(), scene)
    assert np.array_equal(found.gains[0], [0.8, 0.9, 1.1])
    assert np.allclose(found.lights[[0, 2]], [[0.0, 0.5, 0.0], [0.2, 0.0, 0.0]])
    assert np.array_equal(found.gains[2], [1.0] * 3)


def test_a_camera_that_never_saw_the_object_differs_as_it_does_in_the_scene() -> None:
    """From the colours of the object's own camera back to the scene's, and on to the other camera: two lines in one."""
    cameras = (_camera("front"), _camera("side"), _camera("wrist"))
    responses = Responses(
        np.array([[1.0] * 3, [0.5, 0.8, 1.2], [1.1] * 3]), np.array([[0.0] * 3, [0.1] * 3, [0.0] * 3])
    )
    scene = scene_response(cameras, ("front", "side", "wrist"), responses)
    found = object_response(cameras, _fitted(), scene)
    plain = np.array([0.2, 0.4, 0.6])
    as_side = scene.gains[1] * plain + scene.offsets[1]
    assert np.allclose(found.gains[0] * as_side + found.offsets[0], plain)
    assert np.array_equal(object_response(cameras, _fitted(), None).gains[0], [1.0] * 3)
