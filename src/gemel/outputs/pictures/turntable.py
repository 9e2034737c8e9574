"""An asset from all round: its splats, and below them its mesh with the invented part in another colour."""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3, face_normals
from gemel.outputs.pictures.font import labelled
from gemel.outputs.pictures.sheet import Picture, as_picture, sheet
from gemel.services.render.draw_splatmesh import draw_splatmesh
from gemel.services.render.mesh_raster import NOTHING, rasterise

SEEN = (0.72, 0.74, 0.78)
INVENTED = (0.90, 0.30, 0.80)
_PAPER = 1.0
_ELEVATION_DEG = 35.0
_VIEW_DEG = 36.0
"""Width of the view."""


def turntable(mesh: SplatMesh, *, view_count: int = 8, size_px: int = 160) -> Picture:
    """`view_count` views from 35 degrees up and one from below: splats, and under them the shaded mesh.

    Grey was seen, magenta is invented.
    """
    focal = 0.5 * size_px / np.tan(np.radians(0.5 * _VIEW_DEG))
    lens = np.array([focal, focal, 0.5 * size_px, 0.5 * size_px])
    azimuths = np.arange(view_count) * 360.0 / view_count
    poses = [*(_pose(mesh, azimuth, _ELEVATION_DEG) for azimuth in azimuths), _pose(mesh, 0.0, -_ELEVATION_DEG)]
    names = [*(f"{azimuth:.0f} deg" for azimuth in azimuths), "from below"]
    splats = [_on_paper(*draw_splatmesh(mesh, T, lens, (size_px, size_px))) for T in poses]
    shapes = [shaded(mesh, T, lens, (size_px, size_px)) for T in poses]
    top = [labelled(as_picture(image), name) for image, name in zip(splats, names, strict=True)]
    seen = f"{mesh.is_seen.mean():.0%} seen"
    below = [labelled(as_picture(image), seen if i == 0 else "") for i, image in enumerate(shapes)]
    return sheet([*top, *below], columns=len(poses))


def shaded(
    mesh: SplatMesh, T_world_camera: SE3, intrinsics: Float[np.ndarray, "4"], shape: tuple[int, int]
) -> Float[np.ndarray, "h w 3"]:
    """The mesh lit from the camera, on white."""
    T_camera_world = T_world_camera.inverse()
    _, face = rasterise(T_camera_world @ mesh.vertices, mesh.faces, intrinsics, shape[1], shape[0])
    normals = T_camera_world.rotation @ face_normals(mesh.vertices, mesh.faces)
    light = 0.4 + 0.6 * np.clip(normals @ np.array([-0.3, -0.5, -0.81]), 0.0, 1.0)
    is_seen = mesh.is_seen[mesh.faces].mean(axis=1) > 0.5
    colours = np.where(is_seen[:, None], SEEN, INVENTED) * light[:, None]
    return np.asarray(np.where((face != NOTHING)[..., None], colours[face], _PAPER))


def _pose(mesh: SplatMesh, azimuth_deg: float, elevation_deg: float) -> SE3:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middle, radius = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    distance = 1.02 * radius / np.sin(np.radians(0.5 * _VIEW_DEG))
    a, e = np.radians(azimuth_deg), np.radians(elevation_deg)
    towards = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    return SE3.look_at(middle + distance * towards, middle, np.array([0.0, 0.0, 1.0]))


def _on_paper(colour: np.ndarray, coverage: np.ndarray) -> np.ndarray:
    return colour + (1.0 - coverage[..., None]) * _PAPER
