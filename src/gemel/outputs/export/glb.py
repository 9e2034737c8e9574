"""GLB: every object as `objects/NAME.glb` in its own frame, and the whole scene at its start as `scene.glb`.

Objects have shared vertices with colours instead of a texture: vertices that are split for a texture's seams would
leave a mesh that programs find full of holes.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3, is_watertight, volume
from gemel.outputs.export.bake import vertex_colours
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.rollout import largest_difference
from gemel.outputs.export.same_files import file_checks
from gemel.outputs.export.scene import ExportObject, ExportScene
from gemel.services.formats.glb import glb_chunks
from gemel.services.formats.glb_writer import Y_FROM_Z_UP, GlbNode, write_glb_scene
from gemel.services.formats.mesh_file import MeshFile, read_mesh
from gemel.services.kinematics.link_meshes import LinkMesh, link_meshes
from gemel.services.render.bound_gaussians import gaussians_of

CONVENTIONS = {"unit": "m", "up": "y (the root node turns from z up)", "quaternions": "xyzw", "colours": "linear"}
SCENE_FILE = "scene.glb"
_COLOUR_STEP = 1e-6
_OBJECT_ROUNDING_M, _ROUNDING_M = 1e-7, 1e-6
"""Of float32 positions within a metre, and within metres of the origin."""


def write_glb_files(scene: ExportScene, folder: Path) -> tuple[str, ...]:
    """Write objects and scene; what GLB cannot carry, in words."""
    for name, data in glb_files(scene).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    words = [
        scene.spread_words,
        "physics: mass, centre of mass and inertia are remarks (`extras`) on the objects' nodes; joints, friction and "
        "colliders are left out",
        "splats: their colours are those at the vertices, seen straight on",
    ]
    if scene.twin.reconstruction.cameras:
        words.append("cameras: those of glTF look through the middle of their picture")
    return (*words, *scene.left_out_of_looks())


def glb_files(scene: ExportScene) -> dict[str, bytes]:
    """All files by their path in the folder."""
    nodes, files = _nodes(scene), {}
    for thing, node in zip(scene.objects, nodes, strict=False):
        alone = GlbNode(node.name, node.mesh, SE3.identity(), node.extras)
        files[_object_file(thing.name)] = write_glb_scene([alone], is_z_up=True, extras=CONVENTIONS)
    extras = {**CONVENTIONS, "draw": scene.draw_name}
    return {**files, SCENE_FILE: write_glb_scene(nodes, is_z_up=True, extras=extras)}


def verify_glb(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """Vertices, faces and colours equal, objects watertight, the scene as large as the twin; then all that is said."""
    differ, leaky, volumes, colours = 0, 0, [], []
    for thing in scene.objects:
        found = read_mesh(folder / _object_file(thing.name))
        positions = (found.vertices @ Y_FROM_Z_UP.as_matrix()).astype(np.float32)
        differ += not (np.allclose(positions, thing.mesh.vertices, rtol=0.0, atol=_OBJECT_ROUNDING_M)
                       and np.array_equal(found.faces, thing.mesh.faces))  # fmt: skip
        leaky += not is_watertight(found.vertices, found.faces)
        volumes.append(volume(found.vertices, found.faces) / volume(thing.mesh.vertices, thing.mesh.faces) - 1.0)
        expected = vertex_colours(thing.mesh, thing.gaussians)
        colours.append(largest(found.colours - expected) if found.colours is not None else np.inf)
    return (
        Check("objects whose triangles differ", float(differ), 0.0),
        Check("objects that are not watertight", float(leaky), 0.0),
        Check("volume", largest(volumes), 1e-5, "(part)"),
        Check("colours", largest(colours), _COLOUR_STEP),
        Check("mass in remarks", _mass_difference(scene, folder), 1e-9, "kg"),
        *_scene_checks(scene, folder),
        *file_checks(glb_files(scene), folder),
    )


def _object_file(name: str) -> str:
    return f"objects/{file_name(name)}.glb"


def _nodes(scene: ExportScene) -> list[GlbNode]:
    """Objects first, then the table and the robot's links."""
    found = [
        GlbNode(thing.name, _coloured(thing.mesh), thing.T_world_object, _remarks(thing)) for thing in scene.objects
    ]
    table = scene.twin.reconstruction.table
    if table is not None and len(table.faces):
        found.append(GlbNode("table", _coloured(table), SE3.identity()))
    return [*found, *_links(scene)]


def _links(scene: ExportScene) -> list[GlbNode]:
    """Links as they were seen; as their model shows them where nothing was seen."""
    seen = scene.twin.reconstruction.links
    modelled = {scene.model.body(mesh.link + 1).name: mesh for mesh in link_meshes(scene.model)}
    nodes = []
    for body in scene.robot_bodies:
        name = scene.model.body(body).name
        if name in seen:
            nodes.append(GlbNode(name, _coloured(seen[name]), scene.T_world_link(name)))
        elif name in modelled:
            nodes.append(GlbNode(name, _plain(modelled[name]), scene.T_world_link(name)))
    return nodes


def _coloured(mesh: SplatMesh) -> MeshFile:
    return MeshFile(mesh.vertices, mesh.faces, vertex_colours(mesh, gaussians_of(mesh)))


def _plain(mesh: LinkMesh) -> MeshFile:
    """Corners of their own for each face, because colours belong to faces."""
    corners = mesh.vertices[mesh.faces].reshape(-1, 3)
    return MeshFile(corners, np.arange(len(corners)).reshape(-1, 3), np.repeat(mesh.face_colours, 3, axis=0))


def _remarks(thing: ExportObject) -> dict[str, Any]:
    return {
        "mass_kg": thing.inertia.mass_kg,
        "centre_of_mass_m": thing.inertia.p_BoBcm_B.tolist(),
        "inertia_kg_m2": thing.inertia.I_BBcm_B.tolist(),
    }


def _mass_difference(scene: ExportScene, folder: Path) -> float:
    """Of the remark on each object's node in the scene from the model's mass."""
    gltf, _ = glb_chunks((folder / SCENE_FILE).read_bytes())
    said = {node["name"]: node.get("extras", {}).get("mass_kg", np.nan) for node in gltf["nodes"]}
    return largest(said[o.name] - float(scene.model.body_mass[scene.model.body(o.name).id]) for o in scene.objects)


def _scene_checks(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """Corners, faces and colours of the whole scene; the reader takes nodes last first."""
    nodes, found = _nodes(scene)[::-1], read_mesh(folder / SCENE_FILE)
    starts = np.cumsum([0, *(len(node.mesh.vertices) for node in nodes)])
    corners = np.concatenate([node.T_scene_node @ node.mesh.vertices for node in nodes])
    faces = np.concatenate([node.mesh.faces + at for node, at in zip(nodes, starts, strict=False)])
    colours = np.concatenate([np.ones((0, 3)), *(n.mesh.colours for n in nodes if n.mesh.colours is not None)])
    given = found.colours if found.colours is not None else np.zeros((0, 3))
    return (
        Check(
            "scene's corners", largest_difference(found.vertices @ Y_FROM_Z_UP.as_matrix(), corners), _ROUNDING_M, "m"
        ),
        Check("scene's faces", largest_difference(found.faces, faces), 0.0),
        Check("scene's colours", largest_difference(given, colours), _COLOUR_STEP),
    )
