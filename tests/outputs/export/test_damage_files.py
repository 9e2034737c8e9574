"""URDF, GLB, PLY and LeRobot folders that were changed in one place: whatever it is, reading them back notices."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.services.formats.glb import glb_chunks
from gemel.services.formats.glb_writer import pack_glb
from outputs.export.damaged import Written, blacken, change_obj, swap, written

pytest.importorskip("mujoco")
LOOKS = "objects/t_block/meshes/looks"
FORMATS = ("urdf", "glb", "ply", "lerobot")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    return {name: written(name, tmp_path_factory.mktemp(name)) for name in FORMATS}


def _json(file: str, change: Callable[[Any], object]) -> Callable[[Path], object]:
    def damage(copy: Path) -> None:
        tree = json.loads((copy / file).read_text())
        change(tree)
        (copy / file).write_text(json.dumps(tree))

    return damage


def _robot(pattern: str, new: str) -> Callable[[Path], object]:
    """Change the last match in the robot's file: the pusher is on its last link."""

    def damage(copy: Path) -> None:
        path = copy / "robot" / "robot.urdf"
        text = path.read_text()
        *_, last = re.finditer(pattern, text, flags=re.DOTALL)
        path.write_text(text[: last.start()] + re.sub(pattern, new, last.group(), flags=re.DOTALL) + text[last.end() :])

    return damage


def _glb(change: Callable[[dict[str, Any], dict[str, np.ndarray]], object]) -> Callable[[Path], object]:
    """Change the description, or arrays of the first mesh, of the scene."""

    def damage(copy: Path) -> None:
        gltf, binary = glb_chunks((copy / "scene.glb").read_bytes())
        data = bytearray(binary)
        primitive = gltf["meshes"][0]["primitives"][0]
        arrays = {}
        for name, index in {**primitive["attributes"], "indices": primitive["indices"]}.items():
            view = gltf["bufferViews"][gltf["accessors"][index]["bufferView"]]
            kind = "<u4" if name == "indices" else "<f4"
            arrays[name] = np.frombuffer(data, kind, view["byteLength"] // 4, view["byteOffset"])
        change(gltf, arrays)
        arrays.clear()
        (copy / "scene.glb").write_bytes(pack_glb(gltf, bytes(data)))

    return damage


def _zeroed(name: str) -> Callable[[Path], object]:
    return _glb(lambda _, arrays: arrays[name].fill(0))


DAMAGES: dict[tuple[str, str], Callable[[Path], object]] = {
    ("urdf", "pusher's friction"): _json(
        "scene.json", lambda tree: tree["contacts"]["t_block-pusher"].update(friction=[9.0, 9.0, 0.0, 0.0, 0.0])
    ),
    ("urdf", "no servos"): _json("scene.json", lambda tree: tree.update(servos={})),
    ("urdf", "another start"): _json("scene.json", lambda tree: tree["start"].update(joint2=1.0)),
    ("urdf", "gravity"): _json("scene.json", lambda tree: tree.update(gravity=[0.0, 0.0, -1.6])),
    ("urdf", "effort"): _robot(r'effort="[^"]*"', 'effort="1"'),
    ("urdf", "pusher does not touch"): _robot(r"<collision>(?:(?!<collision>).)*?</collision>", ""),
    ("urdf", "pusher's size"): _robot(r' radius="[^"]*"', ' radius="0.5"'),
    ("urdf", "damping is no number"): _robot(r'damping="[^"]*"', 'damping="nan"'),
    ("urdf", "picture gone"): lambda copy: (copy / f"{LOOKS}.png").unlink(),
    ("urdf", "picture black"): lambda copy: blacken(copy / f"{LOOKS}.png"),
    ("urdf", "material gone"): lambda copy: (copy / f"{LOOKS}.mtl").unlink(),
    ("urdf", "material"): lambda copy: swap(copy / f"{LOOKS}.mtl", "Kd 1 1 1", "Kd 0 0 0"),
    ("urdf", "looks twice as large"): lambda copy: change_obj(copy / f"{LOOKS}.obj", scale=2.0),
    ("urdf", "texture coordinates"): lambda copy: change_obj(copy / f"{LOOKS}.obj", uv=0.0),
    ("glb", "scene's colours"): _zeroed("COLOR_0"),
    ("glb", "scene's faces"): _zeroed("indices"),
    ("glb", "mass"): _glb(lambda gltf, _: gltf["nodes"][0]["extras"].update(mass_kg=9.0)),
    ("glb", "mass is no number"): _glb(lambda gltf, _: gltf["nodes"][0]["extras"].update(mass_kg=float("nan"))),
    ("glb", "conventions"): _glb(lambda gltf, _: gltf["asset"]["extras"].update(up="x")),
    ("ply", "a file gone"): lambda copy: (copy / "table.ply").unlink(),
    ("lerobot", "joint renamed"): lambda copy: swap(copy / "meta" / "info.json", '"joint2"', '"elbow"'),
    ("lerobot", "no units"): lambda copy: (copy / "meta" / "gemel.toml").write_text(""),
    ("lerobot", "no statistics"): lambda copy: (copy / "meta" / "stats.json").write_text("{}"),
    ("lerobot", "frame rate"): _json("meta/info.json", lambda tree: tree.update(fps=1.0)),
}


@pytest.mark.parametrize(("name", "what"), DAMAGES)
def test_a_folder_with_one_change_is_noticed(name: str, what: str, folders: dict[str, Written], tmp_path: Path) -> None:
    """Physics, looks, names and remarks alike."""
    assert folders[name].failed(DAMAGES[name, what], tmp_path / "copy") != []


@pytest.mark.parametrize("name", FORMATS)
def test_an_untouched_copy_is_the_twin(name: str, folders: dict[str, Written], tmp_path: Path) -> None:
    """Or nothing above would mean anything; nothing is left beside it."""
    assert folders[name].failed(lambda _: None, tmp_path / "copy") == []
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]
