"""Painted corrections spread to the frames around them, and to no others."""

import numpy as np
import pytest

from gemel.geometry import SE3, Pinhole
from gemel.stages.segment.backends.classical import ClassicalSegmenter
from gemel.stages.segment.body import Body, carve
from gemel.stages.segment.config import BoxPrompt, ObjectPrompt
from gemel.stages.segment.guess import Wanted, key_of
from gemel.stages.segment.hull import box_around, pixel_of
from gemel.stages.segment.placed import Placed
from gemel.stages.segment.spread_paint import carried
from gemel.stages.segment.trial_views import follows_elsewhere
from gemel.stages.segment.view import View

_HEIGHT, _WIDTH, _FRAMES = 60, 80, 44
_WITH_STRANGER = range(14, 31)
_PAINTED = 22


def _texture(height: int, width: int, colour: tuple[int, int, int], seed: int) -> np.ndarray:
    """A surface with marks of a few pixels, so that motion can be seen."""
    import cv2

    rng = np.random.default_rng(seed)
    marks = cv2.GaussianBlur(rng.normal(size=(height, width)).astype(np.float32), (0, 0), 1.5)
    return np.clip(np.array(colour) + 60.0 * marks[..., None], 0, 255)


def _clip(*, px_per_frame: float = 0.6, does_stranger_move: bool = True) -> tuple[list[View], list[np.ndarray]]:
    """A red block that crosses a table; for a while, another of that red touches it and goes along, or lies still."""
    rng = np.random.default_rng(3)
    table = _texture(_HEIGHT, _WIDTH, (120, 130, 110), 0)
    block, other = _texture(14, 18, (190, 50, 45), 1), _texture(12, 14, (190, 50, 45), 2)
    views, truths = [], []
    for t in range(_FRAMES):
        x, y = 10 + round(px_per_frame * t) % 50, 22
        image, truth = table.copy(), np.zeros((_HEIGHT, _WIDTH), dtype=bool)
        image[y : y + 14, x : x + 18] = block
        truth[y : y + 14, x : x + 18] = True
        if t in _WITH_STRANGER:
            left = x + 3 if does_stranger_move else 26
            image[y + 14 : y + 26, left : left + 14] = other
        image = np.clip(image + rng.normal(scale=3.0, size=image.shape), 0, 255).astype(np.uint8)
        views.append(View("0", "front", t, image, True))
        truths.append(truth)
    return views, truths


def _overlaps(
    views: list[View], truths: list[np.ndarray], painted: dict[tuple[str, str, int], np.ndarray]
) -> np.ndarray:
    box = BoxPrompt("front", "0", 0, (9.0, 21.0, 29.0, 37.0))
    segmenter = ClassicalSegmenter(table_height_m=0.0, full_width={"front": _WIDTH})
    guesses = segmenter(views, Wanted("block", ObjectPrompt(boxes=(box,)), painted), lambda fraction: None)
    return np.array([(g.mask & t).sum() / (g.mask | t).sum() for g, t in zip(guesses, truths, strict=True)])


@pytest.mark.slow
@pytest.mark.parametrize("does_stranger_move", [True, False])
def test_one_painted_frame_mends_its_neighbours_and_leaves_far_frames_alone(does_stranger_move: bool) -> None:
    """With a stranger of equal colour at the object, masks hold both; painting one frame parts them on either side."""
    views, truths = _clip(does_stranger_move=does_stranger_move)
    before = _overlaps(views, truths, {})
    after = _overlaps(views, truths, {key_of(views[_PAINTED]): truths[_PAINTED]})
    near = [t for t in _WITH_STRANGER if t != _PAINTED]
    far = [t for t in range(_FRAMES) if t not in _WITH_STRANGER]
    assert np.median(before[near]) < 0.7
    assert np.median(after[near]) > 0.9
    assert (after[near] >= before[near] - 0.02).all()
    assert (after[far] >= before[far] - 0.02).all()
    assert after[_PAINTED] == 1.0


@pytest.mark.slow
def test_an_object_that_jumps_is_not_held_where_it_was_painted() -> None:
    """With seven pixels per frame nothing can be followed reliably, and a painted frame must not make others worse."""
    views, truths = _clip(px_per_frame=7.0)
    before = _overlaps(views, truths, {})
    after = _overlaps(views, truths, {key_of(views[_PAINTED]): truths[_PAINTED]})
    assert (after >= before - 0.05).all()


def test_a_mask_is_carried_with_the_picture_and_dropped_where_it_cannot_be_followed() -> None:
    """A picture that moves takes the mask along; against an unrelated picture nothing is claimed."""
    big = _texture(_HEIGHT + 8, _WIDTH + 8, (120, 130, 110), 5).astype(np.uint8)
    before, here = big[4:-4, 4:-4], big[2:-6, 1:-7]  # the picture moves by 3 px to the right and 2 px down
    mask = np.zeros((_HEIGHT, _WIDTH), dtype=bool)
    mask[20:40, 20:50] = True
    moved = carried(np.where(mask, 1.0, -1.0), before, here, is_fixed=False)
    true = np.roll(mask, (2, 3), (0, 1))
    inner = np.s_[6:-6, 6:-6]
    assert ((moved > 0) == true)[inner].mean() > 0.98
    assert np.abs(moved)[inner].mean() > 0.7
    unrelated = _texture(_HEIGHT, _WIDTH, (60, 160, 90), 6).astype(np.uint8)
    assert np.abs(carried(np.where(mask, 1.0, -1.0), before, unrelated, is_fixed=True)).mean() < 0.1


_CAMERA = Pinhole(_WIDTH, _HEIGHT, 70.0, 70.0, 40.0, 30.0)


def _placed(azimuth: float, *, is_sure: bool = False) -> Placed:
    """A view of the middle of a table from half a metre away."""
    eye = np.array([0.4 * np.cos(azimuth), 0.4 * np.sin(azimuth), 0.3])
    pose = SE3.look_at(eye, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    image = np.zeros((_HEIGHT, _WIDTH, 3), dtype=np.uint8)
    view = View("0", f"camera {azimuth}", 7, image, True, model=_CAMERA, T_world_camera=pose)
    return Placed(view, pose, is_sure=is_sure)


def test_nothing_of_the_body_is_left_that_a_painted_view_denies() -> None:
    """In a scan, one painted view takes a part off the body which every other view takes for object."""
    box = box_around(np.array([-0.06, -0.06, 0.0]), np.array([0.06, 0.06, 0.05]), 4000)
    points = box.centres().reshape(-1, 3)
    around = Body(points, np.ones(len(points)), box.voxel_m)
    others = [_placed(a) for a in (0.5, 2.0, 3.5, 5.0)]
    painted = _placed(0.0, is_sure=True)
    says = [np.full((_HEIGHT, _WIDTH), 5.0) for _ in others]
    half = np.arange(_WIDTH)[None, :] * np.ones((_HEIGHT, 1)) < 40
    whole = carve(others, says, around)
    part = carve([*others, painted], [*says, np.where(half, 5.0, -5.0)], around)
    columns, _, inside = pixel_of(part.points, painted)
    assert len(part.points) > 0.3 * len(whole.points)
    assert half[0, columns[inside]].all()
    columns, _, inside = pixel_of(whole.points, painted)
    assert not half[0, columns[inside]].all()


def test_what_is_painted_in_one_camera_bounds_the_masks_of_others_at_that_instant() -> None:
    """Of two things in another camera's mask, only the one along the painted rays is kept."""
    box = box_around(np.array([-0.2, -0.2, 0.0]), np.array([0.2, 0.2, 0.06]), 60_000)
    here, there = _placed(0.0), _placed(1.6)

    def disc(placed: Placed, spot: np.ndarray) -> np.ndarray:
        columns, rows, _ = pixel_of(spot[None], placed)
        y, x = np.mgrid[:_HEIGHT, :_WIDTH]
        return np.asarray(np.hypot(x - columns[0], y - rows[0]) < 4)

    thing, stranger = np.array([0.0, 0.05, 0.02]), np.array([0.0, -0.18, 0.02])
    both = [disc(p, thing) | disc(p, stranger) for p in (here, there)]
    follows = follows_elsewhere([here, there], {0: disc(here, thing)}, box, 0, both)
    assert set(follows) == {1}
    assert (follows[1] & disc(there, thing)).sum() > 0.9 * disc(there, thing).sum()
    assert not (follows[1] & disc(there, stranger) & ~disc(there, thing)).any()
