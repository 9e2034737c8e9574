"""Meshes of the outside world: .glb, .ply and .obj in, .glb out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import SourceError
from gemel.services.formats.paths import plain_file

ENDINGS = (".glb", ".ply", ".obj")


@dataclass(frozen=True, eq=False)
class MeshFile:
    """Triangles in whatever frame and unit the file has, all parts joined, node transforms applied."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    colours: Float[np.ndarray, "v 3"] | None = None
    """sRGB 0 to 1 at the vertices; None if the file has none."""

    def __post_init__(self) -> None:
        if not len(self.faces) or not len(self.vertices):
            raise SourceError("The mesh file holds no triangles.", remedy="export the object as a triangle mesh")
        if self.faces.min() < 0 or self.faces.max() >= len(self.vertices):
            raise SourceError(
                f"The mesh file's faces use vertices {self.faces.min()} to {self.faces.max()} of {len(self.vertices)}.",
                remedy="export it again; the file is damaged",
            )
        if not np.isfinite(self.vertices).all():
            raise SourceError("The mesh file has vertices that are NaN or infinite.", remedy="export it again")


def read_mesh(path: Path) -> MeshFile:
    """A mesh file by its ending."""
    plain_file(path, "mesh")
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise SourceError(f"{path} ends in {ending!r}: expected one of {', '.join(ENDINGS)}.", remedy="convert it")
    return mesh_from_bytes(path.read_bytes(), ending, where=str(path))


def mesh_from_bytes(data: bytes, ending: str, *, where: str) -> MeshFile:
    """The same for bytes in memory; `where` names them in errors."""
    from gemel.services.formats.glb import parse_glb
    from gemel.services.formats.obj_mesh import parse_obj
    from gemel.services.formats.ply_mesh import parse_ply

    parse = {".glb": parse_glb, ".ply": parse_ply, ".obj": parse_obj}[ending]
    try:
        return parse(data)
    except SourceError as error:
        raise SourceError(f"{where}: {error.problem}", remedy=error.remedy) from error
    except (ValueError, KeyError, IndexError, TypeError, UnicodeDecodeError, OverflowError) as error:
        raise SourceError(
            f"{where} cannot be read as {ending[1:]} ({type(error).__name__}: {error}).",
            remedy="export it again; the file is damaged or of a kind that is not supported",
        ) from error
