"""A twin as the scene of a tracked problem: its robot follows the joint log, its object starts where it was tracked."""

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.services.sim.compile import CompileConfig, compile_twin, mean_draw
from gemel.services.sim.led_servos import feed_forward, led_model
from gemel.services.sim.native import SimulatorNative
from gemel.stages.identify.track_frame import TRACK_PARAMETERS
from gemel.stages.identify.tracked_problem import Scene


def twin_scene(twin: Twin, name: str, blobs: Blobs, *, threads: int = 0) -> Scene:
    """The scene of one object of a twin; its robot is led along logged joint positions."""
    if name not in twin.colliders:
        raise ConfigError(
            f"The track is about {name!r}, but the twin's objects are {sorted(twin.colliders)}.",
            remedy="reconstruct and assemble the object first",
        )
    draw = {key: value for key, value in mean_draw(twin).items() if key not in TRACK_PARAMETERS}
    compiled = compile_twin(twin, blobs, draw, CompileConfig(has_force_sensors=False))
    model = led_model(compiled.model)
    return Scene(
        make=lambda count: SimulatorNative(model, count, threads=threads),
        object=name,
        place=lambda joints, Ts, velocities: compiled.state(joints, {name: Ts}, {name: velocities}),
        commands=compiled.commands,
        T_world_rest=twin.initial_poses.get(name),
        fixed=feed_forward(model),
    )
