"""One object from its views: hull, cap, even mesh, joint fit, and what of it was seen.

This file's whole point is the fit in torch, so it is only imported where an object is fitted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch  # noqa: TID253 - takes the fit's tensors apart
from jaxtyping import Bool, Float, Int
from torch import Tensor  # noqa: TID253

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3, SO3, face_areas, face_normals, icosphere_mesh, vertex_normals
from gemel.services.render.renderer import Renderer
from gemel.stages.reconstruct.cap import CapSettings, cap_hull
from gemel.stages.reconstruct.fit import FitConfig, OnProgress, SplatState, fit_splats
from gemel.stages.reconstruct.hull import visual_hull
from gemel.stages.reconstruct.measured import ENOUGH, carved_by_depth, measured_part
from gemel.stages.reconstruct.remesh import Mesh, even_mesh
from gemel.stages.reconstruct.rig import Rig
from gemel.stages.reconstruct.seen import look_at_points, seen_vertices
from gemel.stages.reconstruct.views import Views

TABLE_EDGES = 0.35
"""Vertices of the start nearer to the table than this part of the mean edge lie on it."""


@dataclass(frozen=True)
class ObjectConfig:
    """How one object is reconstructed; nothing here depends on the object."""

    voxel_count: int = 96
    """Voxels of the hull along the object's longest side."""
    face_count: int = 2000
    """Faces of the mesh, about."""
    unseen_coarseness: float = 1.0
    """How much longer edges are where no view sees the surface; more than 1 where most of the hull is invented."""
    start: str = "hull"
    """What the mesh starts from: `hull`, capped, of any topology; or `sphere`, stretched to the hull's box."""
    table_z: float | None = 0.0
    """Height of the table on which the object rests [m]; None if it rests on nothing that is known."""
    cap: CapSettings = field(default_factory=CapSettings)
    fit: FitConfig = field(default_factory=FitConfig)


@dataclass(frozen=True)
class ObjectFitInfo:
    """What a fit says about itself."""

    losses: tuple[float, ...]
    """Loss of every step."""
    gaussian_count: int
    seen_part: float
    """Part of the vertices that were seen."""
    gains: tuple[tuple[float, float, float], ...]
    """Colour gain per camera and channel, in the order in which cameras first appear in the views."""
    offsets: tuple[tuple[float, float, float], ...]
    """Colour offset per camera and channel."""
    lights: Float[np.ndarray, "v 3"]
    """Light of each view (light.py)."""


def reconstruct_object(
    views: Views,
    rig: Rig,
    config: ObjectConfig,
    *,
    renderer: Renderer,
    rng: np.random.Generator,
    start: Mesh | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[SplatMesh, ObjectFitInfo]:
    """SplatMesh of the object in the world frame; the rig's unknowns are changed in place.

    `start` is a closed mesh in the world to begin with; without one it is made from the outlines.
    """
    mesh = starting_mesh(views, config) if start is None else start
    state = starting_state(views, rig, mesh, config.fit, device="cuda" if renderer.name == "cuda" else "cpu")
    clamp = table_clamp(state, config.table_z)
    losses = fit_splats(state, views, rig, config.fit, renderer=renderer, clamp=clamp, rng=rng, on_progress=on_progress)
    asset = finished(state, views, rig, config)
    rows = [
        tuple((tuple(float(x) for x in row)) for row in t.detach().cpu().numpy()) for t in (state.gains, state.offsets)
    ]
    info = ObjectFitInfo(
        losses=tuple(losses),
        gaussian_count=len(asset.opacity),
        seen_part=float(asset.is_seen.mean()),
        gains=tuple((1.0 + r, 1.0 + g, 1.0 + b) for r, g, b in rows[0]),
        offsets=tuple((r, g, b) for r, g, b in rows[1]),
        lights=state.lights.detach().cpu().double().numpy(),
    )
    return asset, info


def starting_mesh(views: Views, config: ObjectConfig) -> Mesh:
    """Closed mesh of the capped hull; without a table, up is where the cameras are."""
    T_up_world = SE3.identity() if config.table_z is not None else _upright(views)
    upright = replace(views, Ts_world_camera=T_up_world @ views.Ts_world_camera)
    hull = visual_hull(upright, voxel_count=config.voxel_count, table_z=config.table_z)
    if views.depths is not None:
        hull = carved_by_depth(hull, upright)
    capped = cap_hull(hull, upright, config.cap) if measured_part(views) < ENOUGH else hull
    vertices, faces = even_mesh(
        capped, config.face_count, lambda *mesh: _coarseness(upright, mesh, config.unseen_coarseness)
    )
    if config.start == "sphere":
        vertices, faces = _ellipsoid(vertices)
    return T_up_world.inverse() @ vertices, faces


def _ellipsoid(vertices: np.ndarray) -> Mesh:
    """A sphere stretched to the box of some vertices: the start of Splatting Physical Scenes, for comparison."""
    sphere, faces = icosphere_mesh(1.0, 3)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return 0.5 * (low + high) + 0.5 * (high - low) * sphere, faces


def _coarseness(views: Views, mesh: Mesh, unseen: float) -> Float[np.ndarray, " v"]:
    """Edges may be longer where nobody looks."""
    sight = look_at_points(views, views.Ts_camera_world, *mesh, mesh[0], vertex_normals(*mesh))
    return np.where(sight.is_seen.any(axis=0), 1.0, unseen)


def _upright(views: Views) -> SE3:
    """Rotation after which the views look down on the object, on average."""
    forward = views.Ts_world_camera.rotation.as_matrix()[:, :, 2].mean(axis=0)
    up = -forward / np.linalg.norm(forward)
    across = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    across /= np.linalg.norm(across)
    return SE3(SO3.from_matrix(np.stack([across, np.cross(up, across), up])), np.zeros(3))


def starting_state(views: Views, rig: Rig, mesh: Mesh, config: FitConfig, *, device: str) -> SplatState:
    """Gaussians on the mesh with the colours that the views see there."""
    from gemel.services.render.splatmesh import spread

    vertices, faces = mesh
    with torch.no_grad():
        Ts_camera_world = rig.poses()[0].double().cpu().numpy()
    normals, middles = face_normals(vertices, faces), vertices[faces].mean(axis=1)
    of_faces = look_at_points(views, Ts_camera_world, vertices, faces, middles, normals)
    is_seen = np.asarray(of_faces.is_seen.any(axis=0))
    per_edge = gaussians_per_edge(is_seen, face_areas(vertices, faces), config.gaussian_count)
    face_from_gaussian, barycentric = spread(per_edge)
    points = np.einsum("nk,nkd->nd", barycentric, vertices[faces[face_from_gaussian]])
    sight = look_at_points(views, Ts_camera_world, vertices, faces, points, normals[face_from_gaussian])
    count = len(set(views.camera_names))
    return SplatState(
        vertices, faces, per_edge, sight.median_colours(), config,
        camera_count=count, view_count=len(views), device=device,
    )  # fmt: skip


def gaussians_per_edge(
    is_seen: Bool[np.ndarray, " f"], areas: Float[np.ndarray, " f"], gaussian_count: int
) -> Int[np.ndarray, " f"]:
    """Roots of the numbers of Gaussians on faces: 1 where unseen, n or n + 1 where seen, the larger faces first."""
    per_edge = np.ones(len(is_seen), dtype=np.int64)
    left, seen_count = gaussian_count - int(np.sum(~is_seen)), max(int(np.sum(is_seen)), 1)
    n = max(int(np.sqrt(max(left, 0) / seen_count)), 1)
    per_edge[is_seen] = n
    more = min(max((left - n * n * seen_count) // (2 * n + 1), 0), seen_count)
    by_area = np.argsort(-np.where(is_seen, areas, -1.0), kind="stable")
    per_edge[by_area[:more]] = n + 1
    return per_edge


def table_clamp(state: SplatState, table_z: float | None) -> Callable[[Tensor], None]:
    """Keeps vertices on or above the table, in place; those that start on it stay on it."""
    if table_z is None:
        return lambda vertices: None
    heights = state.vertices.detach()[:, 2]
    is_resting = heights < table_z + TABLE_EDGES * state.surface.mean_edge

    def clamp(vertices: Tensor) -> None:
        vertices[:, 2].clamp_(min=table_z)
        vertices[:, 2].masked_fill_(is_resting, table_z)

    clamp(state.vertices.data)
    return clamp


def finished(state: SplatState, views: Views, rig: Rig, config: ObjectConfig) -> SplatMesh:
    """The asset: tensors back to arrays, seen and invented vertices told apart."""
    with torch.no_grad():
        Ts_camera_world = rig.poses()[0].double().cpu().numpy()
        vertices = state.vertices.double().cpu().numpy()
        scale = state.in_plane_scale().cpu().numpy()
        opacity = torch.sigmoid(state.opacity_logits).cpu().numpy()
    faces = state.binding.faces.cpu().numpy()
    uv = state.uv.detach().double().cpu().numpy()
    return SplatMesh(
        vertices=vertices,
        faces=faces,
        is_seen=seen_vertices(views, Ts_camera_world, vertices, faces, table_z=config.table_z),
        face_from_gaussian=state.binding.face_from_gaussian.cpu().numpy(),
        barycentric=np.concatenate([1.0 - uv.sum(axis=1, keepdims=True), uv], axis=1),
        in_plane_scale=scale,
        normal_scale_m=state.binding.normal_scale_m,
        sh=state.sh.detach().cpu().numpy(),
        opacity=opacity,
        dilation_px2=config.fit.dilation_px2,
    )
