"""The objects' shade, fitted to the table's colours and taken out of them.

The logarithm of the table's brightness near the objects is a plane (wood and lamps) plus the logarithm of the light
that the objects let through; texture is what remains, and counts less the further off it is. What lies under an object
was never seen, and right beside it pixels show both; these places are filled from what surrounds them.

Where the table's colours without objects are known (`Reconstruction.bare_table`), the texture is known with them: the
shade is fitted to what the scan's table is darker, and nothing has to be taken out or filled.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch  # noqa: TID253 - the same shading as when drawing
from jaxtyping import Bool, Float, Int
from torch import Tensor  # noqa: TID253

from gemel.geometry import SE3
from gemel.services.render.contact_shadow import ContactShadow, ShadowCaster
from gemel.services.render.torch_threads import one_torch_thread

_NEAR = 4.0
"""Places up to so many heights from an object are looked at."""
_FEWEST = 100
_TEXTURE = 0.05
"""Deviations of log brightness that are taken for texture."""
_DARKEST = 0.02
_RIM_M = 0.012
"""Places so near to an object are mixed up with it in the images [m]."""
_SOURCES = 24
"""From how many places a place is filled."""
_LOW, _HIGH = (0.0, 0.2, -2.0, -2.0), (1.6, 3.0, 2.0, 2.0)
"""Bounds of strength, spread and lean."""
_STARTS = ((0.5, 1.0, 0.0, 0.0), *((0.5, 0.5, x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)))
"""Several, because shades that lean to different sides can each be better than all that are like them."""
_GLANCE = 6
"""Evaluations after which the best of the starts goes on alone."""
_MOST_PLACES = 1500
"""So many places of the table are enough for a few numbers."""


@one_torch_thread()
def fit_shadow(
    casters: Mapping[str, ShadowCaster],
    placements: Mapping[str, SE3],
    p_table: Tensor,
    colours: Tensor,
    is_seen: Bool[np.ndarray, " n"],
    *,
    bare: Tensor | None = None,
) -> tuple[ContactShadow, Tensor]:
    """The shade of objects at `placements` on table places (n, 2), and the colours (n, 3) without it.

    `bare` are those colours where they are known already.
    """
    poses = {name: placements[name].as_matrix()[None] for name in casters}
    near = _is_near(casters, poses, p_table) & is_seen
    if np.count_nonzero(near) < _FEWEST:
        return ContactShadow(), colours if bare is None else bare
    brightness = _log_brightness(colours) - (0.0 if bare is None else _log_brightness(bare))
    rows = np.flatnonzero(near)
    rows = rows[:: -(-len(rows) // _MOST_PLACES)]
    shadow = _best_shadow(casters, poses, p_table[torch.as_tensor(rows)], brightness[rows])
    return shadow, _without(casters, poses, shadow, p_table, colours, is_seen) if bare is None else bare


def _log_brightness(colours: Tensor) -> Float[np.ndarray, " n"]:
    return np.asarray(np.log(np.maximum(colours.mean(dim=1).cpu().numpy().astype(np.float64), _DARKEST)))


def _best_shadow(
    casters: Mapping[str, ShadowCaster], poses: Mapping[str, np.ndarray], places: Tensor,
    brightness: Float[np.ndarray, " n"],
) -> ContactShadow:  # fmt: skip
    """The shade that, with a plane, explains log brightness at places (n, 2) best."""
    from scipy.optimize import least_squares

    xy = places.cpu().numpy().astype(np.float64)
    plane = np.column_stack([np.ones(len(xy)), xy - xy.mean(axis=0)])

    def residual(x: Float[np.ndarray, " p"]) -> Float[np.ndarray, " n"]:
        kept = kept_light(casters, poses, _shadow(x), places)[0].cpu().numpy().astype(np.float64)
        return np.asarray(brightness - plane @ x[4:] - np.log(np.maximum(kept, _DARKEST)))

    free = (np.inf,) * 3
    bounds = ([*_LOW, *(-b for b in free)], [*_HIGH, *free])
    solve = partial(least_squares, residual, bounds=bounds, loss="soft_l1", f_scale=_TEXTURE, diff_step=1e-3)
    tried = [solve([*start, np.median(brightness), 0.0, 0.0], max_nfev=_GLANCE) for start in _STARTS]
    return _shadow(solve(min(tried, key=lambda one: one.cost).x).x)


def kept_light(
    casters: Mapping[str, ShadowCaster], poses: Mapping[str, np.ndarray], shadow: ContactShadow, p_table: Tensor
) -> Tensor:
    """Part of the light that places (n, 2) keep under all objects at poses (b, 4, 4), (b, n)."""
    kept = p_table.new_ones(1, len(p_table))
    for name, caster in casters.items():
        if name in poses:
            kept = kept * caster.kept_light(shadow, poses[name], p_table)
    return kept


def heights_away(
    casters: Mapping[str, ShadowCaster], poses: Mapping[str, np.ndarray], p_table: Tensor
) -> Float[np.ndarray, " n"]:
    """How far places (n, 2) are from the nearest object at poses (1, 4, 4), in its heights; negative under it."""
    far = np.full(len(p_table), np.inf)
    for name, caster in casters.items():
        if name in poses:
            (around,) = caster.distances(poses[name], p_table)
            far = np.minimum(far, around.distances_m[0].cpu().numpy() / around.foot.height_m)
    return far


def _is_near(
    casters: Mapping[str, ShadowCaster], poses: Mapping[str, np.ndarray], p_table: Tensor
) -> Bool[np.ndarray, " n"]:
    """Places beside, and not under, an object."""
    is_near = heights_away(casters, poses, p_table) < _NEAR
    found = [next(caster.distances(poses[name], p_table)).distances_m[0] for name, caster in casters.items()]
    return is_near & (torch.stack(found).amin(dim=0).cpu().numpy() >= 0.5 * _RIM_M)


def _shadow(x: Float[np.ndarray, " p"]) -> ContactShadow:
    return ContactShadow(float(x[0]), float(x[1]), (float(x[2]), float(x[3])))


def _without(
    casters: Mapping[str, ShadowCaster], poses: Mapping[str, np.ndarray], shadow: ContactShadow, p_table: Tensor,
    colours: Tensor, is_seen: Bool[np.ndarray, " n"],
) -> Tensor:  # fmt: skip
    """The table's colours as they would be without any object."""
    bright = (colours / kept_light(casters, poses, shadow, p_table)[0].clamp(min=0.1)[:, None]).clamp(0.0, 1.0)
    found = [next(caster.distances(poses[name], p_table)).distances_m[0] for name, caster in casters.items()]
    distance = torch.stack(found).amin(dim=0)
    is_doubtful = distance.cpu().numpy() < _RIM_M
    source = np.flatnonzero(~is_doubtful & is_seen)
    if not is_doubtful.any() or len(source) < _SOURCES:
        return bright
    return _filled(bright, p_table.cpu().numpy(), np.flatnonzero(is_doubtful), source)


def _filled(
    colours: Tensor, places: Float[np.ndarray, "n 2"], target: Int[np.ndarray, " t"], source: Int[np.ndarray, " s"]
) -> Tensor:
    """Colours of target places as those of source places, near ones more."""
    from scipy.spatial import cKDTree

    apart, near = cKDTree(places[source]).query(places[target], k=_SOURCES)
    weight = 1.0 / np.maximum(apart, 1e-4) ** 2
    weight = torch.as_tensor(weight / weight.sum(axis=1, keepdims=True), dtype=torch.float32, device=colours.device)
    filled = colours.clone()
    filled[torch.as_tensor(target)] = (weight[..., None] * colours[torch.as_tensor(source[near])]).sum(dim=1)
    return filled
