"""Rigid motions, cameras, inertia and meshes, in numpy alone.

Conventions of the whole package live here: `T_a_b` maps b-coordinates to a, quaternions are `wxyz`, twists
hold translation before rotation, cameras look along +z with y down, pixel centres lie at +0.5, lengths are
metres and angles radians. Everything is a pure function or a frozen dataclass, works on batches where that
has a meaning, and imports nothing of Gemel but its errors.
"""

from gemel.geometry.camera import CameraModel, Fisheye, OpenCV, Pinhole
from gemel.geometry.inertia import Inertia
from gemel.geometry.mesh import (
    bounds,
    centroid,
    component_count,
    edges,
    euler_characteristic,
    face_areas,
    face_normals,
    is_watertight,
    is_winding_consistent,
    sample_surface,
    surface_area,
    vertex_normals,
    volume,
    volume_moments,
)
from gemel.geometry.mesh_shapes import box_mesh, capsule_mesh, cylinder_mesh, icosphere_mesh, merge_meshes, torus_mesh
from gemel.geometry.resample import pixel_centres, sample_bilinear
from gemel.geometry.se3 import SE3, stack
from gemel.geometry.se3 import left_jacobian as se3_left_jacobian
from gemel.geometry.se3 import left_jacobian_inverse as se3_left_jacobian_inverse
from gemel.geometry.so3 import SO3, hat
from gemel.geometry.so3 import left_jacobian as so3_left_jacobian
from gemel.geometry.so3 import left_jacobian_inverse as so3_left_jacobian_inverse

__all__ = [
    "SE3",
    "SO3",
    "CameraModel",
    "Fisheye",
    "Inertia",
    "OpenCV",
    "Pinhole",
    "bounds",
    "box_mesh",
    "capsule_mesh",
    "centroid",
    "component_count",
    "cylinder_mesh",
    "edges",
    "euler_characteristic",
    "face_areas",
    "face_normals",
    "hat",
    "icosphere_mesh",
    "is_watertight",
    "is_winding_consistent",
    "merge_meshes",
    "pixel_centres",
    "sample_bilinear",
    "sample_surface",
    "se3_left_jacobian",
    "se3_left_jacobian_inverse",
    "so3_left_jacobian",
    "so3_left_jacobian_inverse",
    "stack",
    "surface_area",
    "torus_mesh",
    "vertex_normals",
    "volume",
    "volume_moments",
]
