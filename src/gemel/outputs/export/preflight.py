"""What has to hold before anything is written: solid meshes, bodies that can exist, a folder that can be written to."""

from collections.abc import Sequence
from pathlib import Path

from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, GemelError
from gemel.geometry.solid import solid_complaint
from gemel.outputs.export.report import STAMP_FILE
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd_prims import prim_name
from gemel.services.formats.target_folder import check_target_folder


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
        folder = out / name
        if folder.exists() and not (folder / STAMP_FILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(
                f"{folder} exists and was not written by an export (it has no {STAMP_FILE}).",
                remedy="move it away, or give another folder with --out",
            )


def check_names(scene: ExportScene) -> None:
    """Refuse names that become one when only letters, digits and underscores are left, as USD demands."""
    bodies = [scene.model.body(i).name for i in scene.robot_bodies]
    joints = [scene.model.joint(j).name for j in range(scene.model.njnt)]
    for what, names in (("objects", [*scene.compiled.objects]), ("links", bodies), ("joints", joints)):
        by_plain: dict[str, str] = {}
        for name in names:
            other = by_plain.setdefault(prim_name(name), name)
            if other != name:
                raise ConfigError(
                    f"Two {what} are called {other!r} and {name!r}; both are {prim_name(name)!r} in files.",
                    remedy="rename one of them",
                )
