"""The baseline's schedule, start and growth: what can be checked without a GPU."""

from itertools import pairwise

import numpy as np
import torch  # noqa: TID253

from gemel.benchmarks.gsplat_default import Counts, growth_threshold, random_start, scene_size_m
from stages.reconstruct.made_views import blank_views


def test_counts_are_the_trainers_scaled() -> None:
    """At full length they are the trainer's own; at a quarter, a quarter of them."""
    assert Counts(30_000).strategy() == {
        "refine_start_iter": 500, "refine_stop_iter": 15_000, "reset_every": 3000, "refine_every": 100,
    }  # fmt: skip
    assert Counts(7500).strategy()["refine_every"] == 25
    assert [Counts(7500).degree(step) for step in (0, 250, 749, 750, 7499)] == [0, 1, 2, 3, 3]


def test_the_number_of_gaussians_grows_to_the_asked_one() -> None:
    """From half of it to all of it before growing ends, never beyond."""
    counts = Counts(7500)
    wanted = [counts.wanted(step, 20_000) for step in range(0, 3750, 25)]
    assert wanted[0] == 10_000
    assert wanted[-1] == 20_000
    assert all(b >= a for a, b in pairwise(wanted))


def test_no_more_gaussians_grow_than_there_is_room_for() -> None:
    """Exactly `room` gradients exceed the threshold; none without room, all with room for all."""
    gradients = torch.tensor(np.random.default_rng(0).random(100), dtype=torch.float32)
    for room in (1, 17, 99):
        assert int((gradients > growth_threshold(gradients, room)).sum()) == room
    assert not (gradients > growth_threshold(gradients, 0)).any()
    assert (gradients > growth_threshold(gradients, 100)).all()


def test_gaussians_start_inside_the_box_as_large_as_their_gaps() -> None:
    """Places fill the box; sizes are about the distance of neighbours; opacities a tenth."""
    low, high = np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 2.0])
    start = random_start(low, high, 1000, np.random.default_rng(0), device="cpu")
    means = start["means"].detach().numpy()
    assert np.all((means >= low) & (means <= high))
    gap = (2.0 / 1000) ** (1 / 3)
    assert 0.3 * gap < float(start["scales"].detach().exp().median()) < 1.5 * gap
    assert np.allclose(start["opacities"].sigmoid().detach().numpy(), 0.1)
    assert start["sh0"].shape == (1000, 1, 3)
    assert start["shN"].shape == (1000, 15, 3)


def test_the_scene_is_as_large_as_the_cameras_stand_apart() -> None:
    """Cameras on a circle of half a metre: a tenth more than its radius."""
    assert abs(scene_size_m(blank_views(8)) - 0.55) < 1e-9
