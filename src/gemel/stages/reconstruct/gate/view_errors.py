"""How well a fitted object explains each view: overlap of outlines, and difference of colours inside both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from gemel.services.render.mesh_raster import silhouette
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.looks import drawn
from gemel.stages.reconstruct.observations import Observations


@dataclass(frozen=True)
class ViewError:
    """One view against the fit."""

    row: int
    """Which observation."""
    camera: str
    episode: str
    time_s: float
    is_withheld: bool
    iou: float
    """Outline of the mesh against the mask, 0 to 1; NaN where the object is hidden."""
    psnr_db: float
    """Of the object's pixels; NaN for views that were not drawn."""


def view_errors(
    fitted: FittedObject, located: Located, observations: Observations, name: str, *, drawn_count: int = 12
) -> tuple[ViewError, ...]:
    """All views of one object; colours are compared in all withheld views and in some fitted ones."""
    withheld = [int(v) for v in fitted.views.withheld_rows]
    own = [int(v) for v in fitted.views.fitted_rows]
    compared = {own[i] for i in np.linspace(0, len(own) - 1, min(drawn_count, len(own))).round().astype(int)}
    return tuple(
        _view_error(fitted, located, observations, name, v, has_colour=v in compared or v in withheld)
        for v in sorted([*own, *withheld])
    )


def _view_error(
    fitted: FittedObject, located: Located, observations: Observations, name: str, v: int, *, has_colour: bool
) -> ViewError:
    mask = np.asarray(observations.masks[name][v])
    is_known = observations.known[v] & ~located.robots[v]
    T_camera_world = located.Ts_world_camera[v].inverse()
    height, width = mask.shape
    shape = silhouette(T_camera_world @ fitted.mesh.vertices, fitted.mesh.faces, located.intrinsics[v], width, height)
    both = mask & shape & is_known
    either = (mask | shape) & is_known
    psnr_db = float("nan")
    if has_colour and both.any():
        psnr_db = _psnr_db(drawn(fitted, located, observations, v)[0], observations.images[v], both)
    return ViewError(
        row=v,
        camera=observations.cameras[observations.camera[v]].name,
        episode=observations.episodes[observations.episode[v]].id,
        time_s=float(observations.times_s[v]),
        is_withheld=v in fitted.views.withheld_rows,
        iou=float(both.sum() / either.sum()) if either.any() else float("nan"),
        psnr_db=psnr_db,
    )


def _psnr_db(fit: np.ndarray, real: np.ndarray, chosen: Bool[np.ndarray, "h w"]) -> float:
    from scipy.ndimage import binary_erosion

    inner = binary_erosion(chosen)  # a pixel on the outline is half background
    use = inner if inner.sum() >= 20 else chosen
    squared = float(np.mean((fit[use] - real[use]) ** 2))
    return float(-10.0 * np.log10(max(squared, 1e-10)))


def median_of(errors: Sequence[ViewError], field: str) -> float:
    """Median of a field over views that have it; NaN without any."""
    values = np.array([getattr(error, field) for error in errors], dtype=np.float64)
    return float(np.nanmedian(values)) if np.isfinite(values).any() else float("nan")
