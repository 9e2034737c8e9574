"""The table as it looks without the objects on it, from trials in which they lie elsewhere.

A scan shows each object at one place, so the table's colours there are a shadow, and beneath the object they are
invented. In the trials the object moves. For each camera that stands still, the median over frames of all pixels that
show the table, away from robot and objects, is a picture of the bare table; the table's Gaussians near the objects'
places in the scan are then painted until they look like these pictures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Float32

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import pixel_centres
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.render.torch_threads import one_torch_thread

if TYPE_CHECKING:
    from gemel.services.render.contact_shadow import ShadowCaster
    from gemel.services.render.twin_view import TwinView

_AWAY = 1.0
"""Places so many heights from an object are taken for unshaded; the median deals with the rest."""
_REACH, _FADE = 5.0, 2.0
"""The table is painted up to so many heights from an object's place in the scan, from `_FADE` before that on less."""
_MARGIN_PX = 2
"""What is so near to robot or object may be it, at 160 px."""
_FEWEST = 3
"""Frames that have to show a place."""
_ROUNDS = 2
"""Gaussians overlap, so that colours that are right one by one are not quite right together."""
_DARKEST = 0.02
_MOST = 1.0
"""Logarithm of the most that a round brightens or darkens."""
_MOST_UNSEEN = 0.1
"""Part of the table round the objects from which on it is said that trials did not show it."""
_TABLE = 2
"""Id of the table in a twin's images."""


@dataclass(frozen=True, eq=False)
class TrialFrame:
    """One frame of a trial, with everything in it where joint log and track say."""

    camera: str
    image: Float32[np.ndarray, "h w 3"]
    """RGB 0 to 1, as the camera gave it."""
    Ts_world_link: Float[np.ndarray, "link 4 4"]
    Ts_world_object: Mapping[str, Float[np.ndarray, "4 4"]]


@dataclass(frozen=True, eq=False)
class SeenTrials:
    """Frames of trials that may be fitted to."""

    links: tuple[str, ...]
    """Names of the rows of the frames' link poses."""
    frames: tuple[TrialFrame, ...]


@one_torch_thread()
def with_bare_table(seen: Reconstruction, trials: SeenTrials) -> tuple[Reconstruction, tuple[Finding, ...]]:
    """The reconstruction with the table's colours without objects, as far as trials show them."""
    from gemel.services.render.renderer import make_renderer
    from gemel.services.render.twin_view import TwinView

    if seen.table is None or not seen.objects:
        return seen, ()
    renderer, casters = make_renderer("cpu"), _casters(seen.objects, seen.table)
    watched = TwinView(seen, trials.links, renderer=renderer, has_shadows=False)
    plates = _plates(watched, trials.frames, casters, seen.table)
    p_table = gaussians_of(seen.table).means.astype(np.float64)
    part = _part_painted(casters, seen, p_table)
    alone = TwinView(replace(seen, links={}), (), renderer=renderer)
    is_known = np.zeros(len(p_table), dtype=bool)
    for _ in range(_ROUNDS if plates else 0):
        is_known = _paint(alone, seen, plates, p_table, part)
    unseen = float(np.mean(~is_known[part > 0.0])) if np.any(part > 0.0) else 0.0
    bare = alone.table_colours.cpu().numpy() if plates else None
    return replace(seen, bare_table=bare), (_not_seen(unseen),) if unseen > _MOST_UNSEEN else ()


def _casters(objects: Mapping[str, SplatMesh], table: SplatMesh) -> "dict[str, ShadowCaster]":
    from gemel.services.render.contact_shadow import ShadowCaster

    height_m = float(table.vertices[:, 2].mean())
    return {name: ShadowCaster(mesh, height_m, "cpu") for name, mesh in objects.items()}


def _part_painted(
    casters: "Mapping[str, ShadowCaster]", seen: Reconstruction, p_table: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, " n"]:
    """One where objects lay in the scan and near them, falling to zero further off."""
    poses = {name: placement.as_matrix() for name, placement in seen.placements.items()}
    return np.clip((_REACH - _heights_away(casters, poses, p_table[:, :2])) / _FADE, 0.0, 1.0)


def _heights_away(
    casters: "Mapping[str, ShadowCaster]", poses: Mapping[str, np.ndarray], places: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, " n"]:
    import torch

    from gemel.services.render.shadow_fit import heights_away

    stacked = {name: T[None] for name, T in poses.items()}
    return heights_away(casters, stacked, torch.as_tensor(places, dtype=torch.float32))


def _plates(
    view: "TwinView", frames: Sequence[TrialFrame], casters: "Mapping[str, ShadowCaster]", table: SplatMesh
) -> dict[str, Float32[np.ndarray, "_ _ 3"]]:
    """By camera that stands still, its picture of the bare table; NaN where too few frames show it."""
    plates = {}
    for name in dict.fromkeys(frame.camera for frame in frames):
        if view.camera(name).parent != WORLD:
            continue
        own = [frame for frame in frames if frame.camera == name]
        places = _table_places(view, own[0], float(table.vertices[:, 2].mean()))
        is_bare = np.stack([_is_bare(view, frame, casters, places) for frame in own])
        images = np.where(is_bare[..., None], np.stack([frame.image for frame in own]), np.float32(np.nan))
        is_known = is_bare.sum(axis=0) >= _FEWEST
        plate = np.full(images.shape[1:], np.nan, dtype=np.float32)
        plate[is_known] = np.nanmedian(images[:, is_known], axis=0)
        plates[name] = plate
    return plates


def _table_places(view: "TwinView", frame: TrialFrame, height_m: float) -> Float[np.ndarray, "h w 2"]:
    """Where the ray of each pixel meets the table's plane [m]."""
    camera, T_camera_world = view.camera(frame.camera), view.viewpoint(frame.camera, frame.Ts_world_link).T_camera_world
    assert camera.model is not None
    T = np.linalg.inv(T_camera_world)
    rays = np.nan_to_num(camera.model.unproject(pixel_centres(camera.width, camera.height))) @ T[:3, :3].T
    down = np.minimum(rays[..., 2:], -1e-3)  # what looks up sees no table, and no pixel of it is one of the table
    return np.asarray(T[:2, 3] + rays[..., :2] * ((height_m - T[2, 3]) / down))


def _is_bare(
    view: "TwinView", frame: TrialFrame, casters: "Mapping[str, ShadowCaster]", places: Float[np.ndarray, "h w 2"]
) -> Bool[np.ndarray, "h w"]:
    """Pixels that show the table, and no robot, object or deep shade."""
    from scipy.ndimage import binary_erosion

    point = view.viewpoint(frame.camera, frame.Ts_world_link)
    (drawn,) = view.draw(frame.Ts_world_link, frame.Ts_world_object, [point], has_ids=True)
    assert drawn.ids is not None
    is_table = binary_erosion(drawn.ids == _TABLE, iterations=max(round(_MARGIN_PX * drawn.ids.shape[1] / 160), 1))
    away = _heights_away(casters, frame.Ts_world_object, places.reshape(-1, 2)).reshape(is_table.shape)
    return np.asarray(is_table & (away > _AWAY))


def _paint(
    alone: "TwinView", seen: Reconstruction, plates: Mapping[str, np.ndarray], p_table: Float[np.ndarray, "n 3"],
    part: Float[np.ndarray, " n"],
) -> Bool[np.ndarray, " n"]:  # fmt: skip
    """Bring the drawn table nearer to the plates; which Gaussians some plate shows."""
    import torch

    no_links = np.zeros((0, 4, 4))
    ratios = []
    for name, plate in plates.items():
        point = alone.viewpoint(name, no_links)
        (drawn,) = alone.draw(no_links, {}, [point])
        offset = 0.0 if seen.scene_response is None else seen.scene_response.offsets[_row(seen, name)]
        ratio = np.log(np.maximum(plate - offset, _DARKEST) / np.maximum(drawn.colour - offset, _DARKEST))
        p_camera = p_table @ point.T_camera_world[:3, :3].T + point.T_camera_world[:3, 3]
        ratios.append(_sampled(ratio, alone.camera(name), p_camera))
    stacked = np.stack(ratios)  # (camera, n, 3)
    is_known = np.isfinite(stacked).all(axis=-1)
    mean = np.where(is_known[..., None], stacked, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)[:, None]
    change = np.exp(np.clip(part[:, None] * mean, -_MOST, _MOST))
    colours = alone.table_colours
    alone.paint_table((colours * torch.as_tensor(change, dtype=colours.dtype)).clamp(0.0, 1.0))
    return np.asarray(is_known.any(axis=0))


def _row(seen: Reconstruction, camera: str) -> int:
    return [one.name for one in seen.cameras].index(camera)


def _sampled(
    image: Float[np.ndarray, "h w 3"], camera: Camera, p_camera: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "n 3"]:
    """The image where points appear in it; NaN where they do not."""
    assert camera.model is not None
    pixels = np.nan_to_num(camera.model.project(p_camera), nan=-1.0)
    column, row = np.clip(np.floor(pixels), -1.0, [camera.width, camera.height]).astype(int).T
    is_inside = (column >= 0) & (column < camera.width) & (row >= 0) & (row < camera.height)
    values = np.full((len(p_camera), 3), np.nan)
    values[is_inside] = image[row[is_inside], column[is_inside]]
    return values


def _not_seen(part: float) -> Finding:
    return Finding(
        code="table-under-objects",
        severity=Severity.NOTE,
        message=f"No camera that stands still saw {part:.0%} of the table round the objects' places in the scan "
        "without an object on it; there, shade is taken out by a simple model, and what was underneath is invented.",
        remedy="let calibration trials move the objects away from where they lay in the scan",
        value=part,
    )
