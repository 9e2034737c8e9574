"""Meshes survive a round trip, other programs' files are read, damaged ones are refused with a message."""

import contextlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from gemel.errors import SourceError
from gemel.geometry import icosphere_mesh
from gemel.services.formats.glb import parse_glb, write_glb
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.mesh_file import MeshFile, mesh_from_bytes, read_mesh


def ball() -> MeshFile:
    vertices, faces = icosphere_mesh(1.0, 1)
    return MeshFile(vertices, faces, 0.5 + 0.5 * vertices)


def glb(gltf: dict, binary: bytes) -> bytes:
    text = json.dumps(gltf).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def test_glb_round_trip() -> None:
    """What is written is what is read, to single precision."""
    found = parse_glb(write_glb(ball()))
    assert np.allclose(found.vertices, ball().vertices, atol=1e-6)
    assert np.array_equal(found.faces, ball().faces)
    assert found.colours is not None
    assert np.allclose(found.colours, ball().colours, atol=1e-4)


def test_nodes_textures_and_short_indices() -> None:
    """Nested nodes move and scale; a texture gives vertices the colours under their coordinates; u8 indices."""
    image = np.zeros((2, 4, 3), np.uint8)
    image[:, :2] = (255, 0, 0)
    image[:, 2:] = (0, 0, 255)
    png = encode_png(image)
    positions = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes()
    places = np.array([[0.125, 0.5], [0.875, 0.5], [0.125, 0.5]], "<f4").tobytes()
    binary = positions + places + bytes([0, 1, 2, 0]) + png
    sizes = [(0, 36), (36, 24), (60, 3), (64, len(png))]
    gltf = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"children": [1], "translation": [10, 0, 0]},
                  {"mesh": 0, "scale": [2, 2, 2], "rotation": [0, 0, 0.7071067811865476, 0.7071067811865476]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}], "images": [{"bufferView": 3, "mimeType": "image/png"}],
        "buffers": [{"byteLength": len(binary)}],
        "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": n} for a, n in sizes],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                      {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"},
                      {"bufferView": 2, "componentType": 5121, "count": 3, "type": "SCALAR"}],
    }  # fmt: skip
    found = parse_glb(glb(gltf, binary))
    assert np.allclose(found.vertices, [[10, 0, 0], [10, 2, 0], [8, 0, 0]], atol=1e-6)
    assert np.allclose(found.colours, [[1, 0, 0], [0, 0, 1], [1, 0, 0]], atol=0.02)


def test_ply_text_and_binary_and_obj(tmp_path: Path) -> None:
    """The same two triangles, one of them part of a quad, from three kinds of files."""
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float64)
    header = "ply\nformat {} 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    header += "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    header += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    lines = "".join(f"{x} {y} {z} 255 0 51\n" for x, y, z in square) + "4 0 1 2 3\n"
    rows = b"".join(struct.pack("<fffBBB", *point, 255, 0, 51) for point in square) + struct.pack(
        "<Biiii", 4, 0, 1, 2, 3
    )
    files = {
        "text.ply": (header.format("ascii") + lines).encode(),
        "binary.ply": header.format("binary_little_endian").encode() + rows,
        "mesh.obj": ("".join(f"v {x} {y} {z} 1 0 0.2\n" for x, y, z in square) + "f 1/1 2/2 3/3 -1\n").encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        found = read_mesh(tmp_path / name)
        assert np.allclose(found.vertices, square)
        assert found.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
        assert np.allclose(found.colours, [1.0, 0.0, 0.2])


def test_damaged_files_are_refused_with_a_message() -> None:
    """However a file is cut or bent, the answer is a mesh or a SourceError."""
    rng = np.random.default_rng(0)
    good = write_glb(ball())
    for ending in (".glb", ".ply", ".obj"):
        with pytest.raises(SourceError, match="model"):
            mesh_from_bytes(b"nothing of the kind", ending, where="model")
    for _ in range(300):
        data = bytearray(good[: int(rng.integers(1, len(good)))] if rng.random() < 0.5 else good)
        for at in rng.integers(0, len(data), 4):
            data[at] = int(rng.integers(0, 256))
        with contextlib.suppress(SourceError):
            mesh_from_bytes(bytes(data), ".glb", where="model")


def test_compressed_files_say_how_to_export() -> None:
    """Draco needs a decoder that is not here; the message says what to do."""
    with pytest.raises(SourceError, match="without compression"):
        parse_glb(glb({"asset": {}, "extensionsRequired": ["KHR_draco_mesh_compression"]}, b""))
