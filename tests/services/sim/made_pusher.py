"""A pusher on two slides beside the nominal T-block: the smallest robot that can push."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, SO3
from gemel.services.formats.robot_model import read_robot_model
from services.sim.made_twin import block_twin

ROBOT = """<mujoco><compiler angle="radian"/><worldbody><body name="base"><body name="slider" pos="0 0 0.08">
<joint name="px" type="slide" axis="1 0 0" range="-2 2"/><inertial pos="0 0 0" mass="10" diaginertia="1 1 1"/>
<body name="tool"><joint name="py" type="slide" axis="0 1 0" range="-2 2"/>
<inertial pos="0 0 0" mass="10" diaginertia="1 1 1"/>
<geom name="pusher" type="cylinder" size="0.01 0.065" mass="0"/></body></body></body></worldbody>
<actuator><position joint="px" kp="100000" kv="4000"/>
<position joint="py" kp="100000" kv="4000"/></actuator></mujoco>"""


def pusher_twin(blobs: Blobs, folder: Path, belief: Belief, mjcf: str = ROBOT) -> Twin:
    """A twin of both, its robot perfectly calibrated."""
    path = folder / "pusher.xml"
    path.write_text(mjcf)
    robot = read_robot_model(path, blobs)
    made = block_twin(blobs, {}, robot=robot, pose=SE3(SO3.identity(), np.array([0.0, 0.0, 0.02])))
    zeros = np.zeros(2)
    seen = replace(
        made.reconstruction, Ts_world_base=SE3.identity(1), joint_offsets=zeros, joint_offset_sigmas=zeros,
        joint_plays=zeros,
    )  # fmt: skip
    return replace(made, reconstruction=seen, belief=belief, joints=robot.joint_names)
