"""Colours: what is learnt of an object that shares its region with the table, and edges of masks."""

import numpy as np

from gemel.stages.segment.appearance import colour_bins, colour_counts, learn_shaded_colours, unmixed
from gemel.stages.segment.matting import matted
from gemel.stages.segment.smooth import smoothed_odds


def _pixels(rng: np.random.Generator, rgb: tuple[int, int, int], count: int) -> np.ndarray:
    return np.clip(rng.normal(rgb, 5.0, (count, 3)), 0, 255).astype(np.uint8)


def test_a_region_is_unmixed_into_its_own_colours() -> None:
    """Of a region that is half table, the table's colours count for nothing and the object's in full."""
    rng = np.random.default_rng(0)
    table, thing = _pixels(rng, (150, 115, 80), 4000), _pixels(rng, (210, 105, 45), 2000)
    region = np.concatenate([table[:2000], thing])
    share = unmixed(colour_counts(colour_bins(region)), colour_counts(colour_bins(table[2000:])))
    assert share[colour_bins(thing)].mean() > 0.95
    assert share[colour_bins(table)].mean() < 0.2


def test_a_shadow_is_more_like_the_table_than_like_anything() -> None:
    """Table colours at half their brightness are likelier than an even spread over all colours."""
    rng = np.random.default_rng(0)
    table = _pixels(rng, (160, 120, 80), 5000)
    colours = learn_shaded_colours(table)
    shadow = (table * 0.55).astype(np.uint8)
    other = _pixels(rng, (60, 90, 170), 500)
    assert np.median(colours(colour_bins(shadow))) > np.median(colours(colour_bins(other))) + 1.5


def _edge_image(at: float) -> tuple[np.ndarray, np.ndarray]:
    """An orange half plane on wood whose edge lies at a fractional column, and which pixels it covers by half."""
    share = np.clip(np.arange(40) + 1.0 - at, 0.0, 1.0)
    colour = share[:, None] * np.array([210, 105, 45]) + (1 - share[:, None]) * np.array([150, 115, 80])
    return np.tile(colour.round().astype(np.uint8), (30, 1, 1)), np.tile(share > 0.5, (30, 1))


def test_the_edge_of_a_mask_is_put_where_pixels_are_half_object() -> None:
    """A mask that is up to one pixel too large or too small gets its exact edge back."""
    for at in (18.2, 18.8):
        image, true = _edge_image(at)
        for wrong in (-1, 1):
            found = matted(image, np.roll(true, wrong, axis=1))
            assert np.array_equal(found[:, 5:35], true[:, 5:35])


def test_neighbours_fill_gaps_but_do_not_cross_edges() -> None:
    """A pixel without an opinion takes that of its neighbours of the same colour."""
    image, true = _edge_image(20.0)
    odds = np.where(true, 3.0, -3.0)
    odds[10:13, 25:28] = -0.2
    odds[10:13, 10:13] = 0.2
    assert np.array_equal(smoothed_odds(odds, image) > 0, true)
