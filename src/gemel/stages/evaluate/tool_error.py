"""Where the tool is and how far it is from where it was: by a Denavit-Hartenberg table, and by MuJoCo.

The two know each other's answer only through the robot model: the table is derived from the robot as its file has it,
with calibrated offsets added to readings, and one constant pose from the flange to the tool; MuJoCo's scene has all of
that built in. They must agree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, SO3
from gemel.services.kinematics.arms import Arm
from gemel.services.kinematics.denavit_hartenberg import DhChain, dh_chain
from gemel.services.kinematics.tool_point import ToolPoint, tool_point
from gemel.services.kinematics.tree import KinematicTree, kinematic_tree
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.compile import CompiledTwin


@dataclass(frozen=True, eq=False)
class Tool:
    """The tool of one arm."""

    arm: Arm
    point: ToolPoint
    chain: DhChain
    columns: tuple[int | None, ...]
    """Logged joint of each row of the table; None for one that is not logged and rests."""
    rest: Float[np.ndarray, " row"]
    offsets: Float[np.ndarray, " row"]
    T_world_base: SE3

    def by_table(self, joints: Float[np.ndarray, "n joint"]) -> SE3:
        """`Ts_world_tool` of logged readings, through the Denavit-Hartenberg table."""
        q = np.tile(self.rest, (len(joints), 1))
        for row, column in enumerate(self.columns):
            if column is not None:
                q[:, row] = joints[:, column] + self.offsets[row]
        return self.T_world_base @ self.chain.forward(q)

    def by_mujoco(self, scene: CompiledTwin, joints: Float[np.ndarray, "n joint"]) -> SE3:
        """The same through the compiled scene."""
        p_body_tool = self.point.position(scene.model)
        return body_poses(scene.model, self.point.body, scene.qpos(joints)) @ SE3(SO3.identity(), p_body_tool)

    def gap(self, scene: CompiledTwin, joints: Float[np.ndarray, "n joint"]) -> tuple[float, float]:
        """Largest distance [m] and angle [rad] between the two answers."""
        table, mujoco = self.by_table(joints), self.by_mujoco(scene, joints)
        apart = np.linalg.norm(table.translation - mujoco.translation, axis=-1)
        return float(apart.max()), float(np.max(table.rotation.angle_to(mujoco.rotation)))


def make_tool(model: Any, arm: Arm, twin: Twin) -> Tool:
    """The tool of an arm; `model` is the robot as its file has it (`mujoco.MjModel`)."""
    tree, point = kinematic_tree(model), tool_point(model, arm.link)
    chain = dh_chain(tree, arm.link, T_link_tool=_from_flange(tree, arm.link, point, model))
    links = tree.ancestors(tree.link(arm.link))
    rows = [joint for link in links for joint in tree.joints if joint.link == link]
    columns = tuple(twin.joints.index(joint.name) if joint.name in twin.joints else None for joint in rows)
    offsets = np.array([0.0 if c is None else float(twin.reconstruction.joint_offsets[c]) for c in columns])
    placed = twin.reconstruction.Ts_world_base
    T_world_base = placed[arm.root] if placed.batch_shape[0] else tree.Ts_parent_link[links[0]]
    return Tool(arm, point, chain, columns, np.array([joint.rest for joint in rows]), offsets, T_world_base)


def _from_flange(tree: KinematicTree, flange: str, point: ToolPoint, model: Any) -> SE3:
    """`T_flange_tool`: the still links between, then the mark; turned as the link that carries it."""
    pose, link = SE3(SO3.identity(), point.position(model)), tree.link(point.body)
    while tree.links[link] != flange:
        pose, link = tree.Ts_parent_link[link] @ pose, tree.parents[link]
    return pose


def tool_errors(
    tool: Tool, simulated: Float[np.ndarray, "sim t joint"], logged: Float[np.ndarray, "t joint"]
) -> tuple[Float[np.ndarray, "sim t"], Float[np.ndarray, "sim t"]]:
    """Distance [m] and angle [rad] between simulated and logged tool, over time."""
    sims, count, width = simulated.shape
    there = tool.by_table(simulated.reshape(-1, width))
    here = tool.by_table(np.tile(logged, (sims, 1)))
    distance = np.linalg.norm(there.translation - here.translation, axis=-1)
    angle = np.asarray(there.rotation.angle_to(here.rotation))
    return distance.reshape(sims, count), angle.reshape(sims, count)
