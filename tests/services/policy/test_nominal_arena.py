"""The nominal push scene: the fast one that policies train in pushes as the fine one does."""

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.services.policy.nominal_arena import even_belief, nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.planar_push import FAST, FINE, PushDetail, planar_push
from gemel.services.tasks import get_object


def _pushed(name: str, detail: PushDetail, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Ends (n, 3) x, y, yaw of straight pushes at 0.1 m/s along y, beside the middle by `offsets` [m]."""
    model = planar_push(get_object(name), detail)
    axis = "com_y" if name == "t_block" else "com_x"
    names = [f"object/{name}/{axis}", f"contact/{name}-table/friction", f"contact/{name}-pusher/friction"]
    simulator = SimulatorNative(model, len(values), threads=1)
    simulator.set_parameters(names, values)
    start = np.repeat(model.qpos0[None], len(values), axis=0)
    start[:, 7:] = np.column_stack([offsets, np.full(len(values), -0.12)])
    simulator.reset(start)
    every = round(0.1 / detail.step_s)
    ys = start[:, 8:9] + np.linspace(0.01, 0.2, 20)
    path = np.stack([np.repeat(start[:, 7:8], 20, axis=1), ys], axis=-1)
    end = simulator.rollout(path, every=every, is_ramp=True).qpos[:, -1]
    return np.column_stack([end[:, :2], 2.0 * np.arctan2(end[:, 6], end[:, 3])])


@pytest.mark.parametrize(("name", "low", "high"), [("t_block", -0.035, 0.075), ("hammer", 0.03, 0.09)])
def test_fast_pushes_end_where_fine_ones_do(name: str, low: float, high: float) -> None:
    """64 pushes of 10 to 20 cm: three quarters end within 4 mm and 3 degrees of the fine scene's, and to no side."""
    rng = np.random.default_rng(0)
    values = rng.uniform([low, 0.3, 0.2], [high, 0.6, 0.4], (64, 3))
    offsets = rng.uniform(-0.02, 0.02, 64) + (0.06 if name == "hammer" else 0.0)
    fine, fast = (_pushed(name, detail, values, offsets) for detail in (FINE, FAST))
    apart = fast - fine
    assert np.median(np.linalg.norm(fine[:, :2], axis=1)) > 0.05
    assert np.quantile(np.linalg.norm(apart[:, :2], axis=1), 0.75) < 0.004
    assert np.quantile(np.abs(apart[:, 2]), 0.75) < np.radians(3.0)
    standard = apart.std(axis=0, ddof=1) / 8.0
    assert np.all(np.abs(apart.mean(axis=0)) < 3.0 * standard + np.array([1e-3, 2e-3, np.radians(1.0)]))


@pytest.mark.parametrize("name", ["push-t", "push-hammer"])
def test_the_tip_follows_its_target_one_period_late(name: str) -> None:
    """Told to go at 0.2 m/s, the pusher is where it was told to be 0.1 s before."""
    arena = nominal_arena(name)
    ground = Playground(arena, SimulatorNative(arena.model, 1, threads=1), randomisation=Randomisation.none())
    ground.reset(np.zeros(1, dtype=int), {"tip/x": np.array([0.3]), "tip/y": np.array([0.34])})
    places = []
    for _ in range(8):
        ground.step(np.array([[0.02, 0.0]]))
        places.append(float(ground.readings()[0, 0]))
    late = 0.3 + 0.02 * (np.arange(8) + 1) - 0.2 * arena.delay_s
    np.testing.assert_allclose(places[2:], late[2:], atol=5e-4)


def test_other_tasks_and_impossible_ranges_are_refused() -> None:
    with pytest.raises(ConfigError, match="not a push"):
        nominal_arena("toss")
    with pytest.raises(ConfigError, match="from 2 to 1"):
        even_belief({"gravity/z": (2.0, 1.0)})
