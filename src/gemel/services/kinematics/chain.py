"""The chain from a robot's base to its tip: forward and inverse kinematics of many arms at once, in numpy.

Inverse kinematics is damped least squares on the geometric Jacobian (Nakamura and Hanafusa 1986), a few steps from
where the arms are: a controller's targets move little from one period to the next.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

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
Rotations = Float[np.ndarray, "n 3 3"]
Points = Float[np.ndarray, "n 3"]
PointsOfJoints = Float[np.ndarray, "n moved 3"]
Matrix = Float[np.ndarray, "3 3"]
Vector = Float[np.ndarray, "3"]


@dataclass(frozen=True, eq=False)
class _Station:
    """A joint on the way to the tip, in the frame that the joint before it moves."""

    joint: int
    is_hinge: bool
    rest: float
    anchor: Vector
    factors: Float[np.ndarray, "3 12"]
    """Side by side: rotation at rest, the same times K and K² of Rodrigues, axis, anchor, origin."""

    @staticmethod
    def of(index: int, joint: TreeJoint, T: Float[np.ndarray, "4 4"]) -> "_Station":
        """A joint whose link at rest is at `T` in the frame before."""
        R, (x, y, z) = T[:3, :3], joint.axis
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        columns = [R @ joint.axis, R @ joint.anchor + T[:3, 3], T[:3, 3]]
        factors = np.concatenate([R, R @ K, R @ K @ K, np.stack(columns, axis=1)], axis=1)
        return _Station(index, joint.is_hinge, joint.rest, joint.anchor, factors)


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

    @cached_property
    def joints(self) -> tuple[int, ...]:
        """Indices of the joints that move the tip."""
        return tuple(j for j, joint in enumerate(self.tree.joints) if joint.link in self.links)

    def tip_poses(self, q: Joints) -> Poses:
        """`T_base_tip` at joint values (n, joint) in the tree's order."""
        R, p, _, _ = self._walk(q)
        T = np.tile(np.eye(4), (len(q), 1, 1))
        T[:, :3, :3], T[:, :3, 3] = R, p
        return T

    def solve(self, Ts_base_tip: Poses, q: Joints, *, iterations: int = 4) -> Joints:
        """Joint values near `q` that bring the tips to these poses, within the limits."""
        q, chosen = q.copy(), list(self.joints)
        goal_R, goal_p = Ts_base_tip[:, :3, :3], Ts_base_tip[:, :3, 3]
        for _ in range(iterations):
            R, p, axes, anchors = self._walk(q)
            error = np.concatenate([goal_p - p, _turn(goal_R, R)], axis=1)
            jacobian = self._jacobian(p, axes, anchors)
            square = jacobian @ np.swapaxes(jacobian, 1, 2) + _DAMPING**2 * np.eye(6)
            step = np.einsum("nij,ni->nj", jacobian, np.linalg.solve(square, error[..., None])[..., 0])
            longest = np.abs(step).max(axis=1, keepdims=True, initial=1e-12)
            q[:, chosen] += step * np.minimum(1.0, _LONGEST_STEP_RAD / longest)
            q[:, chosen] = np.clip(q[:, chosen], self.low[chosen], self.high[chosen])
        return q

    @cached_property
    def _is_hinge(self) -> Bool[np.ndarray, " moved"]:
        return np.array([self.tree.joints[j].is_hinge for j in self.joints], dtype=bool)

    @cached_property
    def _stations(self) -> tuple[tuple[_Station, ...], Matrix, Vector]:
        """One for each joint that moves the tip, then rotation and place of the tip in the last one's frame."""
        rest, stations = self.tree.Ts_parent_link.as_matrix(), []
        T = np.eye(4)
        for link in self.links:
            T = T @ rest[link]
            for j in self.joints:
                if self.tree.joints[j].link == link:
                    stations.append(_Station.of(j, self.tree.joints[j], T))
                    T = np.eye(4)
        return tuple(stations), T[:3, :3], T[:3, :3] @ self.p_link_tip + T[:3, 3]

    def _walk(self, q: Joints) -> tuple[Rotations, Points, PointsOfJoints, PointsOfJoints]:
        """Rotations and places of the tips, and axes and anchors of the chain's joints, all in the base.

        Environments do this several times in each control period, so what a rotation is multiplied with on its way is
        one product of long matrices for each joint.
        """
        stations, last_R, last_p = self._stations
        R, p = np.tile(np.eye(3), (len(q), 1, 1)), np.zeros((len(q), 3))
        axes, anchors = np.empty((2, len(q), len(stations), 3))
        for k, station in enumerate(stations):
            travel = q[:, station.joint] - station.rest
            parts = _turned(R, station.factors)  # (n, 3, 12)
            axes[:, k], anchors[:, k] = parts[:, :, 9], p + parts[:, :, 10]
            if station.is_hinge:  # Rodrigues
                R = parts[:, :, :3] + np.sin(travel)[:, None, None] * parts[:, :, 3:6]
                R += (1.0 - np.cos(travel))[:, None, None] * parts[:, :, 6:9]
                p = anchors[:, k] - R @ station.anchor if station.anchor.any() else anchors[:, k]
            else:
                R, p = np.ascontiguousarray(parts[:, :, :3]), p + parts[:, :, 11] + travel[:, None] * axes[:, k]
        return _turned(R, last_R), p + R @ last_p, axes, anchors

    def _jacobian(self, p: Points, axes: PointsOfJoints, anchors: PointsOfJoints) -> Float[np.ndarray, "n 6 moved"]:
        """How tips move with each joint of the chain: position first, then rotation, in the base."""
        is_hinge = self._is_hinge[:, None]
        moves = np.where(is_hinge, _cross(axes, p[:, None] - anchors), axes)
        return np.swapaxes(np.concatenate([moves, np.where(is_hinge, axes, 0.0)], axis=2), 1, 2)


def _turned(R: Rotations, right: Float[np.ndarray, "3 _"]) -> Float[np.ndarray, "n 3 _"]:
    """`R @ right` of many rotations and one matrix."""
    return (R.reshape(-1, 3) @ right).reshape(len(R), 3, -1)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products along the last axis; numpy's own is several times as slow for short vectors."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return out


def _turn(goal: Rotations, now: Rotations) -> Points:
    """Half the sum of cross products of the axes: the rotation vector from now to the goal, for small ones."""
    return 0.5 * _cross(np.swapaxes(now, 1, 2), np.swapaxes(goal, 1, 2)).sum(axis=1)


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
