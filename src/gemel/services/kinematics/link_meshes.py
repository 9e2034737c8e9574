"""What the links of a robot look like: triangles and colours of every geom that is meant to be seen.

Primitives become meshes of our own shapes; mesh geoms bring theirs. Where a link has geoms that MuJoCo's convention
calls visual (no contacts), its collision geoms of the same link are left out; a link with collision geoms only shows
those.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry import SE3, SO3, box_mesh, capsule_mesh, cylinder_mesh, icosphere_mesh
from gemel.geometry.mesh_shapes import Mesh

_SEGMENTS = 24


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """The visible surface of one link."""

    link: int
    """Index in the kinematic tree."""
    vertices: Float[np.ndarray, "v 3"]
    """In the link's frame [m]."""
    faces: Int[np.ndarray, "f 3"]
    face_colours: Float[np.ndarray, "f 3"]
    """sRGB 0 to 1, from the model's materials; a start for what the cameras see."""


def link_meshes(model: Any) -> tuple[LinkMesh, ...]:
    """One mesh for each link of a compiled `mujoco.MjModel` that has anything to show."""
    found = []
    for body in range(1, model.nbody):
        geoms = _shown([g for g in range(model.ngeom) if model.geom_bodyid[g] == body], model)
        parts = [part for g in geoms if (part := _geom_mesh(model, g)) is not None]
        if parts:
            found.append(_joined(body - 1, parts))
    return tuple(found)


def _shown(geoms: list[int], model: Any) -> list[int]:
    """Geoms without contacts if there are any beside ones that share the collision convention's groups."""
    visual = [g for g in geoms if model.geom_group[g] < 3 and model.geom_rgba[g, 3] > 0.0]
    return visual or geoms


def _joined(link: int, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> LinkMesh:
    starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in parts)])
    return LinkMesh(
        link=link,
        vertices=np.concatenate([vertices for vertices, _, _ in parts]),
        faces=np.concatenate([faces + start for (_, faces, _), start in zip(parts, starts, strict=False)]),
        face_colours=np.concatenate([np.tile(colour, (len(faces), 1)) for _, faces, colour in parts]),
    )


def _geom_mesh(model: Any, g: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    shape = geom_surface(model, g)
    if shape is None:
        return None
    vertices, faces = shape
    T_link_geom = SE3(SO3(np.array(model.geom_quat[g])), np.array(model.geom_pos[g]))
    return T_link_geom @ vertices, faces, geom_colour(model, g)


def geom_surface(model: Any, g: int) -> Mesh | None:
    """The geom's surface in its own frame; planes, height fields and others without a closed surface give None."""
    size = np.array(model.geom_size[g])
    kind = int(model.geom_type[g])  # codes of mujoco.mjtGeom
    if kind == 2:
        return icosphere_mesh(float(size[0]), 2)
    if kind == 3:
        return capsule_mesh(float(size[0]), 2.0 * float(size[1]), _SEGMENTS)
    if kind == 4:
        vertices, faces = icosphere_mesh(1.0, 2)
        return vertices * size, faces
    if kind == 5:
        return cylinder_mesh(float(size[0]), 2.0 * float(size[1]), _SEGMENTS)
    if kind == 6:
        return box_mesh(2.0 * size)
    if kind == 7:
        return _mesh_asset(model, int(model.geom_dataid[g]))
    return None


def _mesh_asset(model: Any, m: int) -> Mesh:
    v0, vn = int(model.mesh_vertadr[m]), int(model.mesh_vertnum[m])
    f0, fn = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
    return np.array(model.mesh_vert[v0 : v0 + vn], dtype=np.float64), np.array(
        model.mesh_face[f0 : f0 + fn], dtype=np.int64
    )


def geom_colour(model: Any, g: int) -> Float[np.ndarray, "3"]:
    """sRGB 0 to 1 of a geom, by its material where it has one."""
    material = int(model.geom_matid[g])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[g]
    return np.array(rgba[:3], dtype=np.float64)
