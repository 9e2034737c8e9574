"""Masks without any weights: the robot drawn from its model, a map of the table, colours, and agreement between views.

Where a scan with calibrated cameras exists, the object is found and learnt in it (`place_views`, `find_object`,
`learn_object`); prompts only choose between things. Without one, a prompt in one frame shows the colours, and standing
cameras know their background. Trials are then segmented with what was learnt. What a person painted is learnt from
and spread to the frames around it (`spread_paint`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float

from gemel.errors import ConfigError
from gemel.stages.segment.background import Backdrop, from_map
from gemel.stages.segment.body import Body
from gemel.stages.segment.build_views import episodes_of
from gemel.stages.segment.choose_thing import chosen_thing
from gemel.stages.segment.config import ObjectPrompt
from gemel.stages.segment.find_object import find_things
from gemel.stages.segment.guess import Guess, Wanted, key_of
from gemel.stages.segment.hull import VoxelBox
from gemel.stages.segment.learn_object import Learnt, learn_from_regions, learn_object, scan_odds
from gemel.stages.segment.matting import matted
from gemel.stages.segment.odds import Looks, colour_odds
from gemel.stages.segment.place_views import Scene, place, settle_scene
from gemel.stages.segment.placed import Placed
from gemel.stages.segment.prompt_region import prompted_regions
from gemel.stages.segment.smooth import smoothed_odds
from gemel.stages.segment.spread_paint import with_paint
from gemel.stages.segment.trial_views import (
    agreeing_parts,
    follows_elsewhere,
    instants,
    largest_part,
    still_backdrops,
)
from gemel.stages.segment.view import View

OnProgress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class _Known:
    """What was learnt in the scan, or from prompts alone."""

    looks: Looks
    scene: Scene | None = None
    learnt: Learnt | None = None
    box: VoxelBox | None = None


class ClassicalSegmenter:
    """See the module's text. One instance serves all objects of a capture: the scene is settled once."""

    def __init__(self, *, table_height_m: float, full_width: dict[str, int]) -> None:
        self._height_m = table_height_m
        self._full_width = full_width
        self._scene_from_episode: dict[str, Scene | None] = {}

    def __call__(self, views: list[View], wanted: Wanted, on_progress: OnProgress) -> list[Guess]:
        """Masks of one object in all views."""
        regions = prompted_regions(views, wanted, self._full_width)
        scans = [e for e, places in episodes_of(views) if views[places[0]].is_scan]
        known: dict[str, _Known] = {}
        for n, episode in enumerate(scans):
            of = [i for i, v in enumerate(views) if v.episode == episode]
            found = self._learn_scan(
                [views[i] for i in of], {of.index(i): r for i, r in regions.items() if i in of}, wanted
            )
            if found is not None:
                known[episode] = found
            on_progress(0.5 * (n + 1) / len(scans))
        rest = next(iter(known.values()), None)
        if rest is None and not regions and wanted.prompt == ObjectPrompt():
            return [Guess(np.zeros(v.size, dtype=bool), 0.0) for v in views]
        rest = rest or self._learn_prompts(views, regions, wanted)
        guesses: list[Guess | None] = [None] * len(views)
        for episode, found in known.items():
            of = [i for i, v in enumerate(views) if v.episode == episode]
            _fill(guesses, views, of, found, wanted, is_still=True)
        trials = [i for i, v in enumerate(views) if v.episode not in known]
        _fill(guesses, views, trials, rest, wanted, is_still=False)
        on_progress(1.0)
        done = [
            g if g is not None else Guess(np.zeros(v.size, dtype=bool), 0.0)
            for g, v in zip(guesses, views, strict=True)
        ]
        return [
            Guess(wanted.painted[key_of(v)], 1.0) if key_of(v) in wanted.painted else g
            for g, v in zip(done, views, strict=True)
        ]

    def _learn_scan(self, views: list[View], regions: dict[int, np.ndarray], wanted: Wanted) -> _Known | None:
        episode = views[0].episode
        if episode not in self._scene_from_episode:
            self._scene_from_episode[episode] = settle_scene(views, self._height_m)
        scene = self._scene_from_episode[episode]
        if scene is None:
            return None
        box, things = find_things(scene.keys, scene.table)
        placed = {i: place(views[i], scene.correction_from_camera) for i in regions}
        thing = chosen_thing(
            things, box.voxel_m, scene.keys, [(placed[i], regions[i]) for i in regions], wanted.prompt.prompt
        )
        if thing is None:
            return None
        brushed = [(place(v, scene.correction_from_camera), wanted.painted[key_of(v)])
                   for v in views if key_of(v) in wanted.painted]  # fmt: skip
        first = Body(thing, np.ones(len(thing)), box.voxel_m)
        learnt = learn_object(scene.keys, scene.table, first, [(p, m) for p, m in brushed if p.pose is not None])
        return _Known(learnt.looks, scene, learnt, box)

    def _learn_prompts(self, views: list[View], regions: dict[int, np.ndarray], wanted: Wanted) -> _Known:
        if not regions:
            raise ConfigError(
                f"Nothing says which pixels are {wanted.name!r}: no scan with calibrated cameras shows it on the "
                "table, and it has no point, box or painted mask in a frame that is segmented.",
                remedy="point at it with `gemel prompt DIR`, or record a scan and give the cameras in twin.toml",
            )
        placed = [Placed(views[i], None) for i in regions]
        return _Known(learn_from_regions(placed, list(regions.values())))


def _fill(
    guesses: list[Guess | None], views: list[View], places: Sequence[int], known: _Known, wanted: Wanted,
    *, is_still: bool,
) -> None:  # fmt: skip
    """Guesses of the views at these places; `is_still` when the object stands where it was learnt."""
    correction = known.scene.correction_from_camera if known.scene else {}
    placed = [place(views[i], correction) for i in places]
    brushed = {n: wanted.painted[key_of(p.view)] for n, p in enumerate(placed) if key_of(p.view) in wanted.painted}
    if is_still and known.learnt is not None:
        odds = _odds(placed, known.looks, brushed, partial(_scan_odds, known.learnt), None)
        for i, p, o in zip(places, placed, odds, strict=True):
            guesses[i] = _guess(p, o, None)
        return
    drops = still_backdrops(placed, known.looks)
    odds = _odds(placed, known.looks, brushed, partial(_trial_odds, known, drops), known.box)
    centres = None if known.box is None else known.box.centres().reshape(-1, 3)
    for group in instants(placed):
        masks = [brushed.get(i, odds[i] > 0.0) for i in group]
        if known.box is not None and centres is not None:
            parts = agreeing_parts([placed[i] for i in group], masks, known.box, centres)
        else:
            parts = [largest_part(mask) for mask in masks]
        for i, part in zip(group, parts, strict=True):
            guesses[places[i]] = _guess(placed[i], odds[i], part)


def _odds(
    placed: list[Placed], looks: Looks, brushed: dict[int, Bool[np.ndarray, "_ _"]],
    odds_of: Callable[[Placed, Looks], Float[np.ndarray, "_ _"]], box: VoxelBox | None,
) -> list[Float[np.ndarray, "_ _"]]:  # fmt: skip
    """Log odds of object in all views, with what painted masks say about others, neighbours asked."""
    odds = [odds_of(p, looks) for p in placed]
    if brushed:
        elsewhere = None if box is None else partial(follows_elsewhere, placed, brushed, box)
        odds = with_paint(placed, odds, brushed, looks, odds_of, elsewhere)
    return [smoothed_odds(o, p.view.image) for o, p in zip(odds, placed, strict=True)]


def _scan_odds(learnt: Learnt, placed: Placed, looks: Looks) -> Float[np.ndarray, "h w"]:
    return scan_odds(placed, learnt, looks)


def _trial_odds(known: _Known, drops: dict[str, Backdrop], placed: Placed, looks: Looks) -> Float[np.ndarray, "h w"]:
    if placed.view.camera in drops:
        return colour_odds(placed, looks, [drops[placed.view.camera]])
    if known.learnt is None or placed.pose is None:
        return colour_odds(placed, looks, [])
    return colour_odds(placed, looks, [from_map(placed.view, placed.pose, known.learnt.table)])


def _guess(placed: Placed, odds: Float[np.ndarray, "h w"], part: Bool[np.ndarray, "h w"] | None) -> Guess:
    """The mask with a sharp edge; how sure it is: how far from even the odds are on and around it."""
    mask = odds > 0.0 if part is None else part
    if not mask.any():
        return Guess(mask, float(np.clip(1.0 - (odds > 0.0).mean() * 50.0, 0.0, 1.0)))
    sure = np.abs(np.tanh(0.25 * odds))
    edge = matted(placed.view.image, mask, placed.view.robot)
    return Guess(edge, float(sure[mask].mean()))
