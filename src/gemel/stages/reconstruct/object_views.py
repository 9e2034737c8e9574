"""Which views the fit of one object looks at, and what it may trust in them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.artifacts.camera import WORLD
from gemel.errors import SourceError
from gemel.geometry import SE3
from gemel.stages.reconstruct.observations import Observations
from gemel.stages.reconstruct.views import Views

LEAST_VIEWS = 6
_EVERY = 8
_LEAST_PIXELS = 20
"""A smaller mask shows nothing of an object."""


@dataclass(frozen=True, eq=False)
class ObjectViews:
    """Views of one object, fitted ones and withheld ones."""

    fitted: Views
    withheld: Views | None
    """None when no camera moves."""
    fitted_rows: Int[np.ndarray, " v"]
    """Which of the observations the fitted views are."""
    withheld_rows: Int[np.ndarray, " w"]


def object_views(
    observations: Observations,
    name: str,
    Ts_world_camera: SE3,
    intrinsics: Float[np.ndarray, "v 4"],
    robots: "list[Bool[np.ndarray, 'h w']]",
    *,
    fixed_views: int,
    least: int = LEAST_VIEWS,
) -> ObjectViews:
    """Views with a mask of the object; every eighth of a moving camera is withheld, to judge the fit by."""
    masks = observations.masks[name]
    rows = [v for v in range(len(observations)) if _is_usable(masks[v], robots[v])]
    rows = _of_one_size(observations, _thinned(observations, rows, robots, masks, fixed_views))
    if len(rows) < least:
        raise SourceError(
            f"Object {name!r} is seen in {len(rows)} usable views; at least {least} are needed.",
            remedy="look at its masks (`gemel prompt`), or record a scan that goes round it",
        )
    moving = [v for v in rows if _is_moving(observations, v)]
    withheld = np.array(moving[_EVERY // 2 :: _EVERY], dtype=np.int64)
    fitted = np.array([v for v in rows if v not in set(withheld.tolist())], dtype=np.int64)

    def views(chosen: Int[np.ndarray, " n"]) -> Views:
        return Views(
            camera_names=tuple(observations.cameras[observations.camera[v]].name for v in chosen),
            images=np.stack([observations.images[v] for v in chosen]),
            masks=np.stack([np.asarray(masks[v], dtype=np.float32) for v in chosen]),
            ignore=np.stack([robots[v] | ~observations.known[v] for v in chosen]),
            Ts_world_camera=Ts_world_camera[chosen],
            intrinsics=intrinsics[chosen],
            depths=_depths(observations, chosen),
        )

    return ObjectViews(views(fitted), views(withheld) if len(withheld) else None, fitted, withheld)


def _depths(observations: Observations, chosen: Int[np.ndarray, " n"]) -> "Float32[np.ndarray, 'n h w'] | None":
    """Logged depths of views of one size, 0 where a view has none; None if no view has any."""
    if not observations.depths or all(observations.depths[v] is None for v in chosen):
        return None
    found = (observations.depths[v] for v in chosen)
    shape = observations.images[chosen[0]].shape[:2]
    return np.stack([np.zeros(shape, np.float32) if depth is None else depth for depth in found])


def _is_usable(mask: "np.ndarray | None", robot: Bool[np.ndarray, "h w"]) -> bool:
    return mask is not None and int((mask & ~robot).sum()) >= _LEAST_PIXELS


def _is_moving(observations: Observations, v: int) -> bool:
    camera = observations.cameras[observations.camera[v]]
    return camera.parent != WORLD or camera.has_pose_per_frame


def _thinned(
    observations: Observations, rows: list[int], robots: "list[np.ndarray]", masks: "tuple[np.ndarray | None, ...]",
    fixed_views: int,
) -> list[int]:  # fmt: skip
    """A fixed camera sees a still object once; its few views in which the robot is farthest from it are kept."""
    kept = [v for v in rows if _is_moving(observations, v)]
    for camera in np.unique(observations.camera):
        own = [v for v in rows if observations.camera[v] == camera and not _is_moving(observations, v)]
        size = {v: int(np.sum(np.asarray(masks[v]))) for v in own}
        whole = [v for v in own if size[v] > 0.9 * max(size.values())]
        kept += sorted(whole, key=lambda v: int(robots[v].sum()))[:fixed_views]
    return sorted(kept)


def _of_one_size(observations: Observations, rows: list[int]) -> list[int]:
    """Views of the most frequent image size: a fit draws images of one size."""
    sizes = [observations.images[v].shape[:2] for v in rows]
    if not sizes:
        return []
    common = max(set(sizes), key=sizes.count)
    return [v for v, size in zip(rows, sizes, strict=True) if size == common]
