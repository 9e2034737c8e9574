"""One push without feedback: 10 cm straight through where the centre of mass is believed to be, at 2 cm/s.

If the belief is right the block does not turn. This is why the centre of mass matters, without any policy.
"""

from dataclasses import replace

import numpy as np

from gemel.benchmarks.adapt.cells import TOP
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.planar_push import FINE, PUSHER_RADIUS_M
from gemel.services.tasks import get_object

_TRUTHS_M = (-0.007, 0.02, 0.04, 0.061)
_AIMS_M = (-0.007, 0.008, 0.02, 0.04, 0.061)
_FRICTIONS = (0.3, 0.5, 0.7)
_STEP_M, _LENGTH_M, _GAP_M = 0.002, 0.10, 0.004


def one_shot_rows() -> list[dict[str, object]]:
    """Final yaw [deg] by truth and aim, the mean over the table's friction."""
    yaw = one_shot_yaw_deg()
    return [
        {"cell": "one-shot", "variant": f"truth {100 * truth:+.1f} cm"}
        | {f"aim {100 * aim:+.1f}": round(float(yaw[i, j]), 1) for j, aim in enumerate(_AIMS_M)}
        for i, truth in enumerate(_TRUTHS_M)
    ]


def one_shot_yaw_deg() -> np.ndarray:
    """Mean yaw [deg] after the push, (truth, aim)."""
    names = (TOP.parameter, "contact/t_block-table/friction")
    grid = [(t, a, mu) for t in _TRUTHS_M for a in _AIMS_M for mu in _FRICTIONS]
    arena = replace(nominal_arena("push-t", FINE), belief=None, delay_s=0.0)
    simulator = SimulatorNative(arena.model, len(grid), threads=0)
    ground = Playground(arena, simulator, randomisation=Randomisation.none())
    x, y, _ = arena.T_world_rest.translation
    aims = np.array([aim for _, aim, _ in grid])
    start = -_reach(aims) - PUSHER_RADIUS_M - _GAP_M
    given = {"object/x": x, "object/y": y, "object/yaw": 0.0}
    ground.reset(np.arange(len(grid)), {
        **{name: np.full(len(grid), value) for name, value in given.items()}, "tip/x": x + start, "tip/y": y + aims,
    })  # fmt: skip
    fixed = dict(arena.fixed)
    values = np.column_stack([np.array([(t, mu) for t, _, mu in grid]), np.tile([*fixed.values()], (len(grid), 1))])
    simulator.set_parameters([*names, *fixed], values)
    for _ in range(round((_LENGTH_M + _GAP_M) / _STEP_M)):
        ground.step(np.tile([_STEP_M, 0.0], (len(grid), 1)))
    yaw = np.degrees(ground.values()["object/yaw"])
    return yaw.reshape(len(_TRUTHS_M), len(_AIMS_M), len(_FRICTIONS)).mean(axis=2)


def _reach(aims: np.ndarray) -> np.ndarray:
    """How far the outline reaches towards -x at these heights [m]."""
    rectangles = Outline.of(get_object("t_block"), PUSHER_RADIUS_M).rectangles
    covers = np.abs(aims[:, None] - rectangles[:, 1]) <= rectangles[:, 3] + PUSHER_RADIUS_M
    return np.where(covers, rectangles[:, 2] - rectangles[:, 0], 0.0).max(axis=1)
