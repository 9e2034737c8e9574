"""Control by imagined strokes: plans are put together rightly, ways are clear, and the block gets to its goal."""

import itertools

import numpy as np
import pytest

from gemel.services.policy.estimator import Fixed
from gemel.services.policy.mpc import StrokeControl
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.outcome import wrapped
from gemel.services.policy.playground import Playground
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.stroke_kernel import plan_costs
from gemel.services.policy.stroke_library import LENGTHS_M, Ring, Strokes
from gemel.services.policy.stroke_plans import MpcConfig, composed
from gemel.services.sim.native import SimulatorNative
from gemel.services.tasks import get_object, get_task

OUTLINE = Outline.of(get_object("t_block"), 0.010)
COM = "object/t_block/com_y"


def _control(**settings: int) -> StrokeControl:
    known = Fixed((COM,), np.array([0.032]), np.array([0.005]))
    return StrokeControl(get_task("push-t"), known, MpcConfig(strokes=150, beam=48, **settings))


def test_where_the_block_is_right_nothing_moves() -> None:
    """No plan is made and the tip stays."""
    control = _control()
    pose, tip = np.array([[0.47, -0.12, 0.0]]), np.array([[0.40, 0.32]])
    for _ in range(3):
        np.testing.assert_array_equal(control.act(pose, tip), 0.0)
    assert control.plans == 0


def test_plans_are_put_together_from_strokes_that_were_imagined_once() -> None:
    """Two strokes one after the other, simulated where the object lies, end where their motions put it; the cost says
    how far that is from the goal."""
    rng = np.random.default_rng(1)
    strokes, physics = Strokes.around(OUTLINE, 40, rng), np.array([0.0, 0.04, 0.2, 1.0, 0.006])
    motions = strokes.motions(OUTLINE, physics)[:, -1]
    goal, reach = np.array([0.47, -0.12, 0.0]), np.array([-9.0, -9.0, 9.0, 9.0])
    pose = np.array([[0.40, 0.05, 0.8]])
    for k in range(10):
        first, second = (composed(pose, motions[k : k + 1]), motions[k + 20 : k + 21])
        ends = composed(first, second)
        moved = first.copy()
        c, s = np.cos(first[0, 2]), np.sin(first[0, 2])
        R = np.array([[c, -s], [s, c]])
        lengths = np.concatenate([[0.0], LENGTHS_M])
        for before, after in itertools.pairwise(lengths):
            places = [first[:, :2] + (strokes.starts[k + 20] + m * strokes.ways[k + 20]) @ R.T for m in (before, after)]
            moved, _ = OUTLINE.pushed(moved, places[0], places[1], physics[None])
        np.testing.assert_allclose(moved, ends, atol=1e-9)
        row = np.concatenate([second[0], np.zeros(7)])[None]
        costs = plan_costs(first, np.zeros((1, 3)), np.zeros(1), row, goal, reach, np.array([0.1, 0.0, 1.0, 0.2, 9.0]))
        off = ends[0] - goal
        assert costs[0, 0] == pytest.approx(np.hypot(off[0], off[1]) + 0.1 * abs(wrapped(off[2:])[0]))


def test_the_way_round_is_clear_and_the_shorter_one() -> None:
    """Between any two places on it, at least 4 mm from the block, and never longer than half of it."""
    ring = Ring.of(OUTLINE)
    assert OUTLINE.clearance_m(ring.places).min() > 0.004
    rng = np.random.default_rng(2)
    for first, last in rng.uniform(-0.15, 0.15, (30, 2, 2)):
        way = ring.between(first, last)
        steps = np.linalg.norm(np.diff(way, axis=0), axis=1)
        assert steps.sum() <= 0.5 * ring.length_m + 1e-9
        middles = 0.5 * (way[1:] + way[:-1])
        assert len(way) == 1 or OUTLINE.clearance_m(middles).min() > 0.004


@pytest.mark.slow
def test_strokes_bring_the_block_to_its_goal() -> None:
    """In the nominal scene, from three starts, in ten seconds: steps within bounds, and the block ends within 3 cm and
    20 degrees of its goal."""
    arena = nominal_arena()
    for number in range(3):
        ground = Playground(arena, SimulatorNative(arena.model, 1, threads=1), randomisation=Randomisation.none())
        given = {"object/x": 0.42, "object/y": 0.08, "object/yaw": 0.9 - 0.6 * number, "tip/x": 0.40, "tip/y": 0.32}
        ground.reset(np.zeros(1, dtype=np.int64), {name: np.array([value]) for name, value in given.items()})
        control = _control(seed=number)
        for _ in range(100):
            values = ground.values()
            pose = np.column_stack([values["object/x"], values["object/y"], values["object/yaw"]])
            action = control.act(pose, np.column_stack([values["tip/x"], values["tip/y"]]))
            assert np.abs(action).max() <= 0.02 + 1e-12
            ground.step(action)
        values = ground.values()
        assert values["object/position_error"][0] < 0.03
        assert np.degrees(values["object/yaw_error"][0]) < 20.0
