"""Textures from splats: every face gets its own triangle of an atlas, coloured by the Gaussians around it.

Two faces share a square cell. A texel's colour is the mean of the nearest Gaussians that look the same way, weighted
by opacity and by their own bell curve in the surface; the thickness of flat Gaussians is ignored, because a curved
surface leaves their planes. Colours are those seen straight on: one texture cannot change with the view.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SO3, face_normals, vertex_normals
from gemel.services.render.spherical_harmonics import basis

_NEIGHBOURS = 8
_AT_ONCE = 100_000
"""Points that are coloured in one go, to bound the memory."""
_LEAST_WEIGHT = 1e-12
"""Keeps the nearest Gaussian's colour where no bell curve reaches."""
_SMALLEST_CELL_PX, _LARGEST_ATLAS_PX = 8, 4096
_PX_PER_GAUSSIAN = 4
"""Along an edge: finer than the Gaussians there is nothing to see."""
_BORDER_PX = 6
"""Of a cell, around and between its two triangles."""
_GREY = 0.5


@dataclass(frozen=True, eq=False)
class BakedMesh:
    """A mesh with a texture."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    uv: Float[np.ndarray, "f 3 2"]
    """Texture coordinates of each corner, (0, 0) at the bottom left."""
    texture: UInt8[np.ndarray, "side side 3"]
    """sRGB; the first row is the top."""


def bake(mesh: SplatMesh, gaussians: Gaussians) -> BakedMesh:
    """The mesh with its Gaussians' colours as a texture."""
    cells = -(-len(mesh.faces) // 2)
    per_row = int(np.ceil(np.sqrt(cells)))
    side = _cell_side(len(gaussians) / len(mesh.faces), per_row)
    is_second, barycentric, corners_px = _cell(side)
    texture = np.zeros((per_row * side, per_row * side, 3))
    normals = face_normals(mesh.vertices, mesh.faces)
    for half in (0, 1):
        rows, columns = np.nonzero(is_second == half)
        faces = np.arange(half, len(mesh.faces), 2)
        points = np.einsum("tk,fkx->ftx", barycentric[rows, columns], mesh.vertices[mesh.faces[faces]])
        towards = np.repeat(normals[faces], len(rows), axis=0)
        colours = colours_at(points.reshape(-1, 3), towards, mesh, gaussians).reshape(len(faces), len(rows), 3)
        cell_row, cell_column = np.divmod(faces // 2, per_row)
        texture[cell_row[:, None] * side + rows, cell_column[:, None] * side + columns] = colours
    cell_row, cell_column = np.divmod(np.arange(len(mesh.faces)) // 2, per_row)
    origins = np.stack([cell_column, cell_row], axis=-1) * float(side)
    pixels = origins[:, None] + corners_px[np.arange(len(mesh.faces)) % 2]
    uv = pixels / (per_row * side)
    uv[..., 1] = 1.0 - uv[..., 1]
    return BakedMesh(mesh.vertices, mesh.faces, uv, np.round(255.0 * texture).astype(np.uint8))


def vertex_colours(mesh: SplatMesh, gaussians: Gaussians) -> Float[np.ndarray, "v 3"]:
    """sRGB 0 to 1 at the vertices."""
    return colours_at(mesh.vertices, vertex_normals(mesh.vertices, mesh.faces), mesh, gaussians)


def colours_at(
    points: Float[np.ndarray, "n 3"], normals: Float[np.ndarray, "n 3"], mesh: SplatMesh, gaussians: Gaussians
) -> Float[np.ndarray, "n 3"]:
    """sRGB 0 to 1 of points on the surface, seen against their normals; grey for a mesh without Gaussians."""
    if not len(gaussians):
        return np.full((len(points), 3), _GREY)
    from scipy.spatial import cKDTree

    own_normals = face_normals(mesh.vertices, mesh.faces)[mesh.face_from_gaussian]
    seen = np.einsum("gkc,gk->gc", gaussians.sh, basis(-own_normals, gaussians.sh_degree).astype(np.float32))
    colours = np.clip(0.5 + seen, 0.0, 1.0)
    precisions = _precisions(gaussians)
    tree = cKDTree(gaussians.means)
    count = min(_NEIGHBOURS, len(gaussians))
    found = []
    for start in range(0, len(points), _AT_ONCE):
        part, towards = points[start : start + _AT_ONCE], normals[start : start + _AT_ONCE]
        near = tree.query(part, k=count)[1].reshape(len(part), count)
        offset = part[:, None] - gaussians.means[near]
        exponent = np.einsum("nki,nkij,nkj->nk", offset, precisions[near], offset)
        weight = gaussians.opacities[near] * np.exp(-0.5 * np.minimum(exponent, 200.0))
        weight *= np.einsum("nki,ni->nk", own_normals[near], towards) > 0.0
        weight[:, 0] += _LEAST_WEIGHT
        found.append(np.einsum("nk,nkc->nc", weight, colours[near]) / weight.sum(axis=1, keepdims=True))
    return np.concatenate(found)


def _precisions(gaussians: Gaussians) -> Float[np.ndarray, "g 3 3"]:
    """Inverse covariances, with the smallest scale of each Gaussian raised to its middle one."""
    scales = np.maximum(gaussians.scales, np.median(gaussians.scales, axis=1, keepdims=True)).astype(np.float64)
    axes = SO3(gaussians.rotations.astype(np.float64)).as_matrix() / np.maximum(scales, 1e-9)[:, None]
    return np.asarray(axes @ np.swapaxes(axes, 1, 2))


def _cell_side(per_face: float, per_row: int) -> int:
    """Width of a cell [px] for so many Gaussians on each of its two faces."""
    wanted = _PX_PER_GAUSSIAN * int(np.ceil(np.sqrt(2.0 * per_face))) + _BORDER_PX
    return max(min(wanted, _LARGEST_ATLAS_PX // per_row), _SMALLEST_CELL_PX)


def _cell(side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which of a cell's two faces each texel shows (side, side), where on it (side, side, 3), and the faces' corners.

    Corners are (2, 3, 2) in x right, y down [px], a pixel or more inside the cell and apart from each other, so that
    interpolation never meets a neighbour's colour; texels outside both triangles repeat the nearest edge.
    """
    far = float(side)
    corners = np.array([[[1, 1], [far - 3, 1], [1, far - 3]], [[far - 1, far - 1], [3, far - 1], [far - 1, 3]]])
    y, x = np.mgrid[0:side, 0:side] + 0.5
    is_second = (x + y > far).astype(np.int64)
    a, b, c = np.moveaxis(corners[is_second], 2, 0)
    p = np.stack([x, y], axis=-1)
    weights = np.linalg.solve(np.stack([b - a, c - a], axis=-1), (p - a)[..., None])[..., 0]
    barycentric = np.maximum(np.concatenate([1.0 - weights.sum(axis=-1, keepdims=True), weights], axis=-1), 0.0)
    return is_second, barycentric / barycentric.sum(axis=-1, keepdims=True), corners
