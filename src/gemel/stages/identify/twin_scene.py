"""A twin as the scene of a tracked problem: its robot follows the joint log, its object starts where it was tracked."""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.sim.compile import CompileConfig, compile_twin, mean_draw
from gemel.services.sim.led_servos import servo_leads
from gemel.services.sim.native import SimulatorNative
from gemel.stages.identify.tracked_problem import TRACK_PARAMETERS, Scene


def twin_scene(twin: Twin, name: str, blobs: Blobs, *, threads: int = 0) -> Scene:
    """The scene of one object of a twin; servos are led along logged joint positions."""
    if name not in twin.colliders:
        raise ConfigError(
            f"The track is about {name!r}, but the twin's objects are {sorted(twin.colliders)}.",
            remedy="reconstruct and assemble the object first",
        )
    draw = {key: value for key, value in mean_draw(twin).items() if key not in TRACK_PARAMETERS}
    compiled = compile_twin(twin, blobs, draw, CompileConfig(has_force_sensors=False))
    model = compiled.model
    address = int(model.joint(name).dofadr[0])

    def place(
        commands: Float[np.ndarray, "n control"], Ts_world_object: SE3, velocities: Float[np.ndarray, "n 6"]
    ) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo wants linear velocities along the world's axes, angular ones along the body's."""
        qvel = np.zeros((len(commands), model.nv))
        rotations = Ts_world_object.rotation.as_matrix()
        qvel[:, address : address + 3] = np.einsum("nij,nj->ni", rotations, velocities[:, :3])
        qvel[:, address + 3 : address + 6] = velocities[:, 3:]
        return compiled.qpos(commands if compiled.joints else None, {name: Ts_world_object}), qvel

    return Scene(
        make=lambda count: SimulatorNative(model, count, threads=threads),
        object=name,
        place=place,
        T_world_rest=twin.initial_poses.get(name),
        # Without these the robot, and all that it pushes, would trail the log by the servos' lag.
        fixed={key: float(lead[0]) for key, lead in servo_leads(model, 1, {}).items() if key not in twin.belief.names},
    )
