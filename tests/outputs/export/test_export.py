"""Exports: what is written is read back as the twin, a damaged file is noticed, and bad input writes nothing."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, GemelError
from gemel.geometry import Inertia, box_mesh
from gemel.outputs.export.export import FORMATS, Exporter, export_twin, parse_formats
from gemel.outputs.export.scene import export_scene
from gemel.store.store import Store
from outputs.export.exported_twin import odd_twin, sample_twin, textured_robot, two_objects, with_drawer
from services.sim.made_twin import at, belief, block_twin

mujoco = pytest.importorskip("mujoco")
ALL = tuple(FORMATS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_every_format_is_read_back_as_the_twin(store: Store, tmp_path: Path) -> None:
    """All checks of all formats pass; each folder has its report, with conventions, and nothing else is left."""
    out = tmp_path / "exports"
    reports = export_twin(sample_twin(store), store, ALL, out, stamp={"twin": "ab"})
    assert [report.format for report in reports] == list(ALL)
    assert [str(c) for report in reports for c in report.checks if not c.is_passed] == []
    assert sorted(os.listdir(out)) == sorted(ALL)
    assert [name for name in os.listdir(tmp_path) if "partial" in name] == []
    for report in reports:
        tree = json.loads((out / report.format / "export.json").read_text())
        assert tree["is_verified"] is True
        assert tree["twin"] == "ab"
        assert {"unit", "quaternions"} <= set(tree["conventions"])
        assert tree["not_carried"]
    assert any("delay" in words for words in reports[0].not_carried)


def test_axes_askew_rest_values_followers_and_all_shapes_survive(store: Store, tmp_path: Path) -> None:
    """A robot whose joints are anywhere but at the origin moves the same after URDF, and stands the same in USD."""
    reports = export_twin(odd_twin(store, tmp_path), store, ("mjcf", "urdf", "usd", "glb"), tmp_path / "out")
    assert [str(c) for report in reports for c in report.checks if not c.is_passed] == []


@pytest.mark.parametrize("name", ["two objects", "drawer", "textured robot"])
def test_scenes_of_every_kind_are_read_back(name: str, store: Store, tmp_path: Path) -> None:
    """Objects that touch each other under awkward names, objects with joints, robots with pictures of their own."""
    make = {"two objects": two_objects, "drawer": with_drawer, "textured robot": lambda s: textured_robot(s, tmp_path)}
    reports = export_twin(make[name](store), store, ("mjcf", "urdf", "usd", "glb"), tmp_path / "out")
    assert [str(c) for report in reports for c in report.checks if not c.is_passed] == []


def test_a_twin_without_robot_and_looks_is_exported(store: Store, tmp_path: Path) -> None:
    """Grey instead of looks, no robot files, everything verified."""
    reports = export_twin(block_twin(store, {}), store, ("mjcf", "urdf", "usd", "glb"), tmp_path / "out")
    assert all(report.is_verified for report in reports)
    assert not (tmp_path / "out" / "urdf" / "robot").exists()
    with pytest.raises(ConfigError, match="no splats"):
        export_twin(block_twin(store, {}), store, ("ply",), tmp_path / "out")


def test_mjcf_is_self_contained_and_moves_as_the_twin(store: Store, tmp_path: Path) -> None:
    """Carried elsewhere, plain MuJoCo compiles the folder and repeats two seconds of pushing to 0.1 mm."""
    twin = sample_twin(store)
    scene = export_scene(twin, store)
    export_twin(twin, store, ("mjcf",), tmp_path / "out")
    shutil.move(tmp_path / "out" / "mjcf", tmp_path / "elsewhere")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "elsewhere" / "scene.xml"))
    assert model.ntex == 2  # block and table
    ends = []
    for each in (scene.model, model):
        data = mujoco.MjData(each)
        data.ctrl[:] = np.linspace(-0.4, 0.6, each.nu)
        for _ in range(round(2.0 / each.opt.timestep)):
            mujoco.mj_step(each, data)
        ends.append(np.array(data.qpos))
    assert np.abs(ends[0] - ends[1]).max() < 1e-4


def test_cameras_see_through_the_same_optics(store: Store, tmp_path: Path) -> None:
    """Focal length and principal point of an off-centre camera survive in the frustum that MuJoCo draws with."""
    export_twin(sample_twin(store), store, ("mjcf",), tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "mjcf" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    seen, camera = mujoco.MjvScene(model, 100), mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera("front").id
    mujoco.mjv_updateScene(
        model, data, mujoco.MjvOption(), None, camera, int(mujoco.mjtCatBit.mjCAT_ALL), seen
    )  # fmt: skip
    view = seen.camera[0]
    assert np.isclose(view.frustum_near * 64 / (2.0 * view.frustum_width), 50.0, rtol=1e-5)
    left = view.frustum_center - view.frustum_width
    assert np.isclose(-left / (2.0 * view.frustum_width) * 64, 30.0, rtol=1e-5)
    height = view.frustum_top - view.frustum_bottom
    assert np.isclose(view.frustum_near * 48 / height, 52.0, rtol=1e-5)
    assert np.isclose(view.frustum_top / height * 48, 27.0, rtol=1e-5)


def test_a_calibrated_camera_replaces_the_models_own(store: Store, tmp_path: Path) -> None:
    """Where twin and robot model name a camera alike, the file has the twin's."""
    twin = odd_twin(store, tmp_path)
    eye = replace(twin.reconstruction.cameras[0], name="eye")
    export_twin(replace(twin, reconstruction=replace(twin.reconstruction, cameras=(eye,))), store, ("mjcf",), tmp_path)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "mjcf" / "scene.xml"))
    assert model.ncam == 1
    assert np.allclose(model.cam_pos[0], [0.5, -0.4, 0.7])


def test_a_file_that_cannot_be_read_back_is_not_verified(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reader of another program raises becomes a failed check that quotes it, and valid JSON."""

    def broken(exporter: Exporter, folder: Path) -> tuple[str, ...]:
        folder.mkdir()
        (folder / "scene.xml").write_text("<mujoco><nonsense/></mujoco>")
        return ()

    monkeypatch.setitem(FORMATS, "mjcf", replace(FORMATS["mjcf"], write=broken))
    report = export_twin(block_twin(store, {}), store, ("mjcf",), tmp_path / "out")[0]
    assert not report.is_verified
    assert "nonsense" in str(report.checks[0])
    assert "Infinity" not in (tmp_path / "out" / "mjcf.unverified" / "export.json").read_text()


def test_a_draw_is_one_of_the_beliefs_samples(store: Store) -> None:
    """The same seed gives the same sample; the mean is no sample."""
    twin = sample_twin(store)
    draws = [export_scene(twin, store, draw_seed=seed).draw for seed in (3, 3)]
    assert draws[0] == draws[1]
    assert list(draws[0].values()) in twin.belief.samples.tolist()
    assert list(export_scene(twin, store).draw.values()) not in twin.belief.samples.tolist()


def _swap(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def _damage_usd(folder: Path) -> None:
    from pxr import Usd

    stage = Usd.Stage.Open(str(folder / "scene.usda"))
    stage.GetPrimAtPath("/World/Objects/t_block").GetAttribute("physics:mass").Set(0.5)
    stage.GetRootLayer().Save()


def _damage_binary(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-40] ^= 0xFF
    path.write_bytes(bytes(data))


DAMAGES = {
    "mjcf": lambda f: _swap(f / "scene.xml", b' mass="0.34', b' mass="0.35'),
    "urdf": lambda f: _swap(f / "robot/robot.urdf", b'damping="0.9', b'damping="0.8'),
    "usd": _damage_usd,
    "glb": lambda f: _damage_binary(f / "objects/t_block.glb"),
    "ply": lambda f: _damage_binary(f / "objects/t_block.ply"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_file_that_is_not_the_twin_is_noticed(name: str, store: Store, tmp_path: Path) -> None:
    """One wrong number in a file fails its verification."""
    exporter = Exporter(export_scene(sample_twin(store), store))
    folder = tmp_path / name
    FORMATS[name].write(exporter, folder)
    assert all(check.is_passed for check in FORMATS[name].verify(exporter, folder))
    DAMAGES[name](folder)
    assert not all(check.is_passed for check in FORMATS[name].verify(exporter, folder))


def _with_mesh(twin: Twin, vertices: np.ndarray, faces: np.ndarray) -> Twin:
    mesh = replace(twin.reconstruction.objects["t_block"], vertices=vertices, faces=faces,
                   is_seen=np.ones(len(vertices), bool))  # fmt: skip
    return replace(twin, reconstruction=replace(twin.reconstruction, objects={"t_block": mesh}))


BOX, BOX_FACES = box_mesh((0.1, 0.1, 0.1))
BAD_MESHES = {
    "has holes": (BOX, BOX_FACES[1:]),
    "opposite directions": (BOX, np.concatenate([BOX_FACES[:1, ::-1], BOX_FACES[1:]])),
    "look inwards": (BOX, np.ascontiguousarray(BOX_FACES[:, ::-1])),
    "no volume": (BOX * [1.0, 1.0, 0.0], BOX_FACES),
    "1000000 faces": (BOX, np.tile(BOX_FACES, (83334, 1))[:1000000]),
    "not finite": (np.where(BOX > 0, np.nan, BOX), BOX_FACES),
}


@pytest.mark.parametrize("words", BAD_MESHES)
def test_bad_meshes_are_refused_and_nothing_is_written(words: str, store: Store, tmp_path: Path) -> None:
    """Holes, flipped faces, no volume, a million faces: an error says which, the disk stays as it was."""
    twin = _with_mesh(block_twin(store, {}), *BAD_MESHES[words])
    with pytest.raises(ConfigError, match=words):
        export_twin(twin, store, ALL, tmp_path / "a" / "out")
    assert sorted(os.listdir(tmp_path)) == ["store"]


def _bad_twins(store: Store) -> dict[str, Twin]:
    good = block_twin(store, {})
    flat = Inertia(0.3, np.zeros(3), np.diag([1e-3, 1e-3, 9e-3]))
    return {
        "triangle inequality": replace(good, inertias={"t_block": flat}),
        "belongs to no body": block_twin(store, {"object/t_block/inertia_zz": (5.0,)}),
        "has to be": block_twin(store, {"object/t_block/mass": (-1.0,)}),
        "no parameter": replace(good, belief=belief({"object/mug/mass": (1.0,)})),
    }


@pytest.mark.parametrize("words", ["triangle inequality", "belongs to no body", "has to be", "no parameter"])
def test_impossible_bodies_are_refused(words: str, store: Store, tmp_path: Path) -> None:
    """Inertia that no body has, from the twin or from the belief, is an error and writes nothing."""
    with pytest.raises(GemelError, match=words):
        export_twin(_bad_twins(store)[words], store, ALL, tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["store"]


def test_folders_that_cannot_be_written_are_refused(store: Store, tmp_path: Path) -> None:
    """A file in the way, a folder of somebody else's, a file system that takes nothing."""
    twin = block_twin(store, {})
    (tmp_path / "file").write_text("mine")
    (tmp_path / "others" / "ply").mkdir(parents=True)
    (tmp_path / "others" / "ply" / "holiday.ply").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "out", tmp_path / "others", Path("/proc/gemel/out"), Path("/")):
        with pytest.raises(ConfigError, match=r"no folder|written"):
            export_twin(twin, store, ("ply",), out)
    assert (tmp_path / "others" / "ply" / "holiday.ply").read_text() == "mine"


def test_an_older_export_is_replaced_and_other_formats_stay(store: Store, tmp_path: Path) -> None:
    """The second export of a format takes the first one's place."""
    out = tmp_path / "out"
    export_twin(block_twin(store, {}), store, ("glb", "urdf"), out)
    export_twin(block_twin(store, {}, pose=at(0.1, 0.2, 0.02)), store, ("urdf",), out)
    placed = json.loads((out / "urdf" / "scene.json").read_text())["objects"]["t_block"]
    assert placed["position_m"][:2] == [0.1, 0.2]
    assert sorted(os.listdir(out)) == ["glb", "urdf"]


def test_formats_are_named_with_commas() -> None:
    """Unknown names are refused with the closest one."""
    assert parse_formats("usd, mjcf,usd") == ("usd", "mjcf")
    with pytest.raises(ConfigError, match="Closest: 'urdf'"):
        parse_formats("mjcf,udrf")
    with pytest.raises(ConfigError, match="No format"):
        parse_formats(" ,")
