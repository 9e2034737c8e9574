"""3DGS .ply: objects and links in their own frames, table and background in the world's, and `scene.ply` of all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.geometry import SE3
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.report import Check
from gemel.outputs.export.same_gaussians import same_gaussians
from gemel.outputs.export.scene import ExportScene
from gemel.services.formats.ply_splat import read_ply, write_ply
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.render.transform import transform_gaussians

CONVENTIONS = {"unit": "m", "up": "z", "quaternions": "wxyz", "colours": "spherical harmonics, sRGB of the cameras"}
SCENE_FILE = "scene.ply"


def write_ply_files(scene: ExportScene, folder: Path) -> tuple[str, ...]:
    """Write all parts and the scene; what .ply cannot carry, in words."""
    for file, gaussians in _files(scene):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        write_ply(gaussians, folder / file)
    words = ["physics, meshes, joints and cameras: a .ply holds looks alone", "the belief's spread"]
    if len(_filters(scene)) > 1:
        words.append("one scene.ply: its parts were fitted with different low-pass filters, and a file names one")
    return tuple(words)


def verify_ply(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """All fields of all Gaussians, bit for bit."""
    files = dict(_files(scene))
    differ = sum(not same_gaussians(gaussians, read_ply(folder / file)) for file, gaussians in files.items())
    return (Check(f"of {len(files)} files differ", float(differ), 0.0),)


def _files(scene: ExportScene) -> Iterator[tuple[str, Gaussians]]:
    parts = list(_parts(scene))
    yield from ((file, gaussians) for file, gaussians, _ in parts)
    if len(_filters(scene)) == 1:
        yield SCENE_FILE, merged([transform_gaussians(part, T.as_matrix()) for _, part, T in parts])


def _parts(scene: ExportScene) -> Iterator[tuple[str, Gaussians, SE3]]:
    """File, Gaussians and pose in the world; parts without any are left out."""
    seen = scene.twin.reconstruction
    still = SE3.identity()
    found = [(f"objects/{file_name(o.name)}.ply", o.gaussians, o.T_world_object) for o in scene.objects]
    names = {scene.model.body(body).name for body in scene.robot_bodies}
    for name, mesh in seen.links.items():
        if name in names:
            found.append((f"links/{file_name(name)}.ply", gaussians_of(mesh), scene.T_world_link(name)))
    if seen.table is not None:
        found.append(("table.ply", gaussians_of(seen.table), still))
    if seen.background is not None:
        found.append(("background.ply", seen.background, still))
    yield from (part for part in found if len(part[1]))


def _filters(scene: ExportScene) -> set[tuple[float, bool]]:
    return {(part.dilation_px2, part.is_antialiased) for _, part, _ in _parts(scene)}


def merged(parts: Sequence[Gaussians]) -> Gaussians:
    """All Gaussians in one set; spherical harmonics are filled up to the highest degree, extra channels dropped."""
    most = max(part.sh.shape[1] for part in parts)
    sh = [np.pad(part.sh, ((0, 0), (0, most - part.sh.shape[1]), (0, 0))) for part in parts]
    fields = {
        name: np.concatenate([getattr(part, name) for part in parts]).astype(np.float32)
        for name in ("means", "rotations", "scales", "opacities")
    }
    return replace(parts[0], **fields, sh=np.concatenate(sh).astype(np.float32), extras=MappingProxyType({}))
