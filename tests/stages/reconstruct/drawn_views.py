"""Views of a known mesh with marks, drawn by the rasteriser: truth for hull, cap, sight and fit."""

import numpy as np

from gemel.geometry import SE3, stack
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.views import Views

SHARP = 3
"""Samples per pixel along each side."""


def ring_of_cameras(count: int, *, distance_m: float, elevation_deg: float) -> SE3:
    """Cameras round the origin that look slightly above it, at elevations that swing by ten degrees."""
    poses = []
    for i in range(count):
        azimuth = 2.0 * np.pi * i / count
        elevation = np.radians(elevation_deg + 10.0 * np.cos(3.0 * azimuth))
        level = np.cos(elevation)
        eye = distance_m * np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
        poses.append(SE3.look_at(eye, np.array([0.0, 0.0, 0.02]), np.array([0.0, 0.0, 1.0])))
    return stack(poses)


def drawn_views(
    vertices: np.ndarray, faces: np.ndarray, *, count: int = 14, width: int = 80, height: int = 60
) -> Views:
    """Pictures of a mesh that stands on z = 0, with marks of about two pixels painted through its volume."""
    poses = ring_of_cameras(count, distance_m=0.35, elevation_deg=45.0)
    lens = np.array([1.3 * width, 1.3 * width, width / 2, height / 2])
    pictures = [_picture(vertices, faces, poses[i], lens, width, height) for i in range(count)]
    return Views(
        camera_names=("camera",) * count,
        images=np.stack([image for image, _ in pictures]).astype(np.float32),
        masks=np.stack([mask for _, mask in pictures]).astype(np.float32),
        ignore=np.zeros((count, height, width), bool),
        Ts_world_camera=poses,
        intrinsics=np.tile(lens, (count, 1)),
    )


def _picture(
    vertices: np.ndarray, faces: np.ndarray, T_world_camera: SE3, lens: np.ndarray, width: int, height: int
) -> tuple[np.ndarray, np.ndarray]:
    fine = SHARP * lens
    depth, face = rasterise(T_world_camera.inverse() @ vertices, faces, fine, SHARP * width, SHARP * height)
    rows, columns = np.indices(depth.shape)
    z = np.where(face == NOTHING, 1.0, depth)
    rays = np.stack([(columns + 0.5 - fine[2]) / fine[0], (rows + 0.5 - fine[3]) / fine[1], np.ones(z.shape)], axis=-1)
    points = T_world_camera @ (rays * z[..., None])
    colour = np.where((face == NOTHING)[..., None], 0.35, marks(points))

    def blocks(image: np.ndarray) -> np.ndarray:
        return image.reshape(height, SHARP, width, SHARP, -1).mean(axis=(1, 3))

    return blocks(colour), blocks((face != NOTHING).astype(float))[..., 0]


def marks(points: np.ndarray) -> np.ndarray:
    """A solid texture: colours from 0.2 to 0.8 that change over about a centimetre."""
    x, y, z = 2.0 * np.pi * np.moveaxis(points, -1, 0) / 0.017
    wave = np.sin(x + 0.7 * y) * np.cos(1.3 * y - 0.4 * z + 1.0) + np.sin(0.9 * z + 0.5 * x + 2.0) * np.cos(0.6 * y)
    grey = 0.5 + 0.14 * wave
    return np.clip(np.stack([grey + 0.1, grey, 0.9 * grey], axis=-1), 0.0, 1.0)
