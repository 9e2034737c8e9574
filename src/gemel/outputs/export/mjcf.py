"""MJCF: `scene.xml` with its meshes as .obj and its textures as .png in `assets`, and nothing outside the folder.

Numbers have all digits, masses and inertias are written out, and every mesh is written as the compiled model has it, so
that plain MuJoCo repeats the twin's motion. Geoms that touch are in group 3, as viewers expect; looks are in group 2.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gemel.errors import ConfigError
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.cameras import late_cameras, left_out_of_cameras
from gemel.outputs.export.scene import ExportScene, mesh_in_file_frame
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.obj_mesh import write_obj
from gemel.services.sim.mounted_cameras import add_camera, mounted_cameras
from gemel.services.sim.xml_text import exact_xml

CONVENTIONS = {
    "unit": "m, kg, s, rad",
    "up": "z",
    "quaternions": "wxyz",
    "cameras": "look along -z, y up",
    "joint values": "readings of the log: encoder offsets are in the joints' `ref`",
}
SCENE_FILE = "scene.xml"
_ASSETS = "assets"
_LOOKS_GROUP, _TOUCH_GROUP = 2, 3
_EMISSION = 0.6
"""The texture has the light of the capture in it; with MuJoCo's headlight this gives about its own brightness."""


def write_mjcf(scene: ExportScene, baked: dict[str, BakedMesh], folder: Path) -> tuple[str, ...]:
    """Write the scene; what MJCF cannot carry, in words."""
    spec = scene.compiled.spec.copy()
    (folder / _ASSETS).mkdir(parents=True)
    _write_meshes(spec, scene.model, folder / _ASSETS)
    _write_other_files(spec, folder / _ASSETS)
    for name, mesh in baked.items():
        _add_looks(spec, name, mesh, folder / _ASSETS)
    for camera in mounted_cameras(scene.twin):
        add_camera(spec, camera)
    spec.meshdir = spec.texturedir = _ASSETS
    spec.compiler.saveinertial = True
    spec.comment = "; ".join(f"{key}: {value}" for key, value in CONVENTIONS.items())
    spec.assets = {f.name: f.read_bytes() for f in (folder / _ASSETS).iterdir()}
    spec.compile()
    (folder / SCENE_FILE).write_text(exact_xml(spec), encoding="utf-8")
    return _not_carried(scene)


def file_name(name: str) -> str:
    """A name of the model as part of a file name."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def _write_meshes(spec: Any, model: Any, folder: Path) -> None:
    """Every mesh as .obj, scaled and turned as its asset said."""
    for number, mesh in enumerate(spec.meshes):
        m = model.mesh(mesh.name).id
        vertices, faces = mesh_in_file_frame(model, m)
        file = f"{number}_{file_name(mesh.name)}.obj"
        (folder / file).write_bytes(write_obj(vertices, faces, uv=_texture_coordinates(model, m), comment="unit m"))
        mesh.file, mesh.content_type = file, ""
        mesh.uservert = mesh.userface = mesh.usernormal = mesh.usertexcoord = []
        mesh.userfacenormal = mesh.userfacetexcoord = []
        mesh.scale, mesh.refpos, mesh.refquat = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]


def _texture_coordinates(model: Any, m: int) -> np.ndarray | None:
    """(f, 3, 2), (0, 0) at the bottom left; MuJoCo keeps them from the top."""
    start, count = int(model.mesh_texcoordadr[m]), int(model.mesh_texcoordnum[m])
    if start < 0 or not count:
        return None
    f0, fn = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
    uv = np.array(model.mesh_texcoord[start : start + count], dtype=np.float64)[model.mesh_facetexcoord[f0 : f0 + fn]]
    uv[..., 1] = 1.0 - uv[..., 1]
    return uv


def _write_other_files(spec: Any, folder: Path) -> None:
    """Textures and height fields of the robot's own model, byte for byte."""
    for item in (*spec.textures, *spec.hfields):
        if item.file:
            data = spec.assets.get(item.file)
            if data is None:
                raise ConfigError(
                    f"The robot model's file {item.file!r} is not in the store.",
                    remedy="check that it lies beside the robot model, and run `gemel run DIR --from ingest`",
                )
            item.file = file_name(item.file)
            (folder / item.file).write_bytes(data)


def _add_looks(spec: Any, name: str, baked: BakedMesh, folder: Path) -> None:
    import mujoco

    looks, stem = f"{name}/looks", f"looks_{file_name(name)}"
    (folder / f"{stem}.obj").write_bytes(write_obj(baked.vertices, baked.faces, uv=baked.uv, comment="unit m"))
    (folder / f"{stem}.png").write_bytes(encode_png(baked.texture))
    spec.add_mesh(name=looks, file=f"{stem}.obj")
    spec.add_texture(name=looks, type=mujoco.mjtTexture.mjTEXTURE_2D, file=f"{stem}.png")
    material = spec.add_material(name=looks, emission=_EMISSION, specular=0.0, shininess=0.0)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = looks
    body = spec.body(name)
    for geom in body.geoms:
        geom.group = _TOUCH_GROUP
    body.add_geom(
        name=looks, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=looks, material=looks,
        contype=0, conaffinity=0, mass=0.0, group=_LOOKS_GROUP,
    )  # fmt: skip


def _not_carried(scene: ExportScene) -> tuple[str, ...]:
    words = [scene.spread_words, "looks that change with the view"]
    if scene.twin.reconstruction.background is not None:
        words.append("the background's splats")
    if scene.twin.reconstruction.table is not None:
        words.append("the table's looks: it is a plain plane")
    if scene.drive_values():
        words.append(f"delay, backlash and lead of drives: {scene.drive_values()}")
    return (*words, *left_out_of_cameras(scene), *late_cameras(scene))
