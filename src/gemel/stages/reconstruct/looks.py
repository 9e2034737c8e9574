"""A fitted object as a camera sees it: for the gate, for pictures and for benchmarks."""

import numpy as np
from jaxtyping import Float32

from gemel.services.render.draw_splatmesh import draw_splatmesh
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.light import light_at, light_basis
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations
from gemel.stages.reconstruct.scene.scene import SceneInfo


def drawn(
    fitted: FittedObject, located: Located, observations: Observations, v: int
) -> tuple[Float32[np.ndarray, "h w 3"], Float32[np.ndarray, "h w"]]:
    """A fitted object as one of the observations should show it: colours over black, and coverage."""
    gain, offset = fitted.response(observations.cameras[observations.camera[v]].name)
    shape = observations.images[v].shape[:2]
    colour, coverage = draw_splatmesh(
        fitted.mesh, located.Ts_world_camera[v], located.intrinsics[v], shape, gain=gain, offset=offset
    )
    light = light_at(fitted.lights, fitted.views.fitted_rows, observations, v).astype(np.float32)
    return np.exp(light_basis(located.intrinsics[v], shape) @ light)[..., None] * colour, coverage


def drawn_in_scene(
    fitted: FittedObject, scene: SceneInfo, located: Located, observations: Observations, v: int
) -> Float32[np.ndarray, "h w 3"]:
    """The same with robot, table and background behind it."""
    colour, coverage = drawn(fitted, located, observations, v)
    behind = scene.behind(v, located.intrinsics[v], observations.images[v].shape[:2])
    return colour + (1.0 - coverage[..., None]) * behind
