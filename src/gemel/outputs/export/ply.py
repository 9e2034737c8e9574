"""3DGS .ply: objects and links in their own frames, table and background in the world's, and `scene.ply` of all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.same_gaussians import same_gaussians
from gemel.outputs.export.scene import ExportScene
from gemel.services.formats.ply_splat import read_ply, write_ply
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.render.transform import transform_gaussians

CONVENTIONS = {"unit": "m", "up": "z", "quaternions": "wxyz", "colours": "spherical harmonics, sRGB of the cameras"}
SCENE_FILE = "scene.ply"
_LAST_DIGIT = 1e-6


def write_ply_files(scene: ExportScene, folder: Path) -> tuple[str, ...]:
    """Write all parts and the scene; what .ply cannot carry, in words."""
    if not _filters(scene):
        raise ConfigError("The twin has no splats to write as .ply.", remedy="leave ply out, or reconstruct its looks")
    for file, gaussians in _files(scene):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        write_ply(gaussians, folder / file)
    words = ["physics, meshes, joints and cameras: a .ply holds looks alone", "the belief's spread"]
    if len(_filters(scene)) > 1:
        words.append("one scene.ply: its parts were fitted with different low-pass filters, and a file names one")
    words.append(f"the low-pass filter that splats were fitted with, but as a comment: {scene.filter_words()}")
    return (*words, *scene.left_out_of_looks(has_background=True))


def verify_ply(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """All fields of all Gaussians; sizes and opacities pass through logarithms, which cost a float32's last digit."""
    differ, sizes, opacities = 0, [], []
    for file, ours in _files(scene):
        found = read_ply(folder / file)
        if len(found) != len(ours):
            return (Check("Gaussians missing", float(abs(len(ours) - len(found))), 0.0),)
        differ += not same_gaussians(replace(ours, scales=found.scales, opacities=found.opacities), found)
        sizes.append(largest((found.scales - ours.scales) / np.maximum(ours.scales, 1e-30)))
        opacities.append(largest(found.opacities - ours.opacities))
    return (
        Check("files whose positions, rotations or colours differ", float(differ), 0.0),
        Check("sizes", largest(sizes), _LAST_DIGIT, "(part)"),
        Check("opacities", largest(opacities), _LAST_DIGIT),
    )


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
    return Gaussians(
        means=np.concatenate([part.means for part in parts]).astype(np.float32),
        rotations=np.concatenate([part.rotations for part in parts]).astype(np.float32),
        scales=np.concatenate([part.scales for part in parts]).astype(np.float32),
        opacities=np.concatenate([part.opacities for part in parts]).astype(np.float32),
        sh=np.concatenate(sh).astype(np.float32),
        dilation_px2=parts[0].dilation_px2,
        is_antialiased=parts[0].is_antialiased,
    )
