"""Control by imagined strokes: it chooses what the belief says is good, stays in reach, and brings the block nearer."""

import numpy as np
import pytest

from gemel.services.policy.estimator import Fixed
from gemel.services.policy.mpc import MpcConfig, StrokeControl
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.native import SimulatorNative
from gemel.services.tasks import get_object

OUTLINE = Outline.of(get_object("t_block"), 0.010)
COM = "object/t_block/com_y"


def _control(**settings: int) -> StrokeControl:
    known = Fixed((COM,), np.array([0.032]), np.array([0.005]))
    return StrokeControl(nominal_arena(), OUTLINE, known, MpcConfig(candidates=24, draws=2, **settings))


def test_where_the_block_is_right_nothing_moves() -> None:
    """No plan is made and the tip stays."""
    control = _control()
    pose, tip = np.array([[0.47, -0.12, 0.0]]), np.array([[0.40, 0.32]])
    for _ in range(3):
        np.testing.assert_array_equal(control.act(pose, tip), 0.0)
    assert control.plans == 0


@pytest.mark.slow
def test_strokes_bring_the_block_nearer() -> None:
    """In the nominal scene, from three starts: steps within bounds, and the block ends nearer in place and turn."""
    arena = nominal_arena()
    nearer = []
    for number in range(3):
        ground = Playground(arena, SimulatorNative(arena.model, 1, threads=1), randomisation=Randomisation.none())
        given = {"object/x": 0.42, "object/y": 0.08, "object/yaw": 0.9 - 0.6 * number, "tip/x": 0.40, "tip/y": 0.32}
        ground.reset(np.zeros(1, dtype=np.int64), {name: np.array([value]) for name, value in given.items()})
        control, costs = _control(seed=number), []
        for _ in range(100):
            values = ground.values()
            pose = np.column_stack([values["object/x"], values["object/y"], values["object/yaw"]])
            costs.append(float(values["object/position_error"][0] + 0.08 * values["object/yaw_error"][0]))
            action = control.act(pose, np.column_stack([values["tip/x"], values["tip/y"]]))
            assert np.abs(action).max() <= 0.02 + 1e-12
            ground.step(action)
        nearer.append(costs[-1] / costs[0])
        assert control.plans >= 2
    assert np.mean(nearer) < 0.6
