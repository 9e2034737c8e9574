"""Drawn views of a lumpy ball with marks: a scene of any size for measuring how work grows."""

import numpy as np

from gemel.geometry import SE3, icosphere_mesh, stack
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.views import Views

RADIUS_M = 0.05
DISTANCE_M = 0.35
FOCAL_WIDTHS = 1.8
"""Focal length in image widths: the ball fills half the image's width."""
MARK_M = 0.02
"""Length over which colours change."""


def ball_views(count: int, width: int, height: int) -> Views:
    """`count` views from all round, alternately from 30 and 60 degrees above."""
    vertices, faces = _ball()
    poses = [_look(i, count) for i in range(count)]
    lens = np.array([FOCAL_WIDTHS * width, FOCAL_WIDTHS * width, 0.5 * width, 0.5 * height])
    pictures = [_picture(vertices, faces, pose, lens, width, height) for pose in poses]
    return Views(
        camera_names=("camera",) * count,
        images=np.stack([image for image, _ in pictures]).astype(np.float32),
        masks=np.stack([mask for _, mask in pictures]).astype(np.float32),
        ignore=np.zeros((count, height, width), dtype=bool),
        Ts_world_camera=stack(poses),
        intrinsics=np.tile(lens, (count, 1)),
    )


def _ball() -> tuple[np.ndarray, np.ndarray]:
    """A closed surface with lumps, its lowest point at z = 0."""
    vertices, faces = icosphere_mesh(1.0, 4)
    x, y, z = vertices.T
    lumps = 1.0 + 0.12 * np.sin(4.0 * x + 1.0) * np.cos(3.0 * y) + 0.08 * np.sin(5.0 * z + 2.0 * x)
    vertices = RADIUS_M * lumps[:, None] * vertices
    return vertices - np.array([0.0, 0.0, vertices[:, 2].min()]), faces


def _look(i: int, count: int) -> SE3:
    azimuth, elevation = 2.0 * np.pi * i / count, np.radians(30.0 if i % 2 else 60.0)
    level = np.cos(elevation)
    eye = DISTANCE_M * np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
    return SE3.look_at(eye, np.array([0.0, 0.0, RADIUS_M]), np.array([0.0, 0.0, 1.0]))


def _picture(
    vertices: np.ndarray, faces: np.ndarray, T_world_camera: SE3, lens: np.ndarray, width: int, height: int
) -> tuple[np.ndarray, np.ndarray]:
    """Image (h, w, 3) and mask (h, w), 0 to 1."""
    depth, face = rasterise(T_world_camera.inverse() @ vertices, faces, lens, width, height)
    rows, columns = np.indices(depth.shape)
    z = np.where(face == NOTHING, 1.0, depth)
    rays = np.stack([(columns + 0.5 - lens[2]) / lens[0], (rows + 0.5 - lens[3]) / lens[1], np.ones(z.shape)], axis=-1)
    points = T_world_camera @ (rays * z[..., None])
    waves = np.sin(2.0 * np.pi * points / MARK_M + np.array([0.0, 1.0, 2.0]))
    colour = 0.5 + 0.3 * waves * np.roll(waves, 1, axis=-1)
    is_ball = face != NOTHING
    return np.where(is_ball[..., None], colour, 0.1), is_ball.astype(float)
