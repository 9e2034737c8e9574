"""Writing binary glTF 2.0: named nodes with poses, triangles with vertex colours, and remarks (`extras`).

glTF has metres and y up; a scene with z up stands under one root node that turns it. Quaternions are xyzw.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.services.formats.mesh_file import MeshFile

MAGIC, JSON_CHUNK, BINARY_CHUNK = b"glTF", 0x4E4F534A, 0x004E4942
_FLOAT, _UINT = 5126, 5125
_VERTICES, _INDICES = 34962, 34963
Y_FROM_Z_UP = SO3.exp(np.array([-np.pi / 2.0, 0.0, 0.0]))
"""Takes what has z up to what has y up."""


@dataclass(frozen=True, eq=False)
class GlbNode:
    """A mesh at a place."""

    name: str
    mesh: MeshFile
    T_scene_node: SE3
    extras: Mapping[str, Any] = field(default_factory=dict)
    """Remarks for other programs."""


def write_glb_scene(nodes: Sequence[GlbNode], *, is_z_up: bool, extras: Mapping[str, Any] | None = None) -> bytes:
    """A .glb of all nodes; with `is_z_up` they are turned to glTF's y up."""
    binary = bytearray()
    views: list[dict[str, Any]] = []
    accessors: list[dict[str, Any]] = []
    meshes = [{"name": node.name, **_mesh(node.mesh, binary, views, accessors)} for node in nodes]
    children = [
        {
            "name": node.name, "mesh": i, "translation": node.T_scene_node.translation.tolist(),
            "rotation": node.T_scene_node.rotation.as_xyzw().tolist(), "extras": dict(node.extras),
        }
        for i, node in enumerate(nodes)
    ]  # fmt: skip
    turn = Y_FROM_Z_UP if is_z_up else SO3.identity()
    root = {"name": "world", "rotation": turn.as_xyzw().tolist(), "children": list(range(len(nodes)))}
    gltf = {
        "asset": {"version": "2.0", "generator": "gemel", "extras": dict(extras or {})},
        "scene": 0, "scenes": [{"nodes": [len(nodes)]}], "nodes": [*children, root], "meshes": meshes,
        "materials": [{"pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 1.0}}],
        "buffers": [{"byteLength": len(binary)}], "bufferViews": views, "accessors": accessors,
    }  # fmt: skip
    return pack_glb(gltf, bytes(binary))


def pack_glb(gltf: Mapping[str, Any], binary: bytes) -> bytes:
    """Header and the two chunks."""
    text = json.dumps(gltf).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<II", len(text), JSON_CHUNK) + text + struct.pack("<II", len(binary), BINARY_CHUNK) + binary
    return struct.pack("<4sII", MAGIC, 2, 12 + len(chunks)) + chunks


def _mesh(
    mesh: MeshFile, binary: bytearray, views: list[dict[str, Any]], accessors: list[dict[str, Any]]
) -> dict[str, Any]:
    arrays = [
        ("POSITION", mesh.vertices.astype("<f4"), _FLOAT, "VEC3", _VERTICES),
        ("indices", mesh.faces.astype("<u4").ravel(), _UINT, "SCALAR", _INDICES),
    ]
    if mesh.colours is not None:
        arrays.append(("COLOR_0", srgb_to_linear(mesh.colours).astype("<f4"), _FLOAT, "VEC3", _VERTICES))
    at = {}
    for name, array, component, kind, target in arrays:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": array.nbytes, "target": target})
        accessors.append({"bufferView": len(views) - 1, "componentType": component, "count": len(array), "type": kind})
        at[name] = len(accessors) - 1
        binary += array.tobytes()
    corners = arrays[0][1]
    accessors[at["POSITION"]] |= {"min": corners.min(axis=0).tolist(), "max": corners.max(axis=0).tolist()}
    indices = at.pop("indices")
    return {"primitives": [{"attributes": at, "indices": indices, "material": 0}]}


def srgb_to_linear(srgb: np.ndarray) -> np.ndarray:
    """IEC 61966-2-1; glTF keeps vertex colours linear."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((np.maximum(srgb, 0.04045) + 0.055) / 1.055) ** 2.4)
