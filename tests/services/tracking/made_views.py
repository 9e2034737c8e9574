"""An L-shaped block over a speckled table, seen by two cameras, with or without a rod of an arm in front of it."""

from dataclasses import replace

import numpy as np

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3, SO3, box_mesh
from gemel.services.render.cpu import RendererCpu
from gemel.services.render.mesh_raster import rasterise
from gemel.services.render.spherical_harmonics import C0
from gemel.services.render.splatmesh import spread
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.services.tracking.view import View

RENDERER = RendererCpu(1)
SHAPE = (96, 128)
INTRINSICS = np.array([150.0, 150.0, 64.0, 48.0])
_PER_EDGE = 9


def block() -> SplatMesh:
    """Two boxes of 12 x 4 x 4 cm and 4 x 8 x 4 cm, orange, each side with its own shade."""
    long, long_faces = box_mesh(np.array([0.12, 0.04, 0.04]))
    short, short_faces = box_mesh(np.array([0.04, 0.08, 0.04]))
    vertices = np.concatenate([long, short + np.array([0.04, 0.06, 0.0])])
    faces = np.concatenate([long_faces, short_faces + len(long)])
    face, barycentric = spread(np.full(len(faces), _PER_EDGE))
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    shade = 0.7 + 0.25 * normals @ np.array([0.4, -0.3, 0.8])
    rng = np.random.default_rng(1)
    colours = np.array([0.9, 0.45, 0.15]) * (shade[face] + 0.05 * rng.standard_normal(len(face)))[:, None]
    return SplatMesh(
        vertices=vertices,
        faces=faces,
        is_seen=np.ones(len(vertices), dtype=bool),
        face_from_gaussian=face,
        barycentric=barycentric,
        in_plane_scale=np.full((len(face), 2), 1.0 / _PER_EDGE),
        normal_scale_m=2e-4,
        sh=((np.clip(colours, 0.0, 1.0) - 0.5) / C0)[:, None].astype(np.float32),
        opacity=np.full(len(face), 0.98),
        dilation_px2=0.02,
    )


TRACKED = TrackedObject(block())
REST = SE3(SO3.identity(), np.array([0.0, 0.0, 0.02]))
CAMERAS = tuple(
    SE3.look_at(np.array(eye), np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])).inverse().as_matrix()
    for eye in ([0.75, -0.1, 0.5], [0.1, 0.8, 0.5])
)


def pose(x_m: float, y_m: float, yaw_rad: float) -> np.ndarray:
    """On the table."""
    return SE3(SO3.exp(np.array([0.0, 0.0, yaw_rad])), np.array([x_m, y_m, 0.02])).as_matrix()


def views(
    T_world_object: np.ndarray | None, seed: int, *, has_rod: bool = False, noise: float = 0.015,
    delays_s: tuple[float, float] = (0.0, 0.0), velocity: np.ndarray | None = None,
) -> list[View]:  # fmt: skip
    """Both cameras; table and object are darker now than the surroundings and the model are."""
    from gemel.services.tracking.evidence import moved

    rng = np.random.default_rng(seed)
    found = []
    for index, (T_camera_world, delay_s) in enumerate(zip(CAMERAS, delays_s, strict=True)):
        table = _table(np.random.default_rng(100 + index))
        image = table * 0.92
        if T_world_object is not None:
            T = moved(T_world_object, delay_s * (np.zeros(6) if velocity is None else velocity))
            drawn = TRACKED.draw((T_camera_world @ T)[None], INTRINSICS[None], [SHAPE], renderer=RENDERER)[0]
            image = 0.85 * drawn.colour + (1.0 - drawn.coverage)[..., None] * image
        depth = np.full(SHAPE, np.inf)
        if has_rod:
            depth = _rod(T_camera_world)
            image = np.where(np.isfinite(depth)[..., None], 0.6, image)
        image = np.clip(image + noise * rng.standard_normal(image.shape), 0.0, 1.0).astype(np.float32)
        found.append(
            View(f"camera{index}", image, T_camera_world, INTRINSICS, delay_s, table, depth, np.ones(SHAPE, dtype=bool))
        )
    return found


def emptied(view: View) -> View:
    """The same view with everything hidden by something near."""
    return replace(view, robot_depth=np.full(SHAPE, 0.1))


def _table(rng: np.random.Generator) -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    grain = gaussian_filter(rng.standard_normal(SHAPE), 1.5)
    return (np.array([0.55, 0.5, 0.45]) * (1.0 + 0.1 * grain / grain.std())[..., None]).astype(np.float32)


def _rod(T_camera_world: np.ndarray) -> np.ndarray:
    """Depth of an upright rod, 3 cm thick, that stands on the block's long part."""
    vertices, faces = box_mesh(np.array([0.03, 0.03, 0.3]))
    p_world = vertices + np.array([0.02, 0.0, 0.2])
    p_camera = p_world @ T_camera_world[:3, :3].T + T_camera_world[:3, 3]
    return rasterise(p_camera, faces, INTRINSICS, SHAPE[1], SHAPE[0])[0]
