"""A twin of the bundled capture's robot without a capture: its six-joint arm, the nominal T-block on a table."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.geometry import SE3, SO3, Inertia
from gemel.services.formats.robot_model import read_robot_model
from gemel.services.policy.arena import Arena
from gemel.services.policy.nominal_arena import DELAY_S, even_belief
from gemel.services.policy.twin_arena import twin_arena
from gemel.services.tasks import get_object, get_task
from gemel.services.tasks.box_union import Box
from gemel.store.store import Store

_ROBOT = Path(__file__).parents[1] / "samples" / "push_t" / "meta" / "robot.xml"
_HOME = (0.681, 0.704, 1.736, 0.0, 0.703, 0.682)
"""Readings at which the trials of that capture start [rad]."""
_MASS_KG = 0.343


def arm_arena(folder: Path) -> Arena:
    """The push of the T-block by an arm; every simulation has its own physics, drawn from the task's ranges."""
    store = Store(folder)
    task = get_task("push-t")
    arena = twin_arena(_twin(store), store, task=task, home=np.array(_HOME))
    store.close()
    return replace(arena, delay_s=DELAY_S)


def _twin(blobs: Blobs) -> Twin:
    block, robot, looks = get_object("t_block"), read_robot_model(_ROBOT, blobs), nominal_looks()
    joints = len(robot.joint_names)
    inertia = Inertia.from_mesh(block.vertices, block.faces, 1.0)
    scale = _MASS_KG / inertia.mass_kg
    return Twin(
        robot=robot,
        reconstruction=replace(
            looks, links={}, Ts_world_base=SE3.identity(1), joint_offsets=np.zeros(joints),
            joint_offset_sigmas=np.zeros(joints), joint_plays=np.zeros(joints),
        ),
        belief=even_belief(get_task("push-t").parameter_ranges),
        colliders={block.name: tuple(blobs.put_table({"vertices": _corners(box)}) for box in block.collision)},
        initial_poses={block.name: SE3(SO3.identity(), np.array([0.45, 0.0, block.rest_height]))},
        inertias={block.name: replace(inertia, mass_kg=_MASS_KG, I_BBcm_B=inertia.I_BBcm_B * scale)},
        joints=robot.joint_names,
    )  # fmt: skip


def _corners(box: Box) -> np.ndarray:
    signs = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    return np.asarray(box.low + signs * np.asarray(box.size))
