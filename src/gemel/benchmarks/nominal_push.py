"""The nominal push scene as identification replays it: the pusher follows the path of the logged tip."""

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3, SO3
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.planar_push import KP, KV, planar_push
from gemel.services.tasks.objects import ObjectModel
from gemel.stages.identify.tracked_problem import Scene


def nominal_scene(model: ObjectModel, *, threads: int = 0) -> Scene:
    """The scene of one object."""
    compiled = planar_push(model)
    rest = SE3(SO3.identity(), np.array([0.0, 0.0, model.rest_height]))
    lead_s = {f"robot/{name}/lead": KV / KP for name in ("tip_x", "tip_y")}
    return Scene(
        make=lambda count: SimulatorNative(compiled, count, threads=threads),
        object=model.name,
        place=_place,
        T_world_rest=rest,
        fixed=lead_s,
    )


def _place(
    commands: Float[np.ndarray, "n 2"], Ts_world_object: SE3, velocities: Float[np.ndarray, "n 6"]
) -> tuple[Float[np.ndarray, "n 9"], Float[np.ndarray, "n 8"]]:
    """The object first, then the pusher; MuJoCo wants linear velocities along the world's axes."""
    pose = np.concatenate([Ts_world_object.translation, Ts_world_object.rotation.wxyz], axis=1)
    linear = np.einsum("nij,nj->ni", Ts_world_object.rotation.as_matrix(), velocities[:, :3])
    qvel = np.concatenate([linear, velocities[:, 3:], np.zeros((len(commands), 2))], axis=1)
    return np.concatenate([pose, commands], axis=1), qvel
