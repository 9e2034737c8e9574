"""The rollout benchmark compares what it says it compares."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra `gym`")


@pytest.mark.parametrize("is_arm", [False, True])
def test_the_bare_engine_repeats_the_environment(is_arm: bool, tmp_path: Path) -> None:
    """Same states, parameters and commands: after a run, bare MuJoCo stands where the environment's does."""
    from mujoco import batch

    from gemel.benchmarks import rollout
    from gemel.services.policy.nominal_arena import nominal_arena
    from gemel.services.policy.playground import Playground
    from gemel.services.sim.planar_push import FINE

    arena = rollout.arm_arena(tmp_path / "store") if is_arm else nominal_arena(detail=FINE)
    simulator = rollout._simulator("cpu", arena.model, 4)
    env = rollout._vector_env(Playground(arena, simulator))
    record = rollout._recorded(env, simulator, 12, 0)
    assert record.moved > 0.0
    bare = batch.Batch(arena.model, 4, 1)
    for name, values in record.fields.items():
        bare.expand(name)[...] = values
    bare.bind("qpos")[...], bare.bind("ctrl")[...] = record.qpos, record.held
    for commands in record.commands:
        bare.rollout(commands.shape[1], commands, record=())
    np.testing.assert_array_equal(np.array(bare.bind("qpos")), env.ground.qpos)


@pytest.mark.slow
def test_the_smoke_version_gives_all_figures() -> None:
    from gemel.benchmarks.rollout import ARM, SLIDES, bench_rollout

    figures, rows = bench_rollout(quick=True)
    wanted = {"env_over_raw_cpu", "steps_per_s_cpu", "memory_kb_per_world_cpu", "frames_per_s_cpu"}
    wanted |= {"env_over_raw_cpu_arm", "steps_per_s_cpu_arm"}
    assert wanted <= set(figures)
    assert all(np.isfinite(value) and value >= 0.0 for value in figures.values())
    assert [row["robot"] for row in rows[:2]] == [SLIDES, ARM]
