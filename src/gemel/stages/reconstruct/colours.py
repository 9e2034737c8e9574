"""What cameras make of colours, in the words of the artifact: one row for each camera of the reconstruction."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.reconstruction import ColourResponse
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.scene.response import Responses


def scene_response(cameras: Sequence[Camera], names: Sequence[str], responses: Responses) -> ColourResponse:
    """Of links, table and background, from the responses of cameras `names`; others are taken to be as the first."""
    rows = {name: c for c, name in enumerate(names)}
    gains, offsets = np.ones((len(cameras), 3)), np.zeros((len(cameras), 3))
    for row, camera in enumerate(cameras):
        if rows.get(camera.name, 0) > 0:  # the first is the gauge, whatever its row holds
            gains[row] = responses.gains[rows[camera.name]]
            offsets[row] = responses.offsets[rows[camera.name]]
    return ColourResponse(gains, offsets, np.zeros((len(cameras), 3)))


def object_response(cameras: Sequence[Camera], fitted: FittedObject, scene: ColourResponse | None) -> ColourResponse:
    """Of one object; a camera that never saw it differs from the one whose colours it has as it does in the scene."""
    names = fitted.views.fitted.camera_names
    gauge = next((row for row, camera in enumerate(cameras) if camera.name == names[0]), 0)
    found = ColourResponse(np.ones((len(cameras), 3)), np.zeros((len(cameras), 3)), np.zeros((len(cameras), 3)))
    for row, camera in enumerate(cameras):
        if camera.name in names:
            found.gains[row], found.offsets[row] = fitted.response(camera.name)
            found.lights[row] = _mean_light(fitted, camera.name)
        elif scene is not None:
            found.gains[row] = scene.gains[row] / scene.gains[gauge]
            found.offsets[row] = scene.offsets[row] - found.gains[row] * scene.offsets[gauge]
    return found


def _mean_light(fitted: FittedObject, camera: str) -> Float[np.ndarray, "3"]:
    is_own = np.array(fitted.views.fitted.camera_names) == camera
    return np.asarray(fitted.lights[is_own].mean(axis=0))
