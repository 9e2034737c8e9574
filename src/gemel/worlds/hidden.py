"""The hidden truth of one world, drawn from its seed: what the user has to find out, or will never know.

Random streams are separate: the world's truth, each episode and each frame have their own generator, so that nothing
depends on the order or the process in which they are made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.task import Task
from gemel.geometry import SE3, SO3, Pinhole
from gemel.worlds.friction import FrictionMap
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.machine import Machine

_BOUNCY: dict[str, Any] = {"solref": "0.006 0.4", "timestep_s": 0.0005}
"""A thrown cube bounces: below critical damping, which needs short steps to keep its energy balance."""


_LENS_M = 0.005
"""How far in front of its centre of projection a camera begins to see [m]."""


class Stream(IntEnum):
    """Which part of a world a random generator belongs to."""

    TRUTH = 1
    EPISODE = 2
    FRAME = 3
    SENSORS = 4
    OPERATOR = 5
    LOOKS = 6


def stream_rng(seed: int, stream: Stream, *indices: int) -> np.random.Generator:
    """The generator of one part of a world."""
    return np.random.default_rng([seed, int(stream), *indices])


@dataclass(frozen=True, eq=False)
class Hidden:
    """What is true of one world."""

    parameters: Mapping[str, float]
    """True values of the task's unknown parameters, by name, SI units."""
    joint_offsets: Float[np.ndarray, " joint"]
    """Add to the true angle to get the reading [rad]; grippers have none."""
    T_world_bases: Mapping[str, SE3]
    """Where each arm really stands."""
    cameras: tuple[Camera, ...]
    """The cameras as they really are."""
    friction: FrictionMap
    """Friction of the table under the object."""
    torque_scale: float
    solref: str = "0.006 1"
    """MuJoCo's contact time constant and damping between object and table."""
    timestep_s: float = 0.002
    """Largest physics step [s]."""

    def contact_friction(self, object_name: str) -> tuple[float, float]:
        """Mean friction of the object against the table and against the tool."""
        values = {name.removeprefix(f"contact/{object_name}-"): v for name, v in self.parameters.items()}
        table = values.get("table/friction", values.get("board/friction", 0.5))
        return table, values.get("pusher/friction", values.get("gripper/friction", 0.5))


def draw_hidden(
    task: Task, machine: Machine, cameras: tuple[Camera, ...], imperfections: Imperfections, seed: int
) -> Hidden:
    """The truth of the world of this seed; `cameras` are the guesses that the user is given."""
    rng = stream_rng(seed, Stream.TRUTH)
    parameters = {
        name: _within(rng, low, high, imperfections.object_spread)
        for name, (low, high) in task.parameter_ranges.items()
    }
    friction = next((v for name, v in parameters.items() if name.endswith(("-table/friction", "-board/friction"))), 0.5)
    return Hidden(
        parameters=parameters,
        joint_offsets=np.where(machine.is_gripper, 0.0, imperfections.encoder_offset_rad)
        * rng.standard_normal(len(machine.joint_names)),
        T_world_bases={arm.name: _moved_base(rng, arm.T_world_base, imperfections) for arm in machine.arms},
        cameras=tuple(_true_camera(rng, camera, imperfections, machine) for camera in cameras),
        friction=FrictionMap.random(
            rng,
            mean=friction,
            unevenness=imperfections.friction_unevenness,
            patch_m=max(imperfections.friction_patch_m, 0.01),
        ),
        torque_scale=imperfections.torque_limit,
        **(_BOUNCY if task.name == "toss" else {}),
    )


def _within(rng: np.random.Generator, low: float, high: float, spread: float) -> float:
    """Uniform within the middle `spread` part of a range."""
    middle, half = 0.5 * (low + high), 0.5 * spread * (high - low)
    return float(rng.uniform(middle - half, middle + half))


def _moved_base(rng: np.random.Generator, nominal: SE3, imperfections: Imperfections) -> SE3:
    """The base slid and turned on the table."""
    x, y, yaw = rng.standard_normal(3) * np.array(
        [imperfections.base_position_error_m] * 2 + [imperfections.base_yaw_error_rad]
    )
    return SE3(SO3.exp(np.array([0.0, 0.0, yaw])) @ nominal.rotation, nominal.translation + np.array([x, y, 0.0]))


def _true_camera(rng: np.random.Generator, guess: Camera, imperfections: Imperfections, machine: Machine) -> Camera:
    """The camera whose guess is wrong by a random turn, shift, focal length and delay; never inside its housing."""
    assert isinstance(guess.model, Pinhole)
    assert guess.T_parent_camera is not None
    turn = _random_direction(rng) * np.radians(rng.uniform(*imperfections.camera_rotation_error_deg))
    shift = _random_direction(rng) * rng.uniform(*imperfections.camera_position_error_m)
    scale = 1.0 + imperfections.camera_focal_error * float(rng.standard_normal())
    spread = imperfections.camera_delay_spread_s * float(rng.standard_normal())
    model, rotation = guess.model, guess.T_parent_camera.rotation @ SO3.exp(turn)
    place = guess.T_parent_camera.translation + shift
    if machine.is_in_housing(guess.parent, place + _LENS_M * rotation.as_matrix()[:, 2]):
        place = place - 2.0 * shift
    return replace(
        guess,
        model=replace(model, fx=model.fx * scale, fy=model.fy * scale),
        T_parent_camera=SE3(rotation, place),
        time_offset_s=-max(0.0, imperfections.camera_delay_s + spread),
    )


def _random_direction(rng: np.random.Generator) -> Float[np.ndarray, "3"]:
    vector = rng.standard_normal(3)
    return np.asarray(vector / np.linalg.norm(vector))
