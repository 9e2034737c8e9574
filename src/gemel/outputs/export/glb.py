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
from gemel.outputs.export.report import Check
from gemel.outputs.export.rollout import largest_difference
from gemel.outputs.export.scene import ExportObject, ExportScene
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
    (folder / "objects").mkdir(parents=True)
    nodes = _nodes(scene)
    for thing, node in zip(scene.objects, nodes, strict=False):
        alone = GlbNode(node.name, node.mesh, SE3.identity(), node.extras)
        _object_file(folder, thing.name).write_bytes(write_glb_scene([alone], is_z_up=True, extras=CONVENTIONS))
    extras = {**CONVENTIONS, "draw": scene.draw_name}
    (folder / SCENE_FILE).write_bytes(write_glb_scene(nodes, is_z_up=True, extras=extras))
    return (
        scene.spread_words,
        "physics: mass, centre of mass and inertia are remarks (`extras`) on the objects' nodes; joints, friction and "
        "colliders are left out",
        "splats: their colours are those at the vertices, seen straight on",
        "cameras",
    )


def verify_glb(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """Vertices, faces and colours equal, objects watertight, the scene as large as the twin."""
    differ, leaky, volumes, colours = 0, 0, 0.0, 0.0
    for thing in scene.objects:
        found = read_mesh(_object_file(folder, thing.name))
        positions = (found.vertices @ Y_FROM_Z_UP.as_matrix()).astype(np.float32)
        differ += not (np.allclose(positions, thing.mesh.vertices, rtol=0.0, atol=_OBJECT_ROUNDING_M)
                       and np.array_equal(found.faces, thing.mesh.faces))  # fmt: skip
        leaky += not is_watertight(found.vertices, found.faces)
        whole = volume(thing.mesh.vertices, thing.mesh.faces)
        volumes = max(volumes, abs(volume(found.vertices, found.faces) / whole - 1.0))
        expected = vertex_colours(thing.mesh, thing.gaussians)
        colours = max(colours, float(np.abs(found.colours - expected).max()) if found.colours is not None else np.inf)
    return (
        Check("objects whose triangles differ", float(differ), 0.0),
        Check("objects that are not watertight", float(leaky), 0.0),
        Check("volume", volumes, 1e-5, "(part)"),
        Check("colours", colours, _COLOUR_STEP),
        Check("scene's corners", _scene_difference(scene, folder), _ROUNDING_M, "m"),
    )


def _object_file(folder: Path, name: str) -> Path:
    return folder / "objects" / f"{file_name(name)}.glb"


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


def _scene_difference(scene: ExportScene, folder: Path) -> float:
    """How far corners of the written scene are from where they ought to be [m]; the reader takes nodes last first."""
    expected = np.concatenate([node.T_scene_node @ node.mesh.vertices for node in reversed(_nodes(scene))])
    found = read_mesh(folder / SCENE_FILE).vertices @ Y_FROM_Z_UP.as_matrix()
    return largest_difference(found, expected)
