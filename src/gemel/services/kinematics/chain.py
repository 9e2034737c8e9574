"""The chain from a robot's base to its tip: forward and inverse kinematics of many arms at once, in numpy.

Inverse kinematics is damped least squares on the geometric Jacobian (Nakamura and Hanafusa 1986), a few steps from
where the arms are: a controller's targets move little from one period to the next.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.services.kinematics.tree import KinematicTree, TreeJoint, kinematic_tree

TIP_NAMES = ("tip", "tcp", "tool", "pusher")
"""Sites, then geoms, that mark a robot's tip; the first that a model has counts."""
_ALONG = (3, 5)
"""Codes of mujoco.mjtGeom that have a length along z: capsule and cylinder."""
_DAMPING = 0.02
_LONGEST_STEP_RAD = 0.25

Poses = Float[np.ndarray, "n 4 4"]
Joints = Float[np.ndarray, "n joint"]


@dataclass(frozen=True, eq=False)
class Chain:
    """Links from the base to the one that carries the tip."""

    tree: KinematicTree
    links: tuple[int, ...]
    p_link_tip: Float[np.ndarray, "3"]
    """Where the tip is in the last link [m]."""
    low: Float[np.ndarray, " joint"]
    high: Float[np.ndarray, " joint"]
    """Limits of all joints of the tree [rad or m]."""

    @staticmethod
    def to_tip(model: Any) -> "Chain":
        """The chain to the tip of a compiled robot (`mujoco.MjModel`)."""
        tree = kinematic_tree(model)
        link, p_link_tip = _tip(model)
        low, high = np.full(len(tree.joints), -np.inf), np.full(len(tree.joints), np.inf)
        for j in range(model.njnt):
            if model.jnt_limited[j] and model.joint(j).name in tree.joint_names:
                low[tree.joint(model.joint(j).name)], high[tree.joint(model.joint(j).name)] = model.jnt_range[j]
        return Chain(tree, tree.ancestors(link), p_link_tip, low, high)

    @property
    def joints(self) -> tuple[int, ...]:
        """Indices of the joints that move the tip."""
        return tuple(j for j, joint in enumerate(self.tree.joints) if joint.link in self.links)

    def tip_poses(self, q: Joints) -> Poses:
        """`T_base_tip` at joint values (n, joint) in the tree's order."""
        return self._walk(q)[0]

    def solve(self, Ts_base_tip: Poses, q: Joints, *, iterations: int = 4) -> Joints:
        """Joint values near `q` that bring the tips to these poses, within the limits."""
        q, chosen = q.copy(), list(self.joints)
        for _ in range(iterations):
            T, jacobian = self._walk(q)
            error = np.concatenate([Ts_base_tip[:, :3, 3] - T[:, :3, 3], _turn(Ts_base_tip, T)], axis=1)
            square = jacobian @ np.swapaxes(jacobian, 1, 2) + _DAMPING**2 * np.eye(6)
            step = np.einsum("nij,ni->nj", jacobian, np.linalg.solve(square, error[..., None])[..., 0])
            longest = np.abs(step).max(axis=1, keepdims=True, initial=1e-12)
            q[:, chosen] += step * np.minimum(1.0, _LONGEST_STEP_RAD / longest)
            q[:, chosen] = np.clip(q[:, chosen], self.low[chosen], self.high[chosen])
        return q

    def _walk(self, q: Joints) -> tuple[Poses, Float[np.ndarray, "n 6 moved"]]:
        """Tip poses, and how they move with each joint of the chain: position first, then rotation, in the base."""
        T = np.tile(np.eye(4), (len(q), 1, 1))
        rest = self.tree.Ts_parent_link.as_matrix()
        axes, anchors, is_hinge = [], [], []
        for link in self.links:
            T = T @ rest[link]
            for j in self.joints:
                joint = self.tree.joints[j]
                if joint.link == link:
                    axes.append(T[:, :3, :3] @ joint.axis)
                    anchors.append(T[:, :3, :3] @ joint.anchor + T[:, :3, 3])
                    is_hinge.append(joint.is_hinge)
                    T = T @ _motion(joint, q[:, j] - joint.rest)
        tip = T.copy()
        tip[:, :3, 3] += T[:, :3, :3] @ self.p_link_tip
        columns = [
            np.concatenate([np.cross(a, tip[:, :3, 3] - p), a] if hinge else [a, np.zeros_like(a)], axis=1)
            for a, p, hinge in zip(axes, anchors, is_hinge, strict=True)
        ]
        return tip, np.stack(columns, axis=-1)


def _motion(joint: TreeJoint, travel: Float[np.ndarray, " n"]) -> Poses:
    T = np.tile(np.eye(4), (len(travel), 1, 1))
    if not joint.is_hinge:
        T[:, :3, 3] = travel[:, None] * joint.axis
        return T
    x, y, z = joint.axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    T[:, :3, :3] += np.sin(travel)[:, None, None] * K + (1.0 - np.cos(travel))[:, None, None] * (K @ K)
    T[:, :3, 3] = joint.anchor - T[:, :3, :3] @ joint.anchor
    return T


def _turn(goal: Poses, now: Poses) -> Float[np.ndarray, "n 3"]:
    """Half the sum of cross products of the axes: the rotation vector from now to the goal, for small ones."""
    return np.asarray(0.5 * np.cross(now[:, :3, :3], goal[:, :3, :3], axis=1).sum(axis=2))


def _tip(model: Any) -> tuple[int, Float[np.ndarray, "3"]]:
    """The link that carries the tip, and where it is there."""
    for name in TIP_NAMES:
        for site in range(model.nsite):
            if model.site(site).name == name:
                return int(model.site_bodyid[site]) - 1, np.array(model.site_pos[site])
    for name in TIP_NAMES:
        for geom in range(model.ngeom):
            if model.geom(geom).name == name and model.geom_bodyid[geom] > 0:
                return int(model.geom_bodyid[geom]) - 1, far_end(model, geom)
    raise ConfigError(
        f"The robot model has no tip: no site and no geom is called {', '.join(TIP_NAMES)}.",
        remedy="add a site named `tip` to the robot model, or use a task whose actions are joint positions",
    )


def far_end(model: Any, geom: int) -> Float[np.ndarray, "3"]:
    """The end of a rod that is further from the link's origin; the middle of other shapes."""
    middle = np.array(model.geom_pos[geom])
    if model.geom_type[geom] not in _ALONG:
        return middle
    w, x, y, z = model.geom_quat[geom]
    along = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    ends = [middle + sign * model.geom_size[geom, 1] * along for sign in (1.0, -1.0)]
    return max(ends, key=lambda p: float(np.linalg.norm(p)))
