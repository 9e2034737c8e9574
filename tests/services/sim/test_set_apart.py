"""An object that starts inside the tool is put beside it, and stays where it is."""

from typing import Any

import numpy as np

from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.set_apart import set_apart
from services.sim.made_scenes import pair, scene

_HALF_M, _RADIUS_M = 0.05, 0.01


def _pushed() -> Any:
    """A box on a table, and a tip on a slide beside it."""
    return scene(
        '<geom name="table" type="plane" size="5 5 0.1"/>'
        '<body name="block" pos="0 0 0.02" simple="false"><freejoint name="block"/>'
        f'<geom name="block" type="box" size="{_HALF_M} {_HALF_M} 0.02" mass="0.3"/></body>'
        '<body name="tip" pos="0 0 0.05"><joint name="tip" type="slide" axis="1 0 0"/>'
        f'<geom name="tip" type="cylinder" size="{_RADIUS_M} 0.04" mass="1"/></body>',
        pair("block", "table") + pair("block", "tip"),
        '<actuator><position joint="tip" kp="10000" kv="400"/></actuator>',
    )


def test_objects_leave_the_tool_and_stay() -> None:
    """By just the overlap, along the table; those that are clear of it do not move at all."""
    model = _pushed()
    deep, clear = _HALF_M + _RADIUS_M - 0.006, _HALF_M + _RADIUS_M + 0.001
    start = np.repeat(model.qpos0[None], 3, axis=0)
    start[:, 7] = [deep, clear, deep]
    apart = set_apart(model, start, ("block",))
    assert np.allclose(apart[[0, 2], 0], -0.006, atol=5e-5)
    assert np.array_equal(np.delete(apart, 0, axis=1), np.delete(start, 0, axis=1))
    assert np.array_equal(apart[1], start[1])
    for states, least, most in ((start, 0.005, np.inf), (apart, 0.0, 1e-4)):
        simulator = SimulatorNative(model, 3, threads=1)
        simulator.reset(states, commands=states[:, 7:])
        end = simulator.rollout(states[:, None, 7:], every=200).qpos[:, -1]
        assert least <= abs(end[0, 0] - states[0, 0]) <= most
