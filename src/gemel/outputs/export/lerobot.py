"""LeRobot v3.0: the twin's joints, commands and units as a dataset that the tools for robots' own logs read.

It holds one episode in which the robot holds still. What policies do in the twin is recorded by `gemel evaluate`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.errors import ConfigError
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.rollout import largest_difference
from gemel.outputs.export.same_files import file_checks
from gemel.outputs.export.scene import ExportScene
from gemel.services.formats.lerobot_reader import open_source
from gemel.services.formats.lerobot_recorder import Recorder, RobotNotes, numbers_of
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.slots import controls, joint_unit, resting_commands

CONVENTIONS = {"unit": "rad, m, s (meta/gemel.toml says it per joint)", "up": "z", "quaternions": "wxyz"}
SECONDS = 4.0
"""Length of the episode in which the robot holds still."""
_FPS = 25.0


def held_episode(scene: ExportScene) -> Episode:
    """The twin under its servos' held pose, from where everything starts: one episode of the twin."""
    model = scene.model
    period_s = scene.twin.task.control_period_s if scene.twin.task is not None else 1.0 / _FPS
    every = max(1, round(period_s / model.opt.timestep))
    simulator = SimulatorNative(model, 1, threads=1)
    simulator.set_parameters(tuple(scene.draw), np.array([list(scene.draw.values())]).reshape(1, -1))
    start = scene.compiled.qpos(None)
    simulator.reset(start)
    held = resting_commands(model, start)[0]
    count = max(2, round(SECONDS / (every * model.opt.timestep)))
    rollout = simulator.rollout(np.tile(held, (1, count - 1, 1)), every=every)
    if rollout.is_diverged[0]:
        raise ConfigError(
            "The twin breaks down in simulation within seconds of its start.",
            remedy="look at `gemel export DIR --to mjcf` in MuJoCo's viewer: what falls, or starts inside a thing?",
        )
    qpos = np.concatenate([start, rollout.qpos[0]])
    addresses = [int(model.joint(name).qposadr[0]) for name in joint_names(scene)]
    return Episode(
        id="0",
        kind=EpisodeKind.TASK,
        domain=Domain.TWIN,
        task="hold still",
        times_s=np.arange(count) * every * float(model.opt.timestep),
        joint_positions=qpos[:, addresses],
        actions=np.tile(held, (count, 1)),
        object_poses={name: body_poses(model, name, qpos) for name in scene.compiled.objects},
    )


def joint_names(scene: ExportScene) -> tuple[str, ...]:
    """The logged joints that the model has."""
    return tuple(name for name in scene.compiled.joints if name)


def action_names(scene: ExportScene) -> tuple[str, ...]:
    """What each command moves."""
    return tuple(control.label for control in controls(scene.model))


def write_lerobot(scene: ExportScene, episode: Episode, folder: Path) -> tuple[str, ...]:
    """Write an episode of the twin; what the dataset leaves out, in words."""
    notes = RobotNotes(
        joint_names=joint_names(scene),
        action_names=action_names(scene),
        robot_type=scene.twin.robot.name if scene.twin.robot is not None else "none",
        joint_units={name: joint_unit(scene.model, name) for name in joint_names(scene)},
    )
    times_s = episode.times_s
    with Recorder(folder, notes, fps=round((len(times_s) - 1) / float(times_s[-1] - times_s[0]), 6)) as recorder:
        recorder.add(episode)
    return (
        "what a policy does, and images of it: the robot holds still here; "
        "`gemel evaluate DIR --policy … --robot twin --record NEW_FOLDER` records both",
        "shapes, looks and physics: a dataset holds what happened",
    )


def verify_lerobot(scene: ExportScene, ours: Episode, folder: Path) -> tuple[Check, ...]:
    """All numbers of the episode as float32, which is what the format keeps; names and units; then all files."""
    problems: list[object] = []
    source = open_source(folder)
    found = list(source.episodes(problems.append))
    checks = [
        Check("problems of the reader", float(len(problems)), 0.0),
        Check("episodes more or less than one", float(abs(len(found) - 1)), 0.0),
        Check("names and units that differ", float(_wrong_names(scene, source.layout)), 0.0),
    ]
    for theirs in found[:1]:
        pairs = {
            "joint positions": [(ours.joint_positions, theirs.state)],
            "actions": [(ours.actions, theirs.action)],
            "times": [(ours.times_s, theirs.times_s)],
            "poses and success": [(values, theirs.extras[key]) for key, values in numbers_of(ours).items()],
        }
        for what, compared in pairs.items():
            apart = [largest_difference(a.astype(np.float32), b.astype(np.float32)) for a, b in compared]
            checks.append(Check(what, largest(apart), 0.0))
    return (*checks, *file_checks(_written_again(scene, ours, folder), folder))


def _wrong_names(scene: ExportScene, layout: Any) -> int:
    """Joints and commands that are called otherwise, and units that are not the model's."""
    pairs = ((joint_names(scene), layout.joint_names), (action_names(scene), layout.action_names))
    wrong = sum(ours != theirs for ours, theirs in pairs)
    units = {name: scale.unit for name, scale in layout.declared_scales.items()}
    return wrong + sum(units.get(name) != joint_unit(scene.model, name) for name in joint_names(scene))


def _written_again(scene: ExportScene, episode: Episode, folder: Path) -> dict[str, bytes]:
    """The files of a second writing: what statistics and remarks ought to be."""
    with TemporaryDirectory(dir=folder.parent, prefix=".again-") as place:
        again = Path(place) / "again"
        write_lerobot(scene, episode, again)
        return {f.relative_to(again).as_posix(): f.read_bytes() for f in again.rglob("*") if f.is_file()}
