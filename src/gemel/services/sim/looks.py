"""What a compiled scene looks like, beside how it moves: visible meshes, table, light, cameras; and, as numbers, what
belongs to the twin and MuJoCo does not simulate here.

Nothing of it touches or weighs anything, so that trajectories are the same with and without. Visible meshes are in
group 2; what touches moves to group 3, which viewers hide. Custom numerics are `gemel/camera/NAME/time_offset_s` [s]
(add it to a frame's time stamp to get the robot's clock) and `gemel/robot/JOINT/delay`, `lead` [s] and `backlash` [rad
or m] of drives (`drives.py`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.services.render.spherical_harmonics import C0
from gemel.services.sim.contacts import TABLE
from gemel.services.sim.drives import is_drive_parameter
from gemel.services.sim.mounted_cameras import add_camera, mounted_cameras

LOOKS_GROUP, TOUCH_GROUP = 2, 3
LIGHT = "gemel/light"
_GREY = (0.5, 0.5, 0.5)


def add_looks(spec: Any, twin: Twin, draw: Mapping[str, float]) -> None:
    """Add all of it to the `mujoco.MjSpec` of a twin."""
    seen = twin.reconstruction
    spec.compiler.discardvisual = False  # as robots from URDF files want it: MuJoCo would drop what is only seen
    for name, mesh in seen.objects.items():
        if name in twin.colliders:
            _add_visible(spec, spec.body(name), name, mesh)
    if twin.table_height_m is not None and seen.table is not None and len(seen.table.faces):
        _add_visible(spec, spec.worldbody, TABLE, seen.table)
    for camera in mounted_cameras(twin):
        add_camera(spec, camera)
    if not spec.lights:
        _add_light(spec)
    for name, value in numerics(twin, draw).items():
        spec.add_numeric(name=name, data=[value], size=1)


def looks_name(name: str) -> str:
    """What the visible mesh of an object or of the table is called, as a mesh and as a geom."""
    return f"{name}/looks"


def numerics(twin: Twin, draw: Mapping[str, float]) -> dict[str, float]:
    """Custom numbers of the scene by name."""
    found = {f"gemel/camera/{c.name}/time_offset_s": float(c.time_offset_s) for c in twin.reconstruction.cameras}
    return found | {f"gemel/{name}": float(value) for name, value in draw.items() if is_drive_parameter(name)}


def mean_colour(mesh: SplatMesh) -> Float[np.ndarray, "3"]:
    """sRGB 0 to 1 of all splats together, weighted by opacity; grey without any."""
    weight = mesh.opacity
    if not weight.sum() > 0.0:
        return np.array(_GREY)
    return np.asarray(np.clip(0.5 + C0 * (weight @ mesh.sh[:, 0]) / weight.sum(), 0.0, 1.0), dtype=np.float64)


def _add_visible(spec: Any, body: Any, name: str, mesh: SplatMesh) -> None:
    """A mesh for the eye; geoms of the same part that touch are hidden behind it."""
    import mujoco

    for geom in body.geoms:
        if geom.name == name or geom.name.startswith(f"{name}/"):
            geom.group = TOUCH_GROUP
    looks = looks_name(name)
    made = spec.add_mesh(
        name=looks, uservert=mesh.vertices.ravel(), userface=mesh.faces.ravel().astype(np.int32), scale=[1.0, 1.0, 1.0]
    )
    made.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # a table top has no volume
    body.add_geom(
        name=looks, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=looks, rgba=[*mean_colour(mesh), 1.0],
        contype=0, conaffinity=0, mass=0.0, group=LOOKS_GROUP,
    )  # fmt: skip


def _add_light(spec: Any) -> None:
    """From above, weak: the colours of splats have the light of the capture in them."""
    import mujoco

    spec.worldbody.add_light(
        name=LIGHT, type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=[0.0, 0.0, 3.0], dir=[0.2, 0.1, -1.0],
        diffuse=[0.3, 0.3, 0.3], specular=[0.0, 0.0, 0.0],
    )  # fmt: skip
