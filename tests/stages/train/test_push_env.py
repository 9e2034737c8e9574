"""What agents see: each its own kind of observation, with the errors it should have; ends, and worlds that break."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rsl_rl", reason="needs the extra `train`")

from gemel.services.policy.features import WIDTH
from gemel.stages.train.push_env import PushEnv
from gemel.stages.train.train import training_folder
from stages.train.made_training import ALL, WORLDS, small, training


def _env(tmp_path: Path, **options: object) -> PushEnv:
    return training(tmp_path, small(variants=ALL, **options)).env


def test_each_kind_is_told_what_it_should_be(tmp_path: Path) -> None:
    """True value and no doubt; a wrong value within its doubt; nothing; nothing with history."""
    env = _env(tmp_path)
    low, high = env.ranges[0]
    true = (env.true_values()[:, 0] - 0.5 * (low + high)) / (0.5 * (high - low))
    told = env.policy_view(0)[:, WIDTH:]
    np.testing.assert_allclose(told, np.column_stack([true[env.rows(0)], np.zeros(WORLDS)]), atol=1e-6)
    mean, sigma = env.policy_view(1)[:, WIDTH:].T
    off = mean - true[env.rows(1)]
    assert np.all((sigma > 0.0) & (sigma <= env.config.told_sigma / (0.5 * (high - low))))
    assert np.all(np.abs(off) < 5.0 * sigma)
    assert np.abs(off).max() > 1e-3
    assert env.policy_view(2).shape == (WORLDS, WIDTH)
    assert env.policy_view(3).shape == (WORLDS, 10 * WIDTH)


def test_some_episodes_start_anywhere_and_none_when_it_counts(tmp_path: Path) -> None:
    """In training the given share starts outside the task's ranges, tips clear of the object; final ones never."""
    env = _env(tmp_path, anywhere=0.5)
    ranges = env.ground.arena.task.initial_conditions

    def is_as_the_task_says() -> np.ndarray:
        values = env.ground.values()
        names = ("object/x", "object/y", "tip/x", "tip/y")
        return np.all([(ranges[n][0] - 1e-6 <= values[n]) & (values[n] <= ranges[n][1] + 1e-6) for n in names], axis=0)

    env.start([7])
    assert 0.25 < np.mean(~is_as_the_task_says()) < 0.75
    assert env.ground.values()["tip/distance"].min() > 0.1
    env.start([7], is_training=False)
    assert is_as_the_task_says().all()


def test_history_is_what_was_seen(tmp_path: Path) -> None:
    env = _env(tmp_path)
    env.start([1], is_training=False)
    seen = [env._features[env.rows(3)].copy()]
    for _ in range(3):
        env.step(np.zeros((env.count, 2)))
        seen.insert(0, env._features[env.rows(3)].copy())
    stacked = env.policy_view(3).reshape(WORLDS, 10, WIDTH)
    for age in range(4):
        np.testing.assert_array_equal(stacked[:, age], seen[age])
    np.testing.assert_array_equal(stacked[:, 9], seen[-1])


def test_poses_are_seen_through_a_tracker_and_tips_through_an_arm(tmp_path: Path) -> None:
    """Over many looks at things at rest, noise is white and of the size set; the tip's error stays as it is."""
    env = _env(tmp_path, pose_noise_m=0.002, pose_noise_rad=0.02)
    env.start([2], is_training=False)
    looks = []
    for _ in range(60):
        env._look(env.ground.values(), np.zeros(0, dtype=int))
        looks.append(env._features.copy())
    seen = np.stack(looks)
    assert np.isclose(seen[:, :, 0].std(axis=0).mean(), 0.002, rtol=0.1)
    yaw_error = np.arctan2(seen[:, :, 2], seen[:, :, 3])
    assert np.isclose(np.median(yaw_error.std(axis=0)), 0.02, rtol=0.1)
    tips = seen[:, :, :2] + seen[:, :, 4:6]
    assert tips.std(axis=0).max() < 1e-6
    offsets = env._worlds.offset
    assert np.isclose(offsets.std(), env.config.tip_offset_m, rtol=0.35)


def test_episodes_end_by_the_clock_and_only_whole_ones_count(tmp_path: Path) -> None:
    """Worlds that began in mid-episode end early and are not counted; the clock's ends are no failures."""
    env = _env(tmp_path)
    env.start([3])
    began = env.ground.steps.copy()
    still = np.zeros((env.count, 2))
    over = np.zeros(env.count, dtype=int)
    for _ in range(120):
        step = env.step(still)
        assert not np.any(step.is_counted & ~step.is_over)
        over += step.is_over
        if step.is_over.any():
            assert np.all(step.is_out_of_time[step.is_over])
    assert np.all(over[began > 0] >= 1)
    np.testing.assert_array_equal(env.ground.steps, began)


def test_a_broken_world_is_recorded_reset_and_counted(tmp_path: Path) -> None:
    """Numbers that are not finite in one world: the batch stays finite, the others go on, and the record is there."""
    env = _env(tmp_path)
    env.start([4], is_training=False)
    env.step(np.zeros((env.count, 2)))
    env.ground.simulator._batch.bind("qvel")[5] = np.nan  # type: ignore[attr-defined]
    step = env.step(np.zeros((env.count, 2)))
    assert env.diverged == 1
    assert np.flatnonzero(step.is_over).tolist() == [5]
    assert not step.is_out_of_time.any()
    assert not step.is_success[5]
    assert np.isfinite(step.rewards).all()
    assert np.flatnonzero(np.isinf(step.errors[:, 0])).tolist() == [5]
    for agent in range(4):
        assert np.isfinite(env.policy_view(agent)).all()
        assert np.isfinite(env.critic_view(agent)).all()
    assert env.ground.steps[5] == 0
    assert (np.delete(env.ground.steps, 5) == 2).all()
    (dump,) = (training_folder(tmp_path, env.agents) / "flight").iterdir()
    assert json.loads((dump / "parameters.json").read_text())["simulation"] == 5
    assert not env.step(np.zeros((env.count, 2))).is_over.any()
