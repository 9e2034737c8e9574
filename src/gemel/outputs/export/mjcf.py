"""MJCF: `scene.xml` with its meshes as .obj and its textures as .png in `assets`, and nothing outside the folder.

Numbers have all digits, masses and inertias are written out, and every mesh is written as the compiled model has it, so
that plain MuJoCo repeats the twin's motion. Geoms that touch are in group 3, as viewers expect; looks are in group 2.
The keyframe `start` has the state of the start and commands under which the robot stays there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gemel.errors import ConfigError
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.cameras import left_out_of_cameras
from gemel.outputs.export.scene import ExportScene, mesh_in_file_frame
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.obj_mesh import write_obj
from gemel.services.sim.looks import add_looks, looks_name
from gemel.services.sim.slots import resting_commands
from gemel.services.sim.xml_text import exact_xml

CONVENTIONS = {
    "unit": "m, kg, s, rad",
    "up": "z",
    "quaternions": "wxyz",
    "cameras": "look along -z, y up",
    "joint values": "readings of the log: encoder offsets are in the joints' `ref`",
}
SCENE_FILE = "scene.xml"
START = "start"
_ASSETS = "assets"
_EMISSION = 0.35
"""The texture has the light of the capture in it; with the scene's lights this gives about its own brightness."""


@dataclass(frozen=True, eq=False)
class BuiltMjcf:
    """A scene as it is meant, before it is text."""

    spec: Any
    """`mujoco.MjSpec`; its files are `assets`."""
    assets: Mapping[str, bytes]
    """Files below the folder of assets, by name."""
    model: Any
    """`mujoco.MjModel` of it."""


def write_mjcf(scene: ExportScene, baked: Mapping[str, BakedMesh], folder: Path) -> tuple[str, ...]:
    """Write the scene; what MJCF cannot carry, in words."""
    built = build_mjcf(scene, baked)
    (folder / _ASSETS).mkdir(parents=True)
    for name, data in built.assets.items():
        (folder / _ASSETS / name).write_bytes(data)
    (folder / SCENE_FILE).write_text(exact_xml(built.spec), encoding="utf-8")
    return _not_carried(scene)


def build_mjcf(scene: ExportScene, baked: Mapping[str, BakedMesh]) -> BuiltMjcf:
    """The scene with looks and files; `baked` are the textured meshes of objects and table."""
    spec = scene.compiled.spec.copy()
    add_looks(spec, scene.twin, scene.draw)
    model = spec.copy().compile()
    assets = {**_other_files(spec), **_meshes(spec, model, baked)}
    for name, mesh in baked.items():
        assets |= _texture(spec, name, mesh)
    spec.add_key(name=START, qpos=model.qpos0, ctrl=resting_commands(model, model.qpos0[None])[0])
    spec.meshdir = spec.texturedir = _ASSETS
    spec.compiler.saveinertial = True
    spec.comment = "; ".join(f"{key}: {value}" for key, value in CONVENTIONS.items())
    spec.assets = assets
    return BuiltMjcf(spec, assets, spec.compile())


def file_name(name: str) -> str:
    """A name of the model as part of a file name."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def _meshes(spec: Any, model: Any, baked: Mapping[str, BakedMesh]) -> dict[str, bytes]:
    """Every mesh as .obj, scaled and turned as its asset said; those with a texture as they were baked."""
    textured = {looks_name(name): mesh for name, mesh in baked.items()}
    files = {}
    for number, mesh in enumerate(spec.meshes):
        m = model.mesh(mesh.name).id
        vertices, faces = mesh_in_file_frame(model, m)
        uv = _texture_coordinates(model, m)
        if mesh.name in textured:
            vertices, faces, uv = (getattr(textured[mesh.name], part) for part in ("vertices", "faces", "uv"))
        mesh.file, mesh.content_type = f"{number}_{file_name(mesh.name)}.obj", ""
        files[mesh.file] = write_obj(vertices, faces, uv=uv, comment="unit m")
        mesh.uservert = mesh.userface = mesh.usernormal = mesh.usertexcoord = []
        mesh.userfacenormal = mesh.userfacetexcoord = []
        mesh.scale, mesh.refpos, mesh.refquat = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    return files


def _texture_coordinates(model: Any, m: int) -> np.ndarray | None:
    """(f, 3, 2), (0, 0) at the bottom left; MuJoCo keeps them from the top."""
    start, count = int(model.mesh_texcoordadr[m]), int(model.mesh_texcoordnum[m])
    if start < 0 or not count:
        return None
    f0, fn = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
    uv = np.array(model.mesh_texcoord[start : start + count], dtype=np.float64)[model.mesh_facetexcoord[f0 : f0 + fn]]
    uv[..., 1] = 1.0 - uv[..., 1]
    return uv


def _other_files(spec: Any) -> dict[str, bytes]:
    """Textures and height fields of the robot's own model, byte for byte."""
    files = {}
    for item in (*spec.textures, *spec.hfields):
        if item.file:
            data = spec.assets.get(item.file)
            if data is None:
                raise ConfigError(
                    f"The robot model's file {item.file!r} is not in the store.",
                    remedy="check that it lies beside the robot model, and run `gemel run DIR --from ingest`",
                )
            item.file = file_name(item.file)
            files[item.file] = data
    return files


def _texture(spec: Any, name: str, baked: BakedMesh) -> dict[str, bytes]:
    """Let a visible mesh show its picture."""
    import mujoco

    looks, file = looks_name(name), f"looks_{file_name(name)}.png"
    spec.add_texture(name=looks, type=mujoco.mjtTexture.mjTEXTURE_2D, file=file)
    material = spec.add_material(name=looks, emission=_EMISSION, specular=0.0, shininess=0.0)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = looks
    geom = spec.geom(looks)
    geom.material, geom.rgba = looks, [1.0, 1.0, 1.0, 1.0]
    return {file: encode_png(baked.texture)}


def _not_carried(scene: ExportScene) -> tuple[str, ...]:
    words = [scene.spread_words, "looks that change with the view"]
    if scene.twin.reconstruction.background is not None:
        words.append("the background's splats")
    if scene.twin.reconstruction.links:
        words.append("what links were seen to look like: they look as in the robot's own model")
    if scene.drive_values():
        words.append("delay, backlash and lead of drives act in Gemel's simulator alone: here they are custom numbers "
                     "(gemel/robot/JOINT/…) that plain MuJoCo does not apply")  # fmt: skip
    if any(camera.time_offset_s for camera in scene.twin.reconstruction.cameras):
        words.append("time offsets of cameras: custom numbers (gemel/camera/NAME/time_offset_s), not applied either")
    return (*words, *left_out_of_cameras(scene))
