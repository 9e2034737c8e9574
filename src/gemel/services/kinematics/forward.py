"""Forward kinematics in torch: batched, differentiable in joint values, offsets and base poses.

This file's whole point is torch, so it imports torch at module level; import it inside functions.
"""

import torch  # noqa: TID253 - forward kinematics in torch
from torch import Tensor  # noqa: TID253

from gemel.errors import ConfigError
from gemel.services.kinematics.tree import WORLD, KinematicTree


class ForwardKinematics:
    """Link poses of a tree; constants are kept on one device in one float type."""

    def __init__(self, tree: KinematicTree, *, dtype: torch.dtype = torch.float64, device: str = "cpu") -> None:
        self.tree = tree
        self._dtype, self._device = dtype, device
        self._Ts_parent_link = self._constant(tree.Ts_parent_link.as_matrix())
        self._axes = [self._constant(joint.axis) for joint in tree.joints]
        self._anchors = [self._constant(joint.anchor) for joint in tree.joints]
        self._joints_of = [
            [j for j, joint in enumerate(tree.joints) if joint.link == i] for i in range(len(tree.links))
        ]
        self.rest = self._constant(tree.rest)

    @property
    def Ts_world_root(self) -> Tensor:
        """Where the model itself puts its roots, (root, 4, 4)."""
        return self._Ts_parent_link[list(self.tree.roots)]

    def link_poses(self, q: Tensor, *, offsets: Tensor | None = None, Ts_world_root: Tensor | None = None) -> Tensor:
        """`Ts_world_link`, (batch, link, 4, 4), of joint values q (batch, joint) [rad or m].

        `offsets` (joint,) are added to q. `Ts_world_root` (root, 4, 4) replaces the model's own base poses. Joints that
        follow others are set by their leaders, whatever q says of them.
        """
        if q.ndim != 2 or q.shape[1] != len(self.tree.joints):
            raise ConfigError(
                f"Joint values have shape {tuple(q.shape)}, expected (batch, {len(self.tree.joints)}) for the joints "
                f"{', '.join(self.tree.joint_names)}.",
                remedy="give one column for each joint of the robot model, in its order",
            )
        q = q if offsets is None else q + offsets
        values = self._coupled(q)
        roots = self.Ts_world_root if Ts_world_root is None else Ts_world_root
        poses: list[Tensor] = []
        for i, parent in enumerate(self.tree.parents):
            if parent == WORLD:
                pose = roots[self.tree.roots.index(i)].expand(len(q), 4, 4)
            else:
                pose = poses[parent] @ self._Ts_parent_link[i]
            for j in self._joints_of[i]:
                pose = pose @ self._motion(j, values[j])
            poses.append(pose)
        return torch.stack(poses, dim=1)

    def _coupled(self, q: Tensor) -> list[Tensor]:
        """Displacement from rest of each joint, followers included; each (batch,)."""
        values = list((q - self.rest).unbind(dim=1))
        for coupling in self.tree.couplings:
            leader = values[coupling.leader]
            values[coupling.follower] = sum(float(c) * leader**k for k, c in enumerate(coupling.coefficients))
        return values

    def _motion(self, j: int, value: Tensor) -> Tensor:
        """The link's own motion by joint j, (batch, 4, 4)."""
        axis, anchor = self._axes[j], self._anchors[j]
        if not self.tree.joints[j].is_hinge:
            return rigid(
                torch.eye(3, dtype=self._dtype, device=self._device).expand(len(value), 3, 3), value[:, None] * axis
            )
        R = turn(axis, value)
        return rigid(R, anchor - R @ anchor)

    def _constant(self, values: object) -> Tensor:
        return torch.as_tensor(values, dtype=self._dtype, device=self._device)


def turn(axis: Tensor, angle: Tensor) -> Tensor:
    """Rotation matrices (batch, 3, 3) about a unit axis (3,) by angles (batch,) [rad]; Rodrigues' formula."""
    K = _cross(axis)
    s, c = torch.sin(angle)[:, None, None], torch.cos(angle)[:, None, None]
    return torch.eye(3, dtype=axis.dtype, device=axis.device) + s * K + (1.0 - c) * (K @ K)


def rigid(R: Tensor, t: Tensor) -> Tensor:
    """Homogeneous matrices (batch, 4, 4) from rotations (batch, 3, 3) and translations (batch, 3)."""
    bottom = torch.zeros(len(R), 1, 4, dtype=R.dtype, device=R.device)
    bottom[..., 3] = 1.0
    return torch.cat([torch.cat([R, t[..., None]], dim=-1), bottom], dim=-2)


def exp_se3(xi: Tensor) -> Tensor:
    """Motions (batch, 4, 4) of twists (batch, 6), translation part first; by the matrix exponential."""
    zero = torch.zeros_like(xi[:, 0])
    x, y, z, a, b, c = xi.unbind(dim=1)
    rows = [zero, -c, b, x, c, zero, -a, y, -b, a, zero, z, zero, zero, zero, zero]
    return torch.matrix_exp(torch.stack(rows, dim=1).reshape(-1, 4, 4))


def _cross(v: Tensor) -> Tensor:
    x, y, z = v.unbind()
    zero = torch.zeros_like(x)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
