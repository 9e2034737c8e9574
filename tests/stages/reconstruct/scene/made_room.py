"""A textured table, a box on it, and an arm of two boxes that turns over it, drawn by ray casting in numpy."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gemel.geometry import SE3, box_mesh, pixel_centres
from gemel.services.kinematics.link_meshes import LinkMesh
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.calibration.robot_rig import Poses
from gemel.stages.reconstruct.scene.scene_views import SceneViews

WIDTH, HEIGHT, FOCAL = 80, 60, 75.0
FINER = 3
TABLE_HALF_M = 0.45
BASE_COLOUR, ARM_COLOUR = (0.20, 0.22, 0.25), (0.85, 0.82, 0.80)
OBJECT_HALF_M = 0.04
OBJECT_MIDDLE = (0.12, 0.10)
GAINS = ((1.0, 1.0, 1.0), (1.15, 1.0, 0.9))
"""Of the fixed camera and of the moving one."""


def texture(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Colour of the table at a place, (..., 3)."""
    wave = 0.12 * np.sin(2.0 * np.pi * x / 0.13) + 0.08 * np.sin(2.0 * np.pi * (x + 2.0 * y) / 0.21)
    return np.stack([0.55 + wave, 0.45 + wave, 0.30 + 0.5 * wave], axis=-1)


def room(directions: np.ndarray) -> np.ndarray:
    """Colour of what is far away."""
    up = directions[..., 2:]
    return np.concatenate([0.35 + 0.2 * up, 0.38 + 0.2 * up, 0.45 + 0.1 * up], axis=-1)


def links() -> dict[str, LinkMesh]:
    """A post on the table and a bar on it, in their own frames, painted otherwise than they look."""
    post, faces = box_mesh((0.06, 0.06, 0.12))
    bar, _ = box_mesh((0.24, 0.04, 0.03))
    grey = np.full((len(faces), 3), 0.5)
    return {
        "post": LinkMesh(0, post + np.array([0.0, 0.0, 0.06]), faces, 0.4 * grey),
        "bar": LinkMesh(1, bar + np.array([0.13, 0.0, 0.0]), faces, grey),
    }


def link_poses(angle_rad: float) -> np.ndarray:
    """`Ts_world_link`: the bar turns about the post's axis."""
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    post, bar = np.eye(4), np.eye(4)
    post[:2, 3] = bar[:2, 3] = (-0.18, 0.0)
    bar[:2, :2] = [[c, -s], [s, c]]
    bar[2, 3] = 0.15
    return np.stack([post, bar])


@dataclass(frozen=True)
class Drawn:
    """One ray-cast image and what its pixels show."""

    image: np.ndarray
    depth: np.ndarray
    is_object: np.ndarray


def draw(T_camera_world: np.ndarray, k: np.ndarray, Ts_world_link: np.ndarray, gain: tuple[float, ...]) -> Drawn:
    """An image with some samples to a pixel, and the robot's depth at the pixels' centres."""
    width, height = FINER * WIDTH, FINER * HEIGHT
    R, t = T_camera_world[:3, :3], T_camera_world[:3, 3]
    pixels = pixel_centres(width, height)
    d = np.concatenate([(pixels - FINER * k[2:]) / (FINER * k[:2]), np.ones((height, width, 1))], axis=-1) @ R
    eye = -R.T @ t
    colour = room(d / np.linalg.norm(d, axis=-1, keepdims=True))
    with np.errstate(divide="ignore"):
        z = -eye[2] / d[..., 2]
    at = eye[:2] + d[..., :2] * z[..., None]
    is_table = (z > 0.0) & (np.abs(at) < TABLE_HALF_M).all(axis=-1)
    colour = np.where(is_table[..., None], texture(at[..., 0], at[..., 1]), colour)
    is_object = is_table & (np.abs(at - np.array(OBJECT_MIDDLE)) < OBJECT_HALF_M).all(axis=-1)
    colour[is_object] = (0.9, 0.3, 0.1)
    vertices, faces = _robot(Ts_world_link)
    p_camera = vertices @ R.T + t
    face = rasterise(p_camera, faces, FINER * k, width, height)[1]
    paint = np.repeat([BASE_COLOUR, ARM_COLOUR], len(faces) // 2, axis=0)
    is_robot = face != NOTHING
    colour[is_robot] = paint[face[is_robot]]
    image = colour.reshape(HEIGHT, FINER, WIDTH, FINER, 3).mean(axis=(1, 3)) * np.array(gain)
    middle = is_object[FINER // 2 :: FINER, FINER // 2 :: FINER]
    return Drawn(image.astype(np.float32), rasterise(p_camera, faces, k, WIDTH, HEIGHT)[0], middle)


def _robot(Ts_world_link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    meshes = list(links().values())
    placed = [m.vertices @ T[:3, :3].T + T[:3, 3] for m, T in zip(meshes, Ts_world_link, strict=True)]
    return np.concatenate(placed), np.concatenate([meshes[0].faces, meshes[1].faces + len(placed[0])])


@lru_cache(maxsize=1)
def made_views() -> SceneViews:
    """Eight views of a fixed camera and sixteen of one that goes round; the arm turns all the while."""
    from scipy.ndimage import binary_dilation

    eyes = [(0.75, 0.35, 0.45)] * 8
    eyes += [(0.45 * np.cos(a), 0.45 * np.sin(a), 0.5) for a in np.linspace(-2.0, 2.0, 16)]
    camera = np.repeat([0, 1], [8, 16])
    target, up = np.array([0.0, 0.0, 0.02]), np.array([0.0, 0.0, 1.0])
    Ts = np.stack([SE3.look_at(np.array(eye), target, up).inverse().as_matrix() for eye in eyes])
    k = np.array([FOCAL, FOCAL, WIDTH / 2, HEIGHT / 2])
    angles = np.concatenate([np.linspace(-1.6, 1.6, 8), np.linspace(1.6, -1.6, 16)])
    poses = np.stack([link_poses(float(angle)) for angle in angles])
    drawn = [draw(T, k, links_at, GAINS[c]) for T, links_at, c in zip(Ts, poses, camera, strict=True)]
    withheld = np.array([3, 10, 19])
    return SceneViews(
        camera=camera,
        camera_names=("fixed", "moving"),
        is_moving=np.array([False, True]),
        images=tuple(item.image for item in drawn),
        poses=Poses(Ts, poses, np.tile(k, (len(Ts), 1))),
        robot_depth=tuple(item.depth for item in drawn),
        robot=tuple(np.asarray(binary_dilation(np.isfinite(item.depth), iterations=2)) for item in drawn),
        taken=tuple(np.asarray(binary_dilation(item.is_object, iterations=2)) for item in drawn),
        fitted=np.setdiff1d(np.arange(len(Ts)), withheld),
        withheld=withheld,
    )


def turned(views: SceneViews, v: int, angle_rad: float) -> SceneViews:
    """The same views with the arm elsewhere in view v."""
    poses = views.poses.Ts_world_link.copy()
    poses[v] = link_poses(angle_rad)
    return replace(views, poses=replace(views.poses, Ts_world_link=poses))
