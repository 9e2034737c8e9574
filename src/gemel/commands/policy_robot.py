"""Robots that a policy can run on, by the names that `gemel evaluate --robot` takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.task import Task
from gemel.errors import ConfigError, choices_text
from gemel.services.formats.lerobot_recorder import RobotNotes
from gemel.services.policy import InitialCondition, Robot
from gemel.services.policy.conditioned import Tip
from gemel.services.sim.slots import joint_unit


@dataclass(frozen=True, eq=False)
class Opened:
    """A robot, and what is known about it."""

    robot: Robot
    task: Task
    tip: Tip
    conditions: Callable[[int], InitialCondition | None]
    units: Mapping[str, str]
    """Of the joints."""
    truth: Mapping[str, float] = field(default_factory=dict)
    """True parameters, where somebody knows them."""
    cameras: tuple[Camera, ...] = ()
    """Whose images the robot gives."""

    def notes(self) -> RobotNotes:
        """What a dataset of its episodes says about it."""
        return RobotNotes(
            joint_names=self.robot.joint_names,
            action_names=self.robot.action_names,
            robot_type=str(self.robot.domain),
            joint_units=self.units,
            action_units={q.name: q.unit for q in self.task.action if q.name in self.robot.action_names},
            cameras=self.cameras,
            object_name=self.task.objects[0],
        )


def open_robot(name: str, folder: Path, task_name: str, *, is_seen: bool = False) -> Opened:
    """`world:NAME[:SEED]`, a stand-in with a tracker, or `twin`, that of the project in the folder.

    `is_seen`: whether the twin's cameras are drawn.
    """
    kind, _, rest = name.partition(":")
    if kind == "twin":
        return _twin(folder, task_name, is_seen=is_seen)
    if kind != "world":
        raise ConfigError(
            f"Robot {choices_text(kind, ('world', 'twin'))}", remedy="use world:push-t, world:push-t:SEED or twin"
        )
    world_name, _, seed = rest.partition(":")
    if seed and not seed.isdigit():
        raise ConfigError(f"The world's seed is {seed!r}; a whole number was expected.", remedy="use world:push-t:3")
    return _world(world_name or task_name, int(seed or 0))


def _world(name: str, seed: int) -> Opened:
    from gemel.worlds.scenario import World, WorldConfig
    from gemel.worlds.world_robot import WorldRobot

    world = World(WorldConfig(name, seed=seed))
    robot = WorldRobot(world, is_rendering=False, has_tracker=True)
    (arm, *_) = world.machine.arms

    def tip(joints: Float[np.ndarray, "1 joint"]) -> Float[np.ndarray, "1 2"]:
        return world.kinematics.forward(arm, joints[0]).translation[None, :2]

    machine = world.machine
    units = {n: "m" if slides else "rad" for n, slides in zip(machine.joint_names, machine.is_gripper, strict=True)}
    return Opened(robot, world.task, tip, world.initial_condition, units, dict(world.hidden.parameters))


def _twin(folder: Path, task_name: str, *, is_seen: bool) -> Opened:
    """The project's twin, with its cameras where images are wanted."""
    from gemel.envs import make_robot, open_twin

    twin = open_twin(folder, task=task_name)
    cameras = twin.cameras if is_seen else ()
    robot = make_robot(twin, cameras=[camera.name for camera in cameras])
    arena = robot.arena
    if arena.arm is None:
        raise ConfigError("The twin's robot has no tip.", remedy="use a task that moves tip_x and tip_y")
    rng = np.random.default_rng(0)
    ranges = arena.task.initial_conditions
    drawn = [{name: float(rng.uniform(*ends)) for name, ends in ranges.items()} for _ in range(10_000)]
    units = {name: joint_unit(arena.model, name) for name in arena.joint_names}
    return Opened(robot, arena.task, arena.arm.tips, lambda number: drawn[number % len(drawn)], units, cameras=cameras)
