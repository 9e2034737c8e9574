"""Robot descriptions: any MJCF or URDF that MuJoCo compiles, taken in whole with its meshes."""

import math
import os
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from gemel.artifacts.blob import Blobs
from gemel.artifacts.robot import RobotJoint, RobotModel
from gemel.errors import MissingExtraError, SourceError
from gemel.services.formats.paths import plain_file

_PACKAGE = "package://"
_FOLDERS_UP = 5
"""How far above a URDF the root of its package is looked for."""
_KIND = {2: "slide", 3: "hinge"}
"""MuJoCo's joint types that a log can hold one number for."""


def read_robot_model(path: Path, blobs: Blobs) -> RobotModel:
    """Compile the description, keep it and every file it needs in the store, and list its joints."""
    model = compile_robot(path)
    files = _dependencies(path)
    base = Path(os.path.commonpath([str(file.parent) for file in files]))
    return RobotModel(
        name=path.stem,
        format=robot_format(path),
        root=path.resolve().relative_to(base).as_posix(),
        files={file.relative_to(base).as_posix(): blobs.put_bytes(file.read_bytes()) for file in sorted(files)},
        joints=robot_joints(model),
        links=tuple(model.body(i).name for i in range(1, model.nbody)),
    )


def compile_stored_robot(robot: RobotModel, blobs: Blobs) -> Any:
    """A robot model out of the store, as a `mujoco.MjModel`."""
    with tempfile.TemporaryDirectory(prefix="gemel-robot-") as folder:
        for relative, blob in robot.files.items():
            target = Path(folder) / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(blobs.get_bytes(blob))
        return compile_robot(Path(folder) / robot.root)


def compile_robot(path: Path) -> Any:
    """The description as a `mujoco.MjModel`."""
    try:
        import mujoco
    except ModuleNotFoundError:
        raise MissingExtraError("mujoco", extra="sim", needed_for="Reading a robot model") from None
    if not path.is_file():
        raise SourceError(f"There is no robot model at {path}.", remedy="give the path of an MJCF or URDF file")
    plain_file(path, "robot model")
    try:
        if path.suffix.lower() == ".urdf" and _PACKAGE in path.read_text(encoding="utf-8"):
            return mujoco.MjModel.from_xml_string(*_urdf_with_meshes(path))
        return mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, TypeError, mujoco.FatalError) as error:
        raise SourceError(
            f"The robot model {path} does not compile: {' '.join(str(error).split())}.",
            remedy="load it in MuJoCo's viewer (`python -m mujoco.viewer --mjcf=FILE`) and mend what it reports",
        ) from error


def robot_joints(model: Any) -> tuple[RobotJoint, ...]:
    """Hinge and slide joints with their limits, in the model's order."""
    joints = []
    for i in range(model.njnt):
        kind = _KIND.get(int(model.jnt_type[i]))
        if kind is None:
            continue
        low, high = model.jnt_range[i] if model.jnt_limited[i] else (-math.inf, math.inf)
        joints.append(RobotJoint(model.joint(i).name, kind, float(low), float(high)))
    return tuple(joints)


def robot_format(path: Path) -> str:
    """`urdf` when the root element is `robot`, else `mjcf`."""
    return "urdf" if _parse(path).getroot().tag == "robot" else "mjcf"


def match_joints(logged: tuple[str, ...], model_names: tuple[str, ...]) -> dict[str, str]:
    """Model joint of each logged joint: the same name, or the same after LeRobot's `.pos` suffix is taken off."""
    candidates = (
        (name, next((c for c in (name, name.removesuffix(".pos")) if c in model_names), None)) for name in logged
    )
    return {name: found for name, found in candidates if found is not None}


def _dependencies(path: Path) -> list[Path]:
    path = path.resolve()
    if robot_format(path) == "mjcf":
        import mujoco

        return sorted({Path(file).resolve() for file in mujoco.mju_getXMLDependencies(str(path))} | {path})
    meshes = (element.get("filename", "") for element in _parse(path).iter("mesh"))
    found = (_urdf_file(path, name) for name in meshes)
    return sorted({file for file in found if file is not None} | {path})


def _parse(path: Path) -> "ElementTree.ElementTree[Any]":
    try:
        return ElementTree.parse(path)
    except (ElementTree.ParseError, ValueError, OSError) as error:
        raise SourceError(f"The robot model {path} is not XML: {error}.", remedy="copy the file again") from error


def _urdf_with_meshes(path: Path) -> tuple[str, dict[str, bytes]]:
    """A URDF whose meshes have plain names, and their bytes: MuJoCo does not look for packages itself."""
    tree, assets = _parse(path), {}
    for number, element in enumerate(tree.iter("mesh")):
        file = _urdf_file(path, element.get("filename", ""))
        if file is not None:
            name = f"{number}_{file.name}"
            element.set("filename", name)
            assets[name] = file.read_bytes()
    return ElementTree.tostring(tree.getroot(), encoding="unicode"), assets


def _urdf_file(path: Path, name: str) -> Path | None:
    """A mesh of a URDF: `package://name/rest` is looked for above the file, other names beside it."""
    relative = Path(name.split("://", 1)[-1].lstrip("/") or "none")
    for folder in path.resolve().parents[:_FOLDERS_UP]:
        for candidate in (folder / relative, folder / Path(*relative.parts[1:]), folder / relative.name):
            if candidate.is_file():
                return candidate.resolve()
    return None
