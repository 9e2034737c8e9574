"""Denavit-Hartenberg chains: the four-number table of a serial arm, given or derived from its model.

Standard (distal) convention: T(i-1, i) = turn(z, theta) slide(z, d) slide(x, a) turn(x, alpha), theta = offset + q for
a hinge, d = offset + q for a slide (Denavit and Hartenberg 1955; Spong, Hutchinson and Vidyasagar, section 3.2).
Between the robot's base frame and the first DH frame, and between the last one and the tool, there is one constant
pose each, because a model's frames are rarely placed as the convention wants them.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float

from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.kinematics.tree import KinematicTree

_PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class DhChain:
    """A serial arm as a table."""

    a: Float[np.ndarray, " joint"]
    """Length of each common normal [m]."""
    alpha: Float[np.ndarray, " joint"]
    """Twist from each axis to the next [rad]."""
    d: Float[np.ndarray, " joint"]
    """Distance along each axis [m]; for a slide its value at q = 0."""
    theta: Float[np.ndarray, " joint"]
    """Turn about each axis [rad]; for a hinge its value at q = 0."""
    is_hinge: Bool[np.ndarray, " joint"]
    T_base_first: SE3
    """Frame of the first axis in the robot's base."""
    T_last_tool: SE3
    """Tool in the last frame."""

    def forward(self, q: Float[np.ndarray, "batch joint"]) -> SE3:
        """`Ts_base_tool` of joint values [rad or m]."""
        if q.shape[-1] != len(self.a):
            raise ConfigError(
                f"{q.shape[-1]} joint values were given to a chain of {len(self.a)} joints.",
                remedy="give one value for each row of the table",
            )
        pose = self.T_base_first
        for i in range(len(self.a)):
            theta = self.theta[i] + np.where(self.is_hinge[i], q[:, i], 0.0)
            d = self.d[i] + np.where(self.is_hinge[i], 0.0, q[:, i])
            pose = pose @ _about_z(theta, d) @ _about_x(self.alpha[i], self.a[i])
        return pose @ self.T_last_tool


def dh_chain(tree: KinematicTree, link: str, *, T_link_tool: SE3 | None = None) -> DhChain:
    """The table of the arm that ends in a link, derived from the axes of its joints at q = 0."""
    axes, is_hinge, T_base_link = _axes_at_zero(tree, tree.link(link))
    if not axes:
        raise ConfigError(f"No joint moves link {link!r}.", remedy="name the last link of an arm")
    frames = _frames(axes)
    rows = [_row(before, after) for before, after in pairwise(frames)]
    # The last row only has to place the tool, which its constant pose does: no twist, no length.
    rows.append((0.0, 0.0, 0.0, 0.0))
    T_base_tool = T_base_link @ (SE3.identity() if T_link_tool is None else T_link_tool)
    theta, d, a, alpha = np.array(rows).T
    return DhChain(a, alpha, d, theta, np.array(is_hinge), frames[0], frames[-1].inverse() @ T_base_tool)


def _axes_at_zero(tree: KinematicTree, link: int) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[bool], SE3]:
    """Point and direction of every axis on the way to a link, in the root's frame, with all joints at zero."""
    pose, axes, is_hinge = SE3.identity(), [], []
    for index, i in enumerate(tree.ancestors(link)):
        pose = pose if index == 0 else pose @ tree.Ts_parent_link[i]
        for joint in (joint for joint in tree.joints if joint.link == i):
            axes.append((pose @ joint.anchor, pose.rotation.as_matrix() @ joint.axis))
            is_hinge.append(joint.is_hinge)
            if joint.is_hinge:
                R = SO3.exp(-joint.rest * joint.axis)
                pose = pose @ SE3(R, joint.anchor - R @ joint.anchor)
            else:
                pose = pose @ SE3(SO3.identity(), -joint.rest * joint.axis)
    return axes, is_hinge, pose


def _frames(axes: list[tuple[np.ndarray, np.ndarray]]) -> list[SE3]:
    """DH frames: z along each axis, x along the common normal from the axis before."""
    point, z = axes[0]
    frames = [_frame(point, z, _any_normal(z))]
    for point, z in axes[1:]:
        before = frames[-1]
        z0, origin0 = before.rotation.as_matrix()[:, 2], before.translation
        cross = np.cross(z0, z)
        if np.linalg.norm(cross) > _PARALLEL:
            # Feet of the common normal: origin0 + s z0 and point + t z.
            s, t = np.linalg.lstsq(np.stack([z0, -z], axis=1), point - origin0, rcond=None)[0]
            foot0, foot = origin0 + s * z0, point + t * z
            along = foot - foot0
            x = along if np.linalg.norm(along) > _PARALLEL else cross
        else:
            foot = point + z * ((origin0 - point) @ z)
            along = foot - origin0
            x = along if np.linalg.norm(along) > _PARALLEL else before.rotation.as_matrix()[:, 0]
        frames.append(_frame(foot, z, x))
    return frames


def _row(before: SE3, after: SE3) -> tuple[float, float, float, float]:
    """theta, d, a and alpha between two frames that keep the convention."""
    between = (before.inverse() @ after).as_matrix()
    # T = Rz(theta) Tz(d) Tx(a) Rx(alpha): column x is (cos theta, sin theta, 0).
    theta = float(np.arctan2(between[1, 0], between[0, 0]))
    alpha = float(np.arctan2(between[2, 1], between[2, 2]))
    a = float(between[0, 3] * np.cos(theta) + between[1, 3] * np.sin(theta))
    return theta, float(between[2, 3]), a, alpha


def _frame(origin: np.ndarray, z: np.ndarray, x: np.ndarray) -> SE3:
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return SE3(SO3.from_matrix(np.stack([x, np.cross(z, x), z], axis=1)), origin)


def _any_normal(z: np.ndarray) -> np.ndarray:
    return np.eye(3)[int(np.argmin(np.abs(z)))]


def _about_z(theta: Float[np.ndarray, " batch"], d: Float[np.ndarray, " batch"]) -> SE3:
    zero = np.zeros_like(theta)
    return SE3(SO3.exp(np.stack([zero, zero, theta], axis=-1)), np.stack([zero, zero, d], axis=-1))


def _about_x(alpha: float, a: float) -> SE3:
    return SE3(SO3.exp(np.array([float(alpha), 0.0, 0.0])), np.array([float(a), 0.0, 0.0]))
