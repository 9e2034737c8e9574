"""Suggestions are those that an exact calculation would make."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.services.inference import flat_belief
from gemel.stages.identify.push_scene import outline_of, push_scene
from gemel.stages.identify.suggest import pushes_around, suggest
from gemel.store.store import Store
from services.sim.made_twin import block_twin


def test_greedy_choice_of_a_linear_world() -> None:
    """The most telling experiment first; then the one about the other parameter, not the first one's copy."""
    rng = np.random.default_rng(0)
    parameters = tuple(Parameter(n, "", -9.0, 9.0, "linear", ValueSource.RANDOMISED) for n in "ab")
    belief = Belief(parameters, rng.standard_normal((4000, 2)), np.full(4000, 1 / 4000))
    slopes = [np.array([0.1, 0.0]), np.array([5.0, 0.0]), np.array([4.9, 0.0]), np.array([0.0, 3.0])]
    outcomes = [lambda draws, slope=slope: draws @ slope[:, None] for slope in slopes]
    found = suggest(belief, outcomes, 3, rng, draws=400)
    assert [s.index for s in found][:2] == [1, 3]
    assert found[0].gain_nats == pytest.approx(0.5 * np.log(1.0 + 25.0), rel=0.05)
    assert found[2].gain_nats < 0.5


def test_pushes_start_outside_and_go_inwards() -> None:
    """Every candidate starts clear of the object and moves towards it."""
    outline = np.array([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]])
    pushes = pushes_around(outline, tip_radius_m=0.01)
    starts = np.array([p.start for p in pushes])
    assert np.linalg.norm(starts, axis=1).min() > 0.14
    towards = np.array([[np.cos(p.direction_rad), np.sin(p.direction_rad)] for p in pushes])
    assert np.all(np.sum(starts * towards, axis=1) < 0.0)
    assert "push" in pushes[0].words


@pytest.mark.slow
def test_pushes_of_a_twin_tell_about_its_centre_of_mass(tmp_path: Path) -> None:
    """In simulation, the chosen pushes tell more about the centre of mass than an average push does."""
    store = Store(tmp_path / "store")
    made = block_twin(store, {})
    prior = flat_belief((Parameter("object/t_block/com_y", "m", -0.035, 0.075, "linear", ValueSource.RANDOMISED),))
    twin = replace(made, belief=prior)
    scene = push_scene(twin, "t_block", store)
    pushes = pushes_around(outline_of(twin, "t_block", store), tip_radius_m=0.01, sides=4)
    outcomes = [scene.outcome(push) for push in pushes]
    best = suggest(prior, outcomes, 1, np.random.default_rng(1), draws=8)[0]
    gains = [suggest(prior, [o], 1, np.random.default_rng(1), draws=8)[0].gain_nats for o in outcomes]
    assert best.gain_nats == pytest.approx(max(gains))
    assert best.gain_nats > 1.3 * np.mean(gains)
