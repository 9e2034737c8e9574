"""LeRobot v3.0: episodes of the twin as a dataset that the tools for robots' own logs read."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.errors import ConfigError
from gemel.outputs.export.report import Check
from gemel.outputs.export.rollout import largest_difference
from gemel.outputs.export.scene import ExportScene
from gemel.services.formats.lerobot_reader import open_source
from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter
from gemel.services.formats.toml_table import toml_key, toml_lines
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.slots import controls

CONVENTIONS = {"unit": "rad, m, s (meta/gemel.toml says it per joint)", "up": "z", "quaternions": "wxyz"}
SECONDS = 4.0
"""Length of the episode in which the robot holds still."""
_FPS = 25.0
_POSE_PREFIX = "observation.object_pose."


def held_episode(scene: ExportScene) -> Episode:
    """The twin under its servos' held pose, from where everything starts: one episode of the twin."""
    model = scene.model
    period_s = scene.twin.task.control_period_s if scene.twin.task is not None else 1.0 / _FPS
    every = max(1, round(period_s / model.opt.timestep))
    simulator = SimulatorNative(model, 1, threads=1)
    simulator.set_parameters(tuple(scene.draw), np.array([list(scene.draw.values())]).reshape(1, -1))
    start = scene.compiled.qpos(None)
    simulator.reset(start)
    held = _held_commands(scene)
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


def write_lerobot(scene: ExportScene, episodes: Sequence[Episode], folder: Path) -> tuple[str, ...]:
    """Write episodes of the twin; what the dataset leaves out, in words."""
    export_lerobot(
        episodes,
        folder,
        joint_names=joint_names(scene),
        action_names=action_names(scene),
        units={name: _unit(scene, name) for name in joint_names(scene)},
        robot_type=scene.twin.robot.name if scene.twin.robot is not None else "none",
    )
    return ("images: the twin's cameras are not drawn here", "shapes, looks and physics: a dataset holds what happened")


def export_lerobot(
    episodes: Sequence[Episode],
    folder: Path,
    *,
    joint_names: tuple[str, ...],
    action_names: tuple[str, ...],
    units: dict[str, str],
    robot_type: str = "unknown",
    images: Sequence[Mapping[str, Sequence[UInt8[np.ndarray, "h w 3"]]]] = (),
) -> None:
    """Episodes of one robot as a LeRobot v3.0 dataset; poses of objects become number features of width seven.

    `images` has the frames of each episode by camera, one for each step, where somebody has drawn them.
    """
    if not episodes:
        raise ConfigError("There are no episodes to export.", remedy="record rollouts of the twin first")
    first = episodes[0]
    fps = (len(first.times_s) - 1) / float(first.times_s[-1] - first.times_s[0])
    spec = LerobotSpec(
        fps=round(fps, 6),
        joint_names=joint_names,
        action_names=action_names,
        camera_sizes={name: frames[0].shape[1::-1] for name, frames in images[0].items()} if images else {},
        extras={_POSE_PREFIX + name: 7 for name in first.object_poses},
        robot_type=robot_type,
    )
    with LerobotWriter(folder, spec) as writer:
        for number, episode in enumerate(episodes):
            writer.add_episode(
                task=episode.task,
                state=episode.joint_positions,
                action=episode.actions,
                images=images[number] if images else {},
                extras=_poses(episode),
                times_s=episode.times_s,
            )
        tables = [line for name in units for line in toml_lines({"unit": units[name]}, f"joints.{toml_key(name)}")]
        header = "# Episodes of a twin. Object poses: x, y, z [m], then the quaternion wxyz, in the world with z up."
        writer.write_sidecar("\n".join([header, *tables]) + "\n")


def verify_lerobot(episodes: Sequence[Episode], folder: Path) -> tuple[Check, ...]:
    """Numbers of all episodes as float32, which is what the format keeps."""
    problems: list[object] = []
    found = list(open_source(folder).episodes(problems.append))
    worst = {"joint positions": 0.0, "actions": 0.0, "times": 0.0, "object poses": 0.0}
    for ours, theirs in zip(episodes, found, strict=False):
        pairs = {
            "joint positions": [(ours.joint_positions, theirs.state)],
            "actions": [(ours.actions, theirs.action)],
            "times": [(ours.times_s, theirs.times_s)],
            "object poses": [(poses, theirs.extras[key]) for key, poses in _poses(ours).items()],
        }
        for what, compared in pairs.items():
            for a, b in compared:
                worst[what] = max(worst[what], largest_difference(a.astype(np.float32), b.astype(np.float32)))
    return (
        Check("problems of the reader", float(len(problems)), 0.0),
        Check("episodes missing", float(abs(len(found) - len(episodes))), 0.0),
        *(Check(what, value, 0.0) for what, value in worst.items()),
    )


def _poses(episode: Episode) -> dict[str, np.ndarray]:
    return {
        _POSE_PREFIX + name: np.concatenate([poses.translation, poses.rotation.wxyz], axis=-1)
        for name, poses in episode.object_poses.items()
    }


def _unit(scene: ExportScene, name: str) -> str:
    """`rad` of a hinge, `m` of a slide (code 2 of mujoco.mjtJoint)."""
    return "m" if scene.model.jnt_type[scene.model.joint(name).id] == 2 else "rad"


def _held_commands(scene: ExportScene) -> np.ndarray:
    """Commands under which position servos rest where everything starts, (nu,)."""
    model = scene.model
    held = np.zeros(model.nu)
    for control in controls(model):
        if control.joint is not None:
            gear = float(model.actuator_gear[control.actuator, 0])
            held[control.index] = gear * model.qpos0[model.jnt_qposadr[control.joint]]
    return held
