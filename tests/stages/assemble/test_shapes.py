"""Convex pieces, their distance from what is seen, and bottoms to stand on."""

import itertools

import numpy as np
import pytest

from gemel.geometry import SE3, SO3, box_mesh, cylinder_mesh, icosphere_mesh, merge_meshes
from gemel.services.tasks import get_object
from gemel.services.tasks.box_union import Box, box_union_mesh
from gemel.stages.assemble.collider_gap import largest_gap
from gemel.stages.assemble.convex import _simplified, convex_pieces
from gemel.stages.assemble.hull import hull_corners, hull_mesh, is_inside
from gemel.stages.assemble.resting import lowest, with_flat_bottom


def _cut(
    vertices: np.ndarray, faces: np.ndarray, *, face_count: int = 2000, convex_gap_m: float = 0.002
) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return convex_pieces(vertices, faces, concavity=0.05, convex_gap_m=convex_gap_m, face_count=face_count, rng=rng)


def test_gap_of_an_angle_is_the_depth_of_its_corner() -> None:
    """The hull of an angle of 2 x 2 with arms of width 1 passes its inner corner at 1/√2."""
    boxes = (Box((1.0, 0.5, 0.0), (2.0, 1.0, 4.0)), Box((0.5, 1.0, 0.0), (1.0, 2.0, 4.0)))
    vertices, faces = box_union_mesh(boxes)
    gap = largest_gap(vertices, faces, (hull_corners(vertices),), np.random.default_rng(0))
    assert gap == pytest.approx(np.sqrt(0.5), rel=0.03)


def test_gap_of_exact_pieces_is_nothing() -> None:
    """Where pieces meet is inside: only the outside of all of them counts."""
    model = get_object("t_block")
    pieces = tuple(box_mesh(box.size)[0] + np.array(box.centre) for box in model.collision)
    assert largest_gap(model.vertices, model.faces, pieces, np.random.default_rng(0)) < 1e-9


def test_what_is_convex_stays_whole() -> None:
    """A box, and a box with the noise of a reconstruction, are one piece."""
    vertices, faces = box_mesh((0.1, 0.08, 0.05))
    assert len(_cut(vertices, faces)) == 1
    noisy = vertices + np.random.default_rng(1).uniform(-1e-3, 1e-3, vertices.shape)
    assert len(_cut(noisy, faces)) == 1


def test_what_is_not_convex_is_cut() -> None:
    """The T-block comes apart into few pieces that are close to it, always the same."""
    model = get_object("t_block")
    pieces = _cut(model.vertices, model.faces)
    assert 2 <= len(pieces) <= 4
    assert largest_gap(model.vertices, model.faces, pieces, np.random.default_rng(0)) < 0.002
    for first, second in zip(pieces, _cut(model.vertices, model.faces), strict=True):
        np.testing.assert_array_equal(first, second)


def test_fine_meshes_are_simplified_first() -> None:
    """A mesh of 20 thousand faces is cut within seconds and still close."""
    shell, faces = icosphere_mesh(0.05, 5)
    bent = shell + np.stack([np.zeros(len(shell)), 20.0 * shell[:, 0] ** 2, np.zeros(len(shell))], axis=1)
    pieces = _cut(bent, faces, face_count=1000)
    assert len(faces) > 20000
    assert 2 <= len(pieces) <= 12
    assert largest_gap(bent, faces, pieces, np.random.default_rng(0)) < 0.006


def test_simplifying_keeps_thin_walls() -> None:
    """A mug of 28 thousand faces has its volume and its hollow afterwards."""
    from gemel.geometry import is_watertight, volume

    mug = get_object("mug")
    vertices, faces = _simplified(mug.vertices, mug.faces, 2000)
    assert len(faces) < 0.3 * len(mug.faces)
    assert is_watertight(vertices, faces)
    assert volume(vertices, faces) == pytest.approx(volume(mug.vertices, mug.faces), rel=0.02)


def test_hull_faces_look_outwards() -> None:
    """A hull's mesh encloses a positive volume, and points are inside or not."""
    from gemel.geometry import is_watertight, volume

    corners = np.random.default_rng(0).normal(size=(50, 3))
    mesh = hull_mesh(corners)
    assert is_watertight(*mesh)
    assert volume(*mesh) > 0.0
    assert is_inside(np.array([corners.mean(axis=0), [9.0, 9.0, 9.0]]), corners).tolist() == [True, False]


def test_noisy_bottoms_become_flat() -> None:
    """Bottom corners within the noise share one plane, whichever way the object is turned; the others stay."""
    rng = np.random.default_rng(0)
    vertices = np.concatenate([box_mesh((0.1, 0.08, 0.05))[0], [[0.0, 0.0, -0.0249]]])
    noisy = vertices + np.array([0.0, 0.0, 1.0]) * rng.uniform(0.0, 1e-3, (len(vertices), 1))
    pose = SE3(SO3.exp(np.array([0.0, 0.0, 0.7])), np.array([0.3, 0.1, 0.2]))
    (flat,) = with_flat_bottom((noisy,), pose, 0.0015)
    heights = (pose @ flat)[:, 2]
    low = heights < heights.min() + 0.01
    assert np.ptp(heights[low]) < 1e-12
    assert low.sum() >= 4
    assert lowest((flat,), pose) == pytest.approx(lowest((noisy,), pose))
    top = noisy[noisy[:, 2] > 0.0]
    assert all(np.abs(flat - corner).sum(axis=1).min() < 1e-12 for corner in top)


def test_thin_pieces_keep_their_thickness() -> None:
    """A card, a flange under a block and a wedge thinner than the noise: bottoms are flat, tops stay where they are."""

    def box(low: tuple[float, ...], high: tuple[float, ...]) -> np.ndarray:
        return np.array(list(itertools.product(*zip(low, high, strict=True))))

    flange, block = box((0, 0, 0), (0.1, 0.1, 0.001)), box((0.03, 0.03, 0), (0.07, 0.07, 0.05))
    for pieces in ((box((0, 0, 0), (0.08, 0.05, 0.001)),), (flange, block)):
        for before, after in zip(pieces, with_flat_bottom(pieces, SE3.identity(), 0.0015), strict=True):
            assert {tuple(p) for p in after.tolist()} == {tuple(p) for p in before.tolist()}
    rough = flange + np.array([[0.0, 0.0, 0.0002]]) * (np.arange(8) == 2)[:, None]
    (flat,) = with_flat_bottom((rough,), SE3.identity(), 0.0015)
    assert sorted(flat[:, 2].tolist()) == [0.0] * 4 + [0.001] * 4


def test_a_piece_that_would_lose_its_volume_stays_as_it_is() -> None:
    """A spike beside the block: with its three low corners in one plane, they would be in one line."""
    block = box_mesh((0.1, 0.08, 0.05))[0] + [0.0, 0.0, 0.025]
    spike = np.array([[0.1, 0.0, 0.0], [0.2, 0.0, 0.001], [0.15, 0.0, 0.0], [0.15, 0.02, 0.05]])
    _, same = with_flat_bottom((block, spike), SE3.identity(), 0.0015)
    np.testing.assert_array_equal(same, spike)


@pytest.mark.parametrize("shape", ["ball", "lying cylinder"])
def test_round_bottoms_stay_round(shape: str) -> None:
    """What rolls keeps rolling."""
    vertices = icosphere_mesh(0.04, 3)[0] if shape == "ball" else cylinder_mesh(0.04, 0.1, 64)[0][:, [2, 1, 0]]
    (same,) = with_flat_bottom((vertices,), SE3.identity(), 0.0015)
    np.testing.assert_array_equal(same, vertices)


@pytest.mark.parametrize("seed", range(3))
def test_a_needle_is_never_missed(seed: int) -> None:
    """All corners are looked at: the stated gap of a ball with a needle of 30 mm is the needle's, whatever the seed."""
    ball, faces = icosphere_mesh(0.05, 4)
    needle = ball.copy()
    needle[0] *= 1.6
    for seen, pieces in ((needle, hull_corners(ball)), (ball, hull_corners(needle))):
        gap = largest_gap(seen, faces, (pieces,), np.random.default_rng(seed))
        assert gap == pytest.approx(0.03, abs=0.0005)


def test_cuts_through_the_solid_are_no_surface() -> None:
    """A box of two halves with a hollow at their cut: the nearest surface of the pieces is outside, not the cut."""
    vertices, faces = box_mesh((0.2, 0.04, 0.04))
    left, right = (vertices * [0.5, 1.0, 1.0] + [x, 0.0, 0.0] for x in (-0.05, 0.05))
    rng = np.random.default_rng(0)
    assert largest_gap(vertices, faces, (left, right), rng) < 1e-9
    hollow, hollow_faces = merge_meshes([(vertices, faces), (0.05 * vertices, faces[:, ::-1])])
    assert largest_gap(hollow, hollow_faces, (left, right), rng) > 0.018


def test_a_fine_ball_is_one_piece_with_few_corners() -> None:
    """Twenty thousand faces need no ten thousand corners, as long as the surface is within the gap."""
    ball, faces = icosphere_mesh(0.05, 5)
    (piece,) = _cut(ball, faces)
    assert len(piece) <= 128
    assert largest_gap(ball, faces, (piece,), np.random.default_rng(0)) < 0.002
    (fine,) = _cut(ball, faces, convex_gap_m=0.0005)
    assert 128 < len(fine) <= 1024
    assert largest_gap(ball, faces, (fine,), np.random.default_rng(0)) < 0.0005
