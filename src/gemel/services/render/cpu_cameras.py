"""Cameras as the CPU kernels want them, and the way back from the kernels' sums to pose and intrinsics gradients.

Plain Python on a few dozen numbers per camera: numpy's overhead per call would be three times the work.
"""

import numpy as np
from jaxtyping import Float

Row = tuple[float, float, float]
Matrix = tuple[Row, Row, Row]


def pack_cameras(
    Ts_camera_world: Float[np.ndarray, "c 4 4"], intrinsics: Float[np.ndarray, "c 4"], width: int, height: int
) -> Float[np.ndarray, "c 24"]:
    """Rotation, translation, intrinsics, limits of x/z and y/z, and centre of every camera, in cpu_layout's order."""
    packed = []
    for T, (fx, fy, cx, cy) in zip(Ts_camera_world.tolist(), intrinsics.tolist(), strict=True):
        limits = [
            -(cx + 0.15 * width) / fx, (1.15 * width - cx) / fx, -(cy + 0.15 * height) / fy, (1.15 * height - cy) / fy,
        ]  # fmt: skip
        rotation = [*T[0][:3], *T[1][:3], *T[2][:3]]
        translation = [T[0][3], T[1][3], T[2][3]]
        packed.append([*rotation, *translation, fx, fy, cx, cy, *limits, *_centre(T), 0.0])
    return np.array(packed, dtype=np.float32)


def camera_gradients(
    sums: Float[np.ndarray, "c 16"], Ts_camera_world: Float[np.ndarray, "c 4 4"], intrinsics: Float[np.ndarray, "c 4"]
) -> tuple[Float[np.ndarray, "c 4 4"], Float[np.ndarray, "c 4"]]:
    """dL/dTs_camera_world and dL/dintrinsics from the kernels' sums (rotation 9, translation 3, centre 3).

    A change of intrinsics acts like A T with A = [[fx/fx0, 0, (cx-cx0)/fx0], [0, fy/fy0, (cy-cy0)/fy0], [0, 0, 1]],
    which leaves the centre where it is; so dL/dA = (projection part of dL/dT) T^T holds the answer.
    The centre is -R^-1 t, hence dL/dt = -R^-T g and dL/dR = -(R^-T g) centre^T.
    """
    poses, lenses = [], []
    for s, T, (fx, fy, _, _) in zip(sums.tolist(), Ts_camera_world.tolist(), intrinsics.tolist(), strict=True):
        rows = [[*s[3 * i : 3 * i + 3], s[9 + i]] for i in range(3)]
        lenses.append(
            [_dot4(rows[0], T[0]) / fx, _dot4(rows[1], T[1]) / fy, _dot4(rows[0], T[2]) / fx, _dot4(rows[1], T[2]) / fy]
        )
        inverse, centre = _inverse(T), _centre(T)
        for i in range(3):
            pull = -sum(inverse[k][i] * s[12 + k] for k in range(3))
            rows[i] = [rows[i][k] + pull * centre[k] for k in range(3)] + [rows[i][3] + pull]
        poses.append([*rows, [0.0, 0.0, 0.0, 0.0]])
    return np.array(poses, dtype=np.float32), np.array(lenses, dtype=np.float32)


def _dot4(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def _cross(a: list[float], b: list[float]) -> Row:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _inverse(T: list[list[float]]) -> Matrix:
    """Rows of the inverse of a 4x4 matrix's rotation block, by cross products of its rows."""
    a, b, c = _cross(T[1], T[2]), _cross(T[2], T[0]), _cross(T[0], T[1])
    scale = 1.0 / (T[0][0] * a[0] + T[0][1] * a[1] + T[0][2] * a[2])
    return (
        (scale * a[0], scale * b[0], scale * c[0]),
        (scale * a[1], scale * b[1], scale * c[1]),
        (scale * a[2], scale * b[2], scale * c[2]),
    )


def _centre(T: list[list[float]]) -> Row:
    """Camera centre in the world [m]: -R^-1 t."""
    x, y, z = (-(row[0] * T[0][3] + row[1] * T[1][3] + row[2] * T[2][3]) for row in _inverse(T))
    return x, y, z
