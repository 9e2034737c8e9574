"""What has to hold before anything is written: solid meshes, bodies that can exist, a folder that can be written to."""

import json
from collections.abc import Sequence
from pathlib import Path

from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, GemelError
from gemel.geometry.solid import solid_complaint
from gemel.outputs.export.cameras import all_cameras
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.report import STAMP_FILE, UNVERIFIED
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd_prims import prim_name
from gemel.services.formats.target_folder import check_target_folder

_SHOWN = 3
"""Files that a message names."""


def check_twin(twin: Twin) -> None:
    """Refuse shapes and bodies that no format could carry."""
    if not twin.reconstruction.is_metric:
        raise ConfigError(
            "The reconstruction has no scale: its lengths are not metres.",
            remedy="give the capture a robot, or cameras with known distances, and reconstruct again",
        )
    for name, mesh in twin.reconstruction.objects.items():
        check_mesh(name, mesh)
    for name, inertia in twin.inertias.items():
        try:
            inertia.check_physical()
        except GemelError as error:
            raise ConfigError(f"Object {name!r}: {error.problem}", remedy=error.remedy) from None


def check_mesh(name: str, mesh: SplatMesh) -> None:
    """Refuse a mesh that does not bound a solid, or is too fine."""
    complaint, remedy = solid_complaint(mesh.vertices, mesh.faces)
    if complaint:
        raise ConfigError(f"The mesh of {name!r} cannot be exported: {complaint}.", remedy=remedy)


def check_target(out: Path, formats: Sequence[str]) -> None:
    """Refuse a folder that cannot be written to, or that holds something else where a format would go."""
    if not out.name:
        raise ConfigError(
            f"{out} is no folder that exports could be put into.", remedy="give another folder with --out"
        )
    check_target_folder(out)
    for name in formats:
        for folder in (out / name, out / f"{name}{UNVERIFIED}"):
            _check_replaceable(folder)


def _check_replaceable(folder: Path) -> None:
    """Refuse to replace anything but an export as it was written: what people put there is theirs."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        tree = json.loads((folder / STAMP_FILE).read_text(encoding="utf-8"))
        written = {STAMP_FILE, *tree["files"]}
    except (OSError, ValueError, TypeError, KeyError):
        raise ConfigError(
            f"{folder} exists and was not written by an export (it has no {STAMP_FILE} that lists its files).",
            remedy="move it away, or give another folder with --out",
        ) from None
    others = sorted({f.relative_to(folder).as_posix() for f in folder.rglob("*") if not f.is_dir()} - written)
    if others:
        raise ConfigError(
            f"{folder} holds what no export wrote: {', '.join(others[:_SHOWN])}"
            f"{f' and {len(others) - _SHOWN} more' if len(others) > _SHOWN else ''}. It would be lost.",
            remedy="move it away, or give another folder with --out",
        )


def check_names(scene: ExportScene, formats: Sequence[str]) -> None:
    """Refuse names that become one in the files or on the stage of a format."""
    objects = ("objects", [*scene.compiled.objects])
    links = ("links", [scene.model.body(i).name for i in scene.robot_bodies])
    joints = ("joints", [scene.model.joint(j).name for j in range(scene.model.njnt)])
    cameras = ("cameras", [camera.name for camera in all_cameras(scene)])
    written = {
        "mjcf": (file_name, [objects]), "urdf": (file_name, [objects, links]), "glb": (file_name, [objects]),
        "ply": (file_name, [objects, links]), "usd": (prim_name, [objects, links, joints, cameras]),
    }  # fmt: skip
    for name in formats:
        plain, kinds = written.get(name, (str, []))
        for what, names in kinds:
            _check_apart(name, what, {each: plain(each) for each in names})


def _check_apart(name: str, what: str, plain_names: dict[str, str]) -> None:
    by_plain: dict[str, str] = {}
    for given, plain in plain_names.items():
        other = by_plain.setdefault(plain, given)
        if other != given:
            raise ConfigError(
                f"Two {what} are called {other!r} and {given!r}; both are {plain!r} in {name}.",
                remedy=f"rename one of them, or leave {name} out",
            )
