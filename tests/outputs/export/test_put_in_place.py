"""Where exports go: all formats or none, verified ones alone over older ones, and nothing of people's own is lost."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gemel.errors import ConfigError
from gemel.outputs.export.export import FORMATS, export_twin
from gemel.outputs.export.preflight import check_names
from gemel.outputs.export.put_in_place import put_in_place
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.scene import export_scene
from gemel.store.store import Store
from outputs.export.exported_twin import AWKWARD, two_objects
from services.sim.made_twin import at, block_twin


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def _height(out: Path) -> float:
    return float(json.loads((out / "urdf" / "scene.json").read_text())["objects"]["t_block"]["position_m"][2])


def test_not_a_number_fails_every_check() -> None:
    """A NaN is found wherever it stands, in numbers, series and arrays."""
    nan = float("nan")
    for given in ((0.0, nan), (nan, 0.0)):
        assert not Check("x", largest(*given), 1.0).is_passed
        assert not Check("x", largest(given), 1.0).is_passed
    assert largest() == largest([]) == 0.0
    assert largest(-2.0, [1.0]) == 2.0


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_a_rename_that_fails_leaves_older_exports_as_they_were(
    failing: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the renames fails, both formats are the older ones and nothing else is there."""
    out = tmp_path / "out"
    export_twin(block_twin(store, {}), store, ("glb", "urdf"), out)
    before, kept = _height(out), (out / "glb" / "scene.glb").read_bytes()
    calls, rename = [], Path.rename

    def sometimes(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", sometimes)
    with pytest.raises(ConfigError, match="Input/output error"):
        export_twin(block_twin(store, {}, pose=at(0.1, 0.2, 0.3)), store, ("glb", "urdf"), out)
    assert sorted(os.listdir(out)) == ["glb", "urdf"]
    assert (_height(out), (out / "glb" / "scene.glb").read_bytes()) == (before, kept)


def test_what_cannot_be_put_back_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When going back fails too, the error says where the older folder is."""
    for name in ("new", "target", "aside"):
        (tmp_path / name).mkdir()
    rename, calls = Path.rename, []

    def once(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(ConfigError, match="could not be put back") as caught:
        put_in_place([(tmp_path / "new", tmp_path / "target")], tmp_path / "aside")
    assert str(tmp_path / "aside" / "0-target") in caught.value.remedy
    assert (tmp_path / "aside" / "0-target").is_dir()


def test_files_of_peoples_own_are_not_deleted(store: Store, tmp_path: Path) -> None:
    """Something that no export wrote, in an older export, is named and stays."""
    out, twin = tmp_path / "out", block_twin(store, {})
    export_twin(twin, store, ("glb",), out)
    (out / "glb" / "objects" / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"objects/notes\.txt"):
        export_twin(twin, store, ("glb",), out)
    assert (out / "glb" / "objects" / "notes.txt").read_text() == "mine"
    (out / "glb" / "objects" / "notes.txt").unlink()
    (out / "glb" / "export.json").write_text("{}")
    with pytest.raises(ConfigError, match="not written by an export"):
        export_twin(twin, store, ("glb",), out)


def test_what_is_not_verified_goes_beside_the_older_export(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older one stays; the next verified one replaces both."""
    out, twin = tmp_path / "out", block_twin(store, {})
    export_twin(twin, store, ("urdf",), out)
    older = _height(out)
    moved = block_twin(store, {}, pose=at(0.1, 0.2, 0.3))
    with monkeypatch.context() as patched:
        patched.setitem(FORMATS, "urdf", replace(FORMATS["urdf"], verify=lambda *_: (Check("mass", 1.0, 0.0),)))
        (report,) = export_twin(moved, store, ("urdf",), out)
    assert report.folder == "urdf.unverified"
    assert sorted(os.listdir(out)) == ["urdf", "urdf.unverified"]
    assert _height(out) == older
    assert json.loads((out / "urdf.unverified" / "export.json").read_text())["is_verified"] is False
    export_twin(moved, store, ("urdf",), out)
    assert os.listdir(out) == ["urdf"]
    assert _height(out) == 0.3


def test_a_folder_that_is_there_is_worked_in_and_not_beside(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that is a disk of its own: nothing is made beside it, where a rename could not reach it."""
    out = tmp_path / "disk"
    out.mkdir()
    made = []
    mkdir = Path.mkdir
    monkeypatch.setattr(Path, "mkdir", lambda self, *a, **k: made.append(self) or mkdir(self, *a, **k))
    export_twin(block_twin(store, {}), store, ("glb",), out)
    assert all(folder == out or out in folder.parents for folder in made if "store" not in folder.parts)
    assert os.listdir(out) == ["glb"]


def test_names_matter_only_where_files_would_be_one(store: Store) -> None:
    """`a b` and `a_b` are one file; a dataset has no such files."""
    twin = two_objects(store)
    names = {AWKWARD: "t block", "t_block": "t_block"}
    renamed = {
        field: {names[k]: v for k, v in getattr(twin, field).items()}
        for field in ("colliders", "initial_poses", "inertias")
    }
    seen = replace(
        twin.reconstruction, objects={names[k]: v for k, v in twin.reconstruction.objects.items()},
        placements={names[k]: v for k, v in twin.reconstruction.placements.items()},
    )  # fmt: skip
    scene = export_scene(replace(twin, reconstruction=seen, **renamed), store)
    check_names(scene, ("lerobot",))
    for name in ("mjcf", "urdf", "usd", "glb", "ply"):
        with pytest.raises(ConfigError, match=f"both are 't_block' in {name}"):
            check_names(scene, ("lerobot", name))
