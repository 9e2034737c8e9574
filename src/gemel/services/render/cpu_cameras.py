"""Cameras as the CPU kernels want them, and the way back from the kernels' sums to pose and intrinsics gradients."""

import numpy as np
from jaxtyping import Float

from gemel.services.render import cpu_layout as at


def pack_cameras(
    Ts_camera_world: Float[np.ndarray, "c 4 4"], intrinsics: Float[np.ndarray, "c 4"], width: int, height: int
) -> Float[np.ndarray, "c 24"]:
    """Rotation, translation, intrinsics, limits of x/z and y/z, and centre of every camera, in cpu_layout's order."""
    packed = np.zeros((len(intrinsics), at.CAMERA), dtype=np.float32)
    packed[:, :9] = Ts_camera_world[:, :3, :3].reshape(-1, 9)
    packed[:, 9:12] = Ts_camera_world[:, :3, 3]
    packed[:, 12:16] = intrinsics
    fx, fy, cx, cy = intrinsics.T
    packed[:, 16], packed[:, 17] = -(cx + 0.15 * width) / fx, (1.15 * width - cx) / fx
    packed[:, 18], packed[:, 19] = -(cy + 0.15 * height) / fy, (1.15 * height - cy) / fy
    packed[:, 20:23] = centres(Ts_camera_world, np.linalg.inv(Ts_camera_world[:, :3, :3].astype(np.float64)))
    return packed


def centres(Ts_camera_world: Float[np.ndarray, "c 4 4"], inverses: Float[np.ndarray, "c 3 3"]) -> Float[np.ndarray, "c 3"]:
    """Camera centres in the world [m], given the inverses of the rotations."""
    centre: np.ndarray = -(inverses @ Ts_camera_world[:, :3, 3:])[:, :, 0]
    return centre


def camera_gradients(
    sums: Float[np.ndarray, "c 16"], Ts_camera_world: Float[np.ndarray, "c 4 4"], intrinsics: Float[np.ndarray, "c 4"]
) -> tuple[Float[np.ndarray, "c 4 4"], Float[np.ndarray, "c 4"]]:
    """dL/dTs_camera_world and dL/dintrinsics from the kernels' sums (rotation 9, translation 3, centre 3).

    A change of intrinsics acts like A T with A = [[fx/fx0, 0, (cx-cx0)/fx0], [0, fy/fy0, (cy-cy0)/fy0], [0, 0, 1]],
    which leaves the centre where it is; so dL/dA = (projection part of dL/dT) T^T holds the answer.
    The centre is -R^-1 t, hence dL/dt = -R^-T g and dL/dR = -(R^-T g) centre^T.
    """
    T = Ts_camera_world.astype(np.float64)
    inverses = np.linalg.inv(T[:, :3, :3])
    gradient = np.zeros_like(T)
    gradient[:, :3, :3] = sums[:, :9].reshape(-1, 3, 3)
    gradient[:, :3, 3] = sums[:, 9:12]
    dA = gradient[:, :3] @ T[:, :3].transpose(0, 2, 1)
    d_intrinsics = dA[:, (0, 1, 0, 1), (0, 1, 2, 2)] / intrinsics[:, (0, 1, 0, 1)]
    pull = -(sums[:, None, 12:15] @ inverses)[:, 0]
    gradient[:, :3, 3] += pull
    gradient[:, :3, :3] += pull[:, :, None] * centres(T, inverses)[:, None, :]
    return gradient.astype(np.float32), d_intrinsics.astype(np.float32)
