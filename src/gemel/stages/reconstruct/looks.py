"""A fitted object as a camera sees it: for the gate, for pictures and for benchmarks."""

import numpy as np
from jaxtyping import Float32

from gemel.services.render.draw_splatmesh import draw_splatmesh
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations


def drawn(
    fitted: FittedObject, located: Located, observations: Observations, v: int
) -> tuple[Float32[np.ndarray, "h w 3"], Float32[np.ndarray, "h w"]]:
    """A fitted object as one of the observations should show it: colours over black, and coverage."""
    gain, offset = fitted.response(observations.cameras[observations.camera[v]].name)
    return draw_splatmesh(
        fitted.mesh, located.Ts_world_camera[v], located.intrinsics[v], observations.images[v].shape[:2],
        gain=gain, offset=offset,
    )  # fmt: skip
