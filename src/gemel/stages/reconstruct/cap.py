"""Lower the hull's roof to where the views agree.

Cameras that look down from above leave a roof on the hull: over a flat top, and in every hollow that opens upwards, the
outlines carve nothing. What they cannot tell, the pictures can: at the true height a small level patch looks the same
in all views (Faugeras and Keriven 1998). Each column of the hull is searched from its top downwards, as far as it is
solid, for the height with the best agreement; heights of neighbouring columns are made to agree by semi-global matching
(Hirschmueller 2008), which lets them jump where the pictures say so, stay level, or follow the hull. Brightness that
differs between views speaks against a height even where there are no marks. A patch that says nothing costs the same at
every height, and so follows its neighbours, or stays at the hull's top. Columns that an outline needs are
held up: a ray just inside the outline has to hit something.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32

from gemel.stages.reconstruct.hull import Field
from gemel.stages.reconstruct.silhouettes import silhouette_distances
from gemel.stages.reconstruct.views import Views

MOST_VIEWS = 24
"""More views than this add time, not agreement."""

COARSE_PX = 2.5
"""Changes over more pixels than this are shading, not marks [px]."""

NARROWEST_PIT = 5
"""Narrower pits are filled [voxels]."""
MOST_PINS = 6.0
"""More rays than this do not hold a column any faster."""


@dataclass(frozen=True)
class CapSettings:
    """How agreement becomes heights; costs are 1 - correlation, so that 1 is no agreement at all."""

    noise: float = 0.01
    """Standard deviation of grey values that counts as no pattern [0 to 1]."""
    least_correlation: float = 0.15
    """Agreement up to this counts as chance."""
    colour_cost: float = 1.0
    """For a place that views see in quite different brightness."""
    usual: float = 0.06
    """Standard deviation of brightness between views that is usual for one place [0 to 1]."""
    step_cost: float = 0.05
    """For a change of height by one voxel from one column to the next."""
    jump_cost: float = 0.5
    """For a larger change."""
    pin_cost: float = 0.15
    """For each ray inside an outline that would hit nothing any more, up to `MOST_PINS`."""
    lowering_cost: float = 0.01
    """For leaving the hull's top, so that a column without any evidence stays there."""


def cap_hull(hull: Field, views: Views, settings: CapSettings = CapSettings()) -> Field:  # noqa: B008 - frozen
    """The hull with every column lowered to the height at which views agree best; nothing is added to it."""
    from scipy.ndimage import grey_closing

    from gemel.stages.reconstruct.cap_kernel import agreement, disagreement, smooth_heights
    from gemel.stages.reconstruct.voxel_kernel import sample

    chosen = np.unique(np.linspace(0, len(views) - 1, min(MOST_VIEWS, len(views))).round().astype(int))
    subset = views.subset([int(i) for i in chosen])
    is_usable = (subset.masks > 0.5) & ~subset.ignore
    grey = subset.images.mean(axis=-1, dtype=np.float32)
    place = (subset.Ts_camera_world, subset.intrinsics, hull.values, hull.low, hull.spacing)
    evidence = agreement(sample(_fine_pattern(grey, is_usable), is_usable, *place), settings.noise)
    against = disagreement(sample(grey, is_usable, *place), settings.usual)
    top, bottom = _top_runs(hull.values)
    costs = (
        _costs(evidence, top, bottom, settings)
        + settings.colour_cost * against
        + settings.pin_cost * _pins_above(hull, views)
    )
    level = smooth_heights(costs, top, settings.step_cost, settings.jump_cost)
    # A pit narrower than this was not seen by a patch, whatever the costs say.
    level = np.minimum(grey_closing(level, NARROWEST_PIT), top).astype(np.float32)
    return replace(hull, values=_lowered(hull, level, top))


def _fine_pattern(grey: Float32[np.ndarray, "v h w"], is_usable: np.ndarray) -> Float32[np.ndarray, "v h w"]:
    """Grey values without what changes slowly over the object.

    Shading from top to sides is alike in all views when the object's middle is laid on itself, at whatever height that
    is; only fine marks tell the height.
    """
    from scipy.ndimage import gaussian_filter

    weights = is_usable.astype(np.float32)
    sigma = (0.0, COARSE_PX, COARSE_PX)
    coarse = gaussian_filter(weights * grey, sigma) / np.maximum(gaussian_filter(weights, sigma), 1e-6)
    return np.asarray(grey - coarse, dtype=np.float32)


def _pins_above(hull: Field, views: Views) -> Float32[np.ndarray, "nx ny nz"]:
    """Rays that need a column and pass more than a voxel above each of its levels."""
    from gemel.stages.reconstruct.rim_kernel import pinned_voxels

    distances, poses = silhouette_distances(views), views.Ts_world_camera.as_matrix()
    pins = pinned_voxels(distances, views.ignore, poses, views.intrinsics, hull.values, hull.low, hull.spacing)
    from_here_up = np.cumsum(pins[:, :, ::-1], axis=2)[:, :, ::-1]
    above = np.zeros(pins.shape, dtype=np.float32)
    above[:, :, :-2] = from_here_up[:, :, 2:]
    return np.minimum(above, MOST_PINS)


def _top_runs(values: Float32[np.ndarray, "nx ny nz"]) -> tuple[np.ndarray, np.ndarray]:
    """Highest solid voxel of each column and the lowest that is joined to it; -1 where the column is empty."""
    is_solid = values < 0.0
    count = values.shape[2]
    top = np.where(is_solid.any(axis=2), count - 1 - np.argmax(is_solid[:, :, ::-1], axis=2), -1)
    levels = np.arange(count)
    is_gap_below = ~is_solid & (levels < top[..., None])
    bottom = np.where(is_gap_below.any(axis=2), count - np.argmax(is_gap_below[:, :, ::-1], axis=2), 0)
    first = np.argmax(is_solid, axis=2)
    return top, np.where(top >= 0, np.maximum(bottom, first), -1)


def _costs(correlation: np.ndarray, top: np.ndarray, bottom: np.ndarray, settings: CapSettings) -> np.ndarray:
    """Cost of each height of each column (nx, ny, nz); infinite outside the column's run."""
    levels = np.arange(correlation.shape[2])
    is_candidate = (levels <= top[..., None]) & (levels >= bottom[..., None]) & (top >= 0)[..., None]
    evidence = np.maximum(correlation - settings.least_correlation, 0.0) / (1.0 - settings.least_correlation)
    costs = 1.0 - evidence + settings.lowering_cost * (levels < top[..., None])
    return np.where(is_candidate, costs, np.inf).astype(np.float32)


def _lowered(hull: Field, level: np.ndarray, top: np.ndarray) -> Float32[np.ndarray, "nx ny nz"]:
    """Outside is also what lies above the new height of a column that was lowered by a voxel or more."""
    levels = np.arange(hull.values.shape[2])
    is_lowered = (top >= 0) & (level < top - 0.5)
    above = np.where(is_lowered[..., None], hull.spacing * (levels - level[..., None]), -np.inf)
    return np.maximum(hull.values, above.astype(np.float32))
