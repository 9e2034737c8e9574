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
        return compile_robot(_unpacked(robot, blobs, Path(folder)))


def stored_robot_spec(robot: RobotModel, blobs: Blobs) -> Any:
    """A robot model out of the store, as a `mujoco.MjSpec` that carries its meshes and can be added to."""
    import mujoco

    with tempfile.TemporaryDirectory(prefix="gemel-robot-") as folder:
        path = _unpacked(robot, blobs, Path(folder))
        compile_robot(path)  # says in words of ours if it does not compile
        if robot.format == "urdf" and _PACKAGE in path.read_text(encoding="utf-8"):
            text, assets = _urdf_with_meshes(path)
            spec = mujoco.MjSpec.from_string(text)
        else:
            spec = mujoco.MjSpec.from_file(str(path))
            assets = _referred_files(spec, path.parent)
        spec.assets = assets
        return spec


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


def _referred_files(spec: Any, folder: Path) -> dict[str, bytes]:
    """Bytes of the meshes, textures and height fields of a description, by the names that it calls them."""
    meshes = [(spec.meshdir, item.file) for item in (*spec.meshes, *spec.hfields, *spec.skins)]
    textures = [(spec.texturedir, name) for item in spec.textures for name in (item.file, *item.cubefiles)]
    found = {}
    for base, name in (*meshes, *textures):
        candidates = (folder / base / name, folder / name)
        file = next((path for path in candidates if name and path.is_file()), None)
        if file is not None:
            found[name] = file.read_bytes()
    return found


def _unpacked(robot: RobotModel, blobs: Blobs, folder: Path) -> Path:
    """Write all files of a stored robot below a folder; the path of its description."""
    for relative, blob in robot.files.items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blobs.get_bytes(blob))
    return folder / robot.root
