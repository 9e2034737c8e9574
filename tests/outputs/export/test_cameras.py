"""Cameras in MJCF and USD: where they hang, what they see through, and what of them is left out."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.camera import Camera
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3, OpenCV
from gemel.outputs.export.export import FORMATS, Exporter, export_twin
from gemel.outputs.export.report import Check
from gemel.outputs.export.scene import export_scene
from gemel.store.store import Store
from outputs.export.exported_twin import sample_twin

pytest.importorskip("mujoco")
LENS = OpenCV(64, 48, 50.0, 52.0, 30.0, 27.0, k1=-0.1)
POSE = SE3(SO3.exp(np.array([0.4, -0.3, 2.0])), np.array([0.02, -0.01, 0.05]))
FORMATS_WITH_CAMERAS = ("mjcf", "usd")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def with_camera(twin: Twin, parent: str, **changes: Any) -> Twin:
    """The twin with one camera more, which is bent and late."""
    camera = replace(Camera("more", 64, 48, LENS, parent, POSE, time_offset_s=-0.05), **changes)
    return replace(twin, reconstruction=replace(twin.reconstruction, cameras=(*twin.reconstruction.cameras, camera)))


@pytest.mark.parametrize("name", FORMATS_WITH_CAMERAS)
def test_a_camera_on_nothing_that_is_there_is_refused(name: str, store: Store, tmp_path: Path) -> None:
    """A misspelt link is an error that names the nearest, not a camera somewhere in the world."""
    with pytest.raises(ConfigError, match=r"'more' sits on .*Closest: 't_block'") as caught:
        export_twin(with_camera(sample_twin(store), "t_blok"), store, (name,), tmp_path / "out")
    assert "parent" in caught.value.remedy
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", FORMATS_WITH_CAMERAS)
def test_a_camera_on_an_object_moves_with_it(name: str, store: Store, tmp_path: Path) -> None:
    """It is read back where the object puts it; what its lens bends, when it sees and whether it hangs is told."""
    twin = with_camera(with_camera(sample_twin(store), "t_block"), "t_block", name="loose", T_parent_camera=None)
    (report,) = export_twin(twin, store, (name,), tmp_path / "out")
    assert [str(check) for check in report.checks if not check.is_passed] == []
    words = "; ".join(report.not_carried)
    for told in ("lens distortion", "time offsets of cameras", "cameras without one mounting pose"):
        assert told in words


def _in_xml(change: Callable[[Any], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        import xml.etree.ElementTree as ElementTree

        tree = ElementTree.parse(folder / "scene.xml")
        (camera,) = (each for each in tree.iter("camera") if each.get("name") == "wrist")
        change(camera)
        tree.write(folder / "scene.xml")

    return damage


def _on_stage(change: Callable[[Any, Any], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        from pxr import Usd

        stage = Usd.Stage.Open(str(folder / "scene.usda"))
        (camera,) = (prim for prim in stage.Traverse() if prim.GetName() == "wrist")
        change(stage, camera)
        stage.GetRootLayer().Save()

    return damage


def _moved(_: Any, prim: Any) -> None:
    place = prim.GetAttribute("xformOp:translate")
    place.Set(place.Get() * 1.001)


DAMAGES = {
    ("mjcf", "camera poses"): _in_xml(lambda camera: camera.set("pos", "0.5 -0.4 0.701")),
    ("mjcf", "camera optics"): _in_xml(lambda camera: camera.set("focalpixel", "50 52.01")),
    ("mjcf", "cameras missing"): _in_xml(lambda camera: camera.set("name", "other")),
    ("usd", "camera poses"): _on_stage(_moved),
    ("usd", "camera optics"): _on_stage(lambda _, prim: prim.GetAttribute("verticalApertureOffset").Set(-1.0)),
    ("usd", "cameras missing"): _on_stage(lambda stage, prim: stage.RemovePrim(prim.GetPath())),
}


@pytest.mark.parametrize(("name", "what"), DAMAGES)
def test_a_camera_that_is_not_the_twins_is_noticed(name: str, what: str, store: Store, tmp_path: Path) -> None:
    """Moved, with other optics, or gone: the check of that name fails and no other one of cameras."""
    exporter, folder = Exporter(export_scene(sample_twin(store), store)), tmp_path / name
    FORMATS[name].write(exporter, folder)
    DAMAGES[name, what](folder)
    checks: tuple[Check, ...] = FORMATS[name].verify(exporter, folder)
    failed = [check.what for check in checks if not check.is_passed]
    assert [each for each in failed if "camera" in each and "all fields" not in each] == [what]
