"""The training benchmark compares what it says it compares."""

import numpy as np
import pytest

pytest.importorskip("rsl_rl", reason="needs the extra `train`")


def test_the_bare_engine_ends_where_the_simulator_does() -> None:
    """After each raced period of training, both have the same states."""
    from gemel.benchmarks.train import RacingNative
    from gemel.services.policy.nominal_arena import nominal_arena
    from gemel.services.policy.playground import Playground

    arena = nominal_arena()
    simulator = RacingNative(arena.model, 6)
    ground = Playground(arena, simulator, seed=3)
    ground.reset(np.arange(6))
    simulator.is_racing = True
    for period in range(25):
        values = ground.values()
        ground.step(0.2 * np.stack([values[f"object/{a}"] - values[f"tip/{a}"] for a in "xy"], axis=1))
        if period == 12:
            ground.reset(np.array([2]))
            continue
        np.testing.assert_array_equal(np.array(simulator._bare.bind("qpos")), simulator.qpos)
    assert 0.0 < simulator.raw_s < simulator.race_s


@pytest.mark.slow
def test_the_smoke_version_gives_all_figures() -> None:
    from gemel.benchmarks.train import bench_train

    figures, rows = bench_train(quick=True)
    assert {"steps_over_raw_cpu", "steps_per_s", "final_success"} <= set(figures)
    assert 0.0 < figures["steps_over_raw_cpu"] < 1.5
    assert np.isclose(sum(figures[f"part_{part}"] for part in ("simulator", "environment", "acting", "learning")), 1.0)
    assert len(rows) == 3
