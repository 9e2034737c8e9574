"""Binary glTF 2.0: triangles with vertex colours or a base colour texture in; `glb_writer.py` writes.

After the specification (Khronos, glTF 2.0, 2021): a 12-byte header, a JSON chunk, a binary chunk. Compressed geometry,
sparse accessors and files beside the .glb are refused with a word on how to export without.
"""

import json
import struct
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import SourceError
from gemel.geometry import SE3, SO3, sample_bilinear
from gemel.services.formats.glb_writer import BINARY_CHUNK, JSON_CHUNK, MAGIC, GlbNode, srgb_to_linear, write_glb_scene
from gemel.services.formats.mesh_file import MeshFile

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES = 4
_DEEPEST = 64
_REFUSED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_mesh_quantization")


def parse_glb(data: bytes) -> MeshFile:
    """All triangles of the file's scene."""
    gltf, binary = glb_chunks(data)
    refused = [name for name in gltf.get("extensionsRequired", []) if name in _REFUSED]
    if refused:
        raise SourceError(f"It is compressed ({', '.join(refused)}).", remedy="export it without compression")
    parts = [_primitive(gltf, binary, p, T) for index, T in _placed_meshes(gltf)
             for p in gltf["meshes"][index]["primitives"] if p.get("mode", _TRIANGLES) == _TRIANGLES]  # fmt: skip
    if not parts:
        raise SourceError("It has no triangles.", remedy="export the object as a triangle mesh")
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    colours = None
    if any(part.colours is not None for part in parts):
        colours = np.concatenate([np.ones_like(p.vertices) if p.colours is None else p.colours for p in parts])
    return MeshFile(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
        colours,
    )


def write_glb(mesh: MeshFile) -> bytes:
    """One mesh as a .glb, in the frame and unit that it has."""
    return write_glb_scene([GlbNode("mesh", mesh, SE3.identity())], is_z_up=False)


def glb_chunks(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The description and the binary part of a file."""
    if len(data) < 20 or data[:4] != MAGIC or struct.unpack_from("<I", data, 4)[0] != 2:
        raise SourceError("It is not a binary glTF 2.0 file.", remedy="export it as .glb")
    found: dict[int, bytes] = {}
    at = 12
    while at + 8 <= len(data):
        length, kind = struct.unpack_from("<II", data, at)
        if at + 8 + length > len(data):
            raise SourceError("It is cut off.", remedy="copy or download it again")
        found.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length
    return json.loads(found[JSON_CHUNK]), found.get(BINARY_CHUNK, b"")


def _placed_meshes(gltf: dict[str, Any]) -> list[tuple[int, np.ndarray]]:
    """Mesh indices with their transforms to the scene, (4, 4)."""
    nodes = gltf.get("nodes", [])
    scene = gltf.get("scenes", [{}])[gltf.get("scene", 0)] if gltf.get("scenes") else {}
    stack = [(i, np.eye(4), 0) for i in scene.get("nodes", range(len(nodes)))]
    found = []
    while stack:
        index, T_scene_parent, depth = stack.pop()
        if depth > _DEEPEST:
            raise SourceError("Its nodes are nested too deeply, or in a circle.", remedy="export it again")
        T = T_scene_parent @ _node_transform(nodes[index])
        if "mesh" in nodes[index]:
            found.append((int(nodes[index]["mesh"]), T))
        stack += [(child, T, depth + 1) for child in nodes[index].get("children", [])]
    return found


def _node_transform(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    T = np.eye(4)
    T[:3, :3] = SO3(np.array([w, x, y, z], dtype=np.float64)).as_matrix() * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    T[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return T


def _primitive(gltf: dict[str, Any], binary: bytes, primitive: dict[str, Any], T: np.ndarray) -> MeshFile:
    attributes = primitive["attributes"]
    local = _accessor(gltf, binary, attributes["POSITION"]).astype(np.float64)
    if "indices" in primitive:
        corners = _accessor(gltf, binary, primitive["indices"]).astype(np.int64).ravel()
    else:
        corners = np.arange(len(local))
    faces = corners[: len(corners) // 3 * 3].reshape(-1, 3)
    if np.linalg.det(T[:3, :3]) < 0.0:
        faces = np.ascontiguousarray(faces[:, ::-1])  # a mirrored node turns its faces inside out
    vertices = local @ T[:3, :3].T + T[:3, 3]
    return MeshFile(vertices, faces, _colours(gltf, binary, primitive, len(local)))


def _colours(gltf: dict[str, Any], binary: bytes, primitive: dict[str, Any], count: int) -> np.ndarray | None:
    """sRGB at the vertices: factor times vertex colour times texture, as the specification multiplies them."""
    attributes = primitive["attributes"]
    material = gltf.get("materials", [])[primitive["material"]] if "material" in primitive else {}
    surface = material.get("pbrMetallicRoughness", {})
    linear = np.tile(np.asarray(surface.get("baseColorFactor", (1.0, 1.0, 1.0, 1.0))[:3], dtype=np.float64), (count, 1))
    if "COLOR_0" in attributes:
        linear = linear * _accessor(gltf, binary, attributes["COLOR_0"], is_colour=True)[:, :3]
    texture, place = surface.get("baseColorTexture"), attributes.get("TEXCOORD_0")
    if texture is not None and place is not None:
        image = _image(gltf, binary, gltf["textures"][texture["index"]]["source"])
        uv = _accessor(gltf, binary, place, is_colour=True).astype(np.float64) % 1.0
        pixels = uv * [image.shape[1], image.shape[0]]
        clipped = np.clip(pixels, 0.5, [image.shape[1] - 0.5, image.shape[0] - 0.5])
        linear = linear * srgb_to_linear(np.asarray(sample_bilinear(image, clipped)[0], dtype=np.float64))
    elif "COLOR_0" not in attributes and "baseColorFactor" not in surface:
        return None
    return np.clip(_to_srgb(linear), 0.0, 1.0)


def _image(gltf: dict[str, Any], binary: bytes, index: int) -> Float[np.ndarray, "h w 3"]:
    from gemel.services.formats.image_file import decode_image

    source = gltf["images"][index]
    if "bufferView" not in source:
        raise SourceError("Its texture is not inside the file.", remedy="export it with textures embedded")
    view = gltf["bufferViews"][source["bufferView"]]
    start = view.get("byteOffset", 0)
    return decode_image(binary[start : start + view["byteLength"]]).astype(np.float32) / np.float32(255.0)


def _accessor(gltf: dict[str, Any], binary: bytes, index: int, *, is_colour: bool = False) -> np.ndarray:
    """The numbers of an accessor, (count, width); with `is_colour`, integers as parts of their range."""
    accessor = gltf["accessors"][index]
    if "sparse" in accessor or "bufferView" not in accessor:
        raise SourceError("It uses sparse accessors.", remedy="export it without sparse data")
    view = gltf["bufferViews"][accessor["bufferView"]]
    dtype, width = np.dtype(_TYPES[accessor["componentType"]]), _WIDTHS[accessor["type"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    count, stride = int(accessor["count"]), int(view.get("byteStride", dtype.itemsize * width))
    needed = start + (count - 1) * stride + dtype.itemsize * width if count else start
    if view.get("buffer", 0) != 0 or needed > len(binary) or count < 0 or start < 0:
        raise SourceError("It refers to data outside the file.", remedy="export it with all buffers embedded")
    values = np.ndarray((count, width), dtype, binary, start, (stride, dtype.itemsize)).copy()
    return values / np.iinfo(dtype).max if is_colour and dtype.kind in "iu" else values


def _to_srgb(linear: np.ndarray) -> np.ndarray:
    """IEC 61966-2-1."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)
