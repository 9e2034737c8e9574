"""What a painted mask says about the frames around it.

Two things follow from a mask that a person corrected. **Colours**: the object has those inside, and what the segmenter
took for object but the person erased has those of a stranger, against which the object's colours then have to stand.
**Place**: the mask is carried from frame to frame with the motion of the picture (dense inverse search, Kroeger and
others 2016), and adds to the odds of each pixel that could be followed there and back, or in a standing camera looks
as before. Where neither holds, nothing is said, so an object that jumps is not held back. Both weights fall with the
distance in time from the painted frame.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.segment.appearance import Colours, learn_colours, mixed
from gemel.stages.segment.odds import Looks
from gemel.stages.segment.placed import Placed
from gemel.stages.segment.smooth import smoothed_odds

_FADE_FRAMES = 12.0
"""After so many frames a painted mask counts a factor e less."""
_LEAST_WEIGHT = 0.02
_PLACE = 6.0
"""Log odds that the painted mask itself gives a pixel."""
_COLOUR_PART = 0.5
"""Which part of the colours near a painted frame are those in it."""
_ROUND_TRIP_PX = 1.0
_RESIDUAL = 20.0
"""A pixel was followed when it comes back to within so many pixels, and looks alike [grey levels]."""
_ELSEWHERE = 0.5
"""How far a mask is trusted that follows from one painted in another camera."""
_FEWEST_PX = 20
"""From fewer pixels no colours are learnt."""


@dataclass(frozen=True, eq=False)
class Paint:
    """A painted mask and what was there before."""

    place: int
    """Which of the views it belongs to."""
    mask: Bool[np.ndarray, "h w"]
    object: Colours | None
    """The object's colours in it."""
    stranger: Colours | None
    """Colours of what was taken for object and is not."""
    trust: float = 1.0
    """Below 1 when nobody painted it, but it follows from what was painted in another camera."""


Elsewhere = Callable[[int, list[Bool[np.ndarray, "_ _"]]], Mapping[int, Bool[np.ndarray, "_ _"]]]
"""From a painted view's place and all masks: masks that follow for other cameras at that instant, by their places."""


def with_paint(
    placed: list[Placed], odds: list[Float[np.ndarray, "_ _"]], brushed: Mapping[int, Bool[np.ndarray, "_ _"]],
    looks: Looks, odds_of: Callable[[Placed, Looks], Float[np.ndarray, "_ _"]],
    elsewhere: Elsewhere | None = None,
) -> list[Float[np.ndarray, "_ _"]]:  # fmt: skip
    """The log odds of all views again, now that some masks are painted (`brushed`, by their places)."""
    before = [smoothed_odds(o, p.view.image) > 0.0 for o, p in zip(odds, placed, strict=True)]
    paints = []
    for place, mask in brushed.items():
        stranger = _colours(placed[place], before[place] & ~mask)
        paints.append(Paint(place, mask, _colours(placed[place], mask), stranger))
        for other, follows in ({} if elsewhere is None else elsewhere(place, before)).items():
            if other not in brushed:
                stranger = _colours(placed[other], before[other] & ~follows)
                paints.append(Paint(other, follows, None, stranger, _ELSEWHERE))
    again = [odds_of(p, near) for p, near in zip(placed, looks_near(placed, looks, paints), strict=True)]
    return spread(placed, again, paints)


def looks_near(placed: list[Placed], looks: Looks, paints: list[Paint]) -> list[Looks]:
    """The colours for each view: those of the capture, and of painted frames of the episode near it in time."""
    gap = _frame_gap(placed)
    return [_looks_at(p, placed, looks, paints, gap) for p in placed]


def spread(
    placed: list[Placed], odds: list[Float[np.ndarray, "_ _"]], paints: list[Paint]
) -> list[Float[np.ndarray, "_ _"]]:
    """The log odds of all views with what painted frames of the same camera and episode add to them."""
    gap = _frame_gap(placed)
    told = list(odds)
    painted = {paint.place for paint in paints}
    for paint in paints:
        stream = _stream(placed, paint.place)
        at = stream.index(paint.place)
        for walk in (stream[at:], stream[at::-1]):
            for place, more in _walk(placed, odds, paint, walk, gap):
                if place in painted:  # from here on, that one says more
                    break
                told[place] = told[place] + more
        told[paint.place] = odds[paint.place] * (1.0 - paint.trust) + paint.trust * _PLACE * _sign(paint.mask)
    return told


def _walk(
    placed: list[Placed], odds: list[Float[np.ndarray, "_ _"]], paint: Paint, walk: list[int], gap: float
) -> Iterator[tuple[int, Float[np.ndarray, "_ _"]]]:
    """Carry a painted mask along views in their order: what it adds to the log odds of each, until it has faded."""
    belief = _sign(paint.mask)
    for before, here in pairwise(walk):
        weight = paint.trust * _weight(placed[here].view.step - placed[paint.place].view.step, gap)
        if weight < _LEAST_WEIGHT:
            return
        views = placed[before].view, placed[here].view
        belief = carried(belief, views[0].image, views[1].image, is_fixed=views[1].is_fixed)
        yield here, _PLACE * weight * belief
        belief = np.tanh(0.5 * smoothed_odds(odds[here] + _PLACE * belief, placed[here].view.image))


def _sign(mask: Bool[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    return np.where(mask, 1.0, -1.0)


def carried(
    field: Float[np.ndarray, "h w"], before: np.ndarray, here: np.ndarray, *, is_fixed: bool
) -> Float[np.ndarray, "h w"]:
    """A field over one image as it lies over the next; 0 where the picture could not be followed.

    In a standing camera (`is_fixed`) a pixel that looks as it did shows what it did.
    """
    import cv2

    grey = [cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY) for image in (before, here)]
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    back, forth = search.calc(grey[1], grey[0], None), search.calc(grey[0], grey[1], None)
    height, width = field.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    at = (x + back[..., 0], y + back[..., 1])
    is_inside = (at[0] >= 0) & (at[0] <= width - 1) & (at[1] >= 0) & (at[1] <= height - 1)
    came = np.linalg.norm(back + cv2.remap(forth, *at, cv2.INTER_LINEAR), axis=2)
    alike = _alike(cv2.remap(before, *at, cv2.INTER_LINEAR), here)
    trust = np.exp(-((came / _ROUND_TRIP_PX) ** 2)) * alike * is_inside
    moved = trust * cv2.remap(field.astype(np.float32), *at, cv2.INTER_LINEAR)
    if is_fixed:
        still = _alike(before, here)
        moved = np.where(still > trust, still * field, moved)
    return np.asarray(moved, dtype=np.float64)


def _alike(one: np.ndarray, other: np.ndarray) -> Float[np.ndarray, "h w"]:
    """How alike two images are around each pixel, 0 to 1."""
    import cv2

    difference = one.astype(np.float32) - other.astype(np.float32)
    off = np.abs(cv2.GaussianBlur(difference, (0, 0), 0.7)).max(axis=2)
    return np.exp(-((off / _RESIDUAL) ** 2)).astype(np.float64)


def _looks_at(p: Placed, placed: list[Placed], looks: Looks, paints: list[Paint], gap: float) -> Looks:
    object_colours, strangers = looks.object, looks.strangers
    for paint in paints:
        view = placed[paint.place].view
        weight = paint.trust * _weight(view.step - p.view.step, gap) if view.episode == p.view.episode else 0.0
        if weight < _LEAST_WEIGHT:
            continue
        if paint.object is not None:
            object_colours = mixed(object_colours, paint.object, _COLOUR_PART * weight)
        if paint.stranger is not None:
            strangers = (*strangers, (paint.stranger, float(np.log(_COLOUR_PART * weight))))
    return Looks(object_colours, looks.table, looks.robot, strangers)


def _colours(placed: Placed, where: Bool[np.ndarray, "h w"]) -> Colours | None:
    seen = where & ~placed.near_robot
    return learn_colours(placed.bins[seen].astype(np.int64)) if seen.sum() >= _FEWEST_PX else None


def _weight(steps: int, gap: float) -> float:
    return float(np.exp(-abs(steps) / (gap * _FADE_FRAMES)))


def _frame_gap(placed: list[Placed]) -> float:
    """Steps between successive frames of a camera."""
    steps: dict[tuple[str, str], list[int]] = {}
    for p in placed:
        steps.setdefault((p.view.episode, p.view.camera), []).append(p.view.step)
    gaps = [np.diff(np.sort(s)) for s in steps.values() if len(s) > 1]
    return float(max(np.median(np.concatenate(gaps)), 1.0)) if gaps else 1.0


def _stream(placed: list[Placed], place: int) -> list[int]:
    """Places of all views of the same camera and episode, in order of time."""
    view = placed[place].view
    of = [i for i, p in enumerate(placed) if (p.view.episode, p.view.camera) == (view.episode, view.camera)]
    return sorted(of, key=lambda i: placed[i].view.step)
