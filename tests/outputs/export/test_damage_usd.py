"""Stages that were changed in one place: whatever it is, reading them back notices."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gemel.errors import ConfigError
from gemel.outputs.export.export import export_twin
from gemel.store.store import Store
from outputs.export.damaged import Written, blacken, written
from outputs.export.exported_twin import sample_twin

pytest.importorskip("mujoco")
pytest.importorskip("pxr")
BLOCK, ROBOT = "/World/Objects/t_block", "/World/Robot"
PIECE, JOINT, TABLE = f"{BLOCK}/colliders/piece0", f"{ROBOT}/Joints/joint2", "/World/Table/plane"
LINK = f"{ROBOT}/Links/link6"


@pytest.fixture(scope="module")
def stage_folder(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written("usd", tmp_path_factory.mktemp("usd"))


def _set(path: str, name: str, value: Any) -> Callable[[Any], object]:
    return lambda stage: stage.GetPrimAtPath(path).GetAttribute(name).Set(value)


def _create(path: str, name: str, kind: str, value: Any) -> Callable[[Any], object]:
    def change(stage: Any) -> None:
        from pxr import Sdf

        assert stage.GetPrimAtPath(path)
        stage.GetPrimAtPath(path).CreateAttribute(name, getattr(Sdf.ValueTypeNames, kind)).Set(value)

    return change


def _scaled(path: str, name: str, factor: float) -> Callable[[Any], object]:
    def change(stage: Any) -> None:
        attribute = stage.GetPrimAtPath(path).GetAttribute(name)
        attribute.Set(type(attribute.Get())([factor * value for value in attribute.Get()]))

    return change


def _moved(path: str) -> Callable[[Any], object]:
    def change(stage: Any) -> None:
        from pxr import Gf, UsdGeom

        xform = UsdGeom.Xformable(stage.GetPrimAtPath(path))
        (xform.GetTranslateOp() or xform.AddTranslateOp()).Set(Gf.Vec3d(1.0, 0.0, 0.0))

    return change


def _without(path: str, schema: str) -> Callable[[Any], object]:
    return lambda stage: stage.GetPrimAtPath(path).RemoveAppliedSchema(schema)


def _unbound(stage: Any) -> None:
    stage.GetPrimAtPath(PIECE).GetRelationship("material:binding:physics").ClearTargets(True)


def _stray(stage: Any) -> None:
    from pxr import UsdGeom, UsdPhysics

    UsdPhysics.CollisionAPI.Apply(UsdGeom.Cube.Define(stage, "/World/stray").GetPrim())


def _pusher(stage: Any) -> str:
    from pxr import UsdPhysics

    (path,) = (str(p.GetPath()) for p in stage.GetPrimAtPath(LINK).GetChildren() if p.HasAPI(UsdPhysics.CollisionAPI))
    return path


DAMAGES: dict[str, Callable[[Any], object]] = {
    "gravity": _set("/World/PhysicsScene", "physics:gravityMagnitude", 1.6),
    "table moved": _moved(TABLE),
    "table does not touch": _without(TABLE, "PhysicsCollisionAPI"),
    "table without friction": _set("/World/Materials/table", "physics:dynamicFriction", 0.0),
    "no articulation": _without(ROBOT, "PhysicsArticulationRootAPI"),
    "base stands on nothing": lambda stage: stage.RemovePrim(f"{ROBOT}/Joints/base_fixed"),
    "joint's axis": _set(JOINT, "physics:axis", "Y"),
    "joint disabled": _create(JOINT, "physics:jointEnabled", "Bool", False),
    "drive's target": _set(JOINT, "drive:angular:physics:targetPosition", 90.0),
    "drive's damping": _set(JOINT, "drive:angular:physics:damping", 0.0),
    "pusher does not touch": lambda stage: stage.GetPrimAtPath(_pusher(stage)).RemoveAppliedSchema(
        "PhysicsCollisionAPI"
    ),
    "pusher's radius": lambda stage: stage.GetPrimAtPath(_pusher(stage)).GetAttribute("radius").Set(0.5),
    "robot's friction": _set("/World/Materials/robot", "physics:staticFriction", 9.0),
    "material not bound": _unbound,
    "combine mode": _set("/World/Materials/object_t_block", "physxMaterial:frictionCombineMode", "average"),
    "approximation": _set(PIECE, "physics:approximation", "boundingCube"),
    "stray collider": _stray,
    "kinematic body": _create(BLOCK, "physics:kinematicEnabled", "Bool", True),
    "restitution": _set("/World/Materials/object_t_block", "physics:restitution", 1.0),
    "mesh twice as large": _scaled(f"{BLOCK}/mesh", "points", 2.0),
    "texture coordinates": _scaled(f"{BLOCK}/mesh", "primvars:st", 0.0),
    "splat moved": _moved(f"{BLOCK}/splat"),
    "mass is no number": _set(BLOCK, "physics:mass", float("nan")),
    "rotor": _set(JOINT, "physxJointAxis:angular:armature", 3.0),
    "link falls": _set(LINK, "physxRigidBody:disableGravity", False),
    "another layer on top": lambda stage: stage.GetRootLayer().subLayerPaths.append("other.usda"),
}


@pytest.mark.parametrize(("what", "ending"), [*((what, "usda") for what in DAMAGES), ("gravity", "usdc")])
def test_a_stage_with_one_change_is_noticed(what: str, ending: str, stage_folder: Written, tmp_path: Path) -> None:
    """In the text and in the binary file."""
    from pxr import Usd

    def damage(folder: Path) -> None:
        stage = Usd.Stage.Open(str(folder / f"scene.{ending}"))
        DAMAGES[what](stage)
        stage.GetRootLayer().Save()

    assert stage_folder.failed(damage, tmp_path / "copy") != []


def test_a_picture_that_shows_nothing_is_noticed(stage_folder: Written, tmp_path: Path) -> None:
    """Black, or gone."""
    picture = "textures/t_block.png"
    found = stage_folder.failed(lambda folder: blacken(folder / picture), tmp_path / "black")
    assert [each.split(":")[0] for each in found] == ["pictures"]
    found = stage_folder.failed(lambda folder: (folder / picture).unlink(), tmp_path / "gone")
    assert [each.split(":")[0] for each in found] == ["pictures"]


def test_an_untouched_copy_is_the_twin(stage_folder: Written, tmp_path: Path) -> None:
    """Or nothing above would mean anything."""
    assert stage_folder.failed(lambda _: None, tmp_path / "copy") == []


def test_groups_have_a_type_and_carry_what_physx_reads(stage_folder: Written) -> None:
    """No prim is typeless; weightless links, rotors and viscous friction are where PhysX looks for them."""
    from pxr import Usd

    stage = Usd.Stage.Open(str(stage_folder.folder / "scene.usdc"))
    assert [str(p.GetPath()) for p in stage.TraverseAll() if not p.GetTypeName()] == []
    assert stage.GetPrimAtPath("/World/Materials").GetTypeName() == "Scope"
    assert stage.GetPrimAtPath("/World/Objects").GetTypeName() == "Xform"
    joint = stage.GetPrimAtPath(JOINT)
    assert joint.GetAttribute("physxJointAxis:angular:armature").Get() == pytest.approx(0.05)
    assert stage.GetPrimAtPath(LINK).GetAttribute("physxRigidBody:disableGravity").Get() is True
    bounce = stage.GetPrimAtPath("/World/Materials/object_t_block").GetAttribute("physics:restitution").Get()
    assert bounce == pytest.approx(0.1353, abs=1e-3)  # exp(-2): what critical damping leaves of a speed


def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    """OpenUSD's own kind of error becomes ours, and nothing is left behind."""
    store = Store(tmp_path / "store")
    twin = sample_twin(store)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, limits[1]))
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            export_twin(twin, store, ("usd",), tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
