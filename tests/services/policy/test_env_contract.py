"""What gymnasium's users rely on: seeds, rendering, ends of episodes, and refusals that do no harm."""

from typing import Any

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.twin_cameras import TwinCameras
from gemel.services.render.renderer import make_renderer
from gemel.services.render.twin_view import TwinView
from gemel.services.sim.native import SimulatorNative

gym = pytest.importorskip("gymnasium", reason="needs the extra `gym`")
ARENA = nominal_arena()
GOAL = {"object/x": ARENA.task.goal["object/x"], "object/y": ARENA.task.goal["object/y"], "object/yaw": 0.0}
AWAY = {"object/x": 0.4, "object/y": 0.1, "object/yaw": 0.0, "tip/x": 0.4, "tip/y": 0.32}


def ground(count: int, *, has_camera: bool = False, **options: Any) -> Playground:
    from gemel.benchmarks.rollout_scene import nominal_looks

    cameras = None
    if has_camera:
        view = TwinView(nominal_looks(), TwinCameras.links_of(ARENA.model, ("t_block",)), renderer=make_renderer("cpu"))
        cameras = TwinCameras(view, ("front",), ARENA.model, ARENA.task.control_period_s)
    return Playground(ARENA, SimulatorNative(ARENA.model, count, threads=1), cameras=cameras, **options)


def single(*, render_mode: str | None = None, **options: Any) -> Any:
    from gemel.services.policy.twin_env import TwinEnv

    return TwinEnv(ground(1, **options), render_mode=render_mode)


def vector(count: int, *, render_mode: str | None = None, **options: Any) -> Any:
    from gemel.services.policy.twin_vector_env import TwinVectorEnv

    return TwinVectorEnv(ground(count, **options), render_mode=render_mode)


@pytest.mark.parametrize("make", [single, lambda **options: vector(2, **options)])
def test_the_seed_of_an_environment_counts(make: Any) -> None:
    """Without a seed of its own a reset goes on with the environment's; a seed given to both is the same seed."""
    first, again, other = (make(seed=seed).reset()[0] for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert np.all(first != other)
    np.testing.assert_array_equal(make(seed=8).reset(seed=7)[0], first)
    assert np.all(make(seed=None).reset()[0] != make(seed=None).reset()[0])


def test_every_seed_of_a_list_counts() -> None:
    env = vector(2)
    first, again, other = (env.reset(seed=seeds)[0] for seeds in ([1, 2], [1, 2], [1, 3]))
    np.testing.assert_array_equal(first, again)
    assert np.all(first != other)


@pytest.mark.parametrize("seeds", [[1], [1, None], [1, -2]])
def test_a_list_that_is_no_seeds_is_refused(seeds: Any) -> None:
    with pytest.raises(ConfigError, match="2 whole numbers from 0 on"):
        vector(2).reset(seed=seeds)


def test_rendering_shows_what_was_observed_and_changes_nothing() -> None:
    """The same noise as in the observation, however often; and the episode goes on as if nobody had looked."""
    looked, blind = (single(has_camera=True, render_mode="rgb_array") for _ in range(2))
    seen = looked.reset(seed=3)[0]
    blind.reset(seed=3)
    np.testing.assert_array_equal(looked.render(), seen["front"])
    np.testing.assert_array_equal(looked.render(), seen["front"])
    seen, unseen = looked.step(np.zeros(2))[0], blind.step(np.zeros(2))[0]
    for name in seen:
        np.testing.assert_array_equal(seen[name], unseen[name])
    np.testing.assert_array_equal(looked.render(), seen["front"])


def test_a_vector_is_rendered_as_one_frame_for_each() -> None:
    env = vector(2, has_camera=True, render_mode="rgb_array")
    assert env.metadata["render_modes"] == ["rgb_array"]
    assert env.metadata["render_fps"] == 10
    assert env.metadata["autoreset_mode"] is gym.vector.AutoresetMode.SAME_STEP
    with pytest.raises(ConfigError, match="call `reset`"):
        env.render()
    seen, _ = env.reset(seed=0)
    frames = env.render()
    assert isinstance(frames, tuple)
    np.testing.assert_array_equal(np.stack(frames), seen["front"])
    with pytest.raises(ConfigError, match="render_mode is 'rgb_array'"):
        vector(2, render_mode="rgb_array")


def _same(first: Any, second: Any) -> None:
    """Infos, whatever they are made of."""
    assert type(first) is type(second)
    if isinstance(first, dict):
        assert sorted(first) == sorted(second)
        for name in first:
            _same(first[name], second[name])
    elif isinstance(first, np.ndarray) and first.dtype == object:
        assert first.shape == second.shape
        for one, other in zip(first, second, strict=True):
            _same(one, other)
    elif first is not None:
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)


def test_ends_of_episodes_are_told_as_gymnasium_tells_them() -> None:
    """Beside `SyncVectorEnv` of three single environments: final observations and infos, masks, types, absences."""
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    plain = Randomisation.none()
    theirs = SyncVectorEnv([lambda: single(randomisation=plain)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    ours = vector(3, randomisation=plain)
    _same(ours.reset(seed=0)[1], theirs.reset(seed=0)[1])
    starts = [AWAY, AWAY | GOAL, AWAY]
    for env, start in zip(theirs.envs, starts, strict=True):
        env.reset(options=start)
    ours.reset(options={name: np.array([start[name] for start in starts]) for name in AWAY})
    for _ in range(2):  # the second step has no end in it
        actions = np.zeros((3, 2), dtype=np.float32)
        (seen, *mine, infos), (theirs_seen, *others, their_infos) = ours.step(actions), theirs.step(actions)
        _same(infos, their_infos)
        np.testing.assert_array_equal(mine[1:], others[1:])
        for one, other in ((mine[0], others[0]), (seen, theirs_seen)):  # the new episode is drawn by other generators
            np.testing.assert_array_equal(one[[0, 2]], other[[0, 2]])
    assert "final_info" not in infos


@pytest.mark.parametrize(("env", "action"), [(single(), np.zeros(2)), (vector(2), np.zeros((2, 2)))])
def test_a_step_before_the_first_reset_is_refused_and_does_no_harm(env: Any, action: np.ndarray) -> None:
    before = env.ground.qpos.copy()
    with pytest.raises(ConfigError, match="call `reset`"):
        env.step(action)
    np.testing.assert_array_equal(env.ground.qpos, before)
    assert env.ground.steps.tolist() == [0] * env.ground.count


def test_all_simulations_have_to_begin_before_the_first_step() -> None:
    env = vector(3)
    env.reset(seed=0, options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(ConfigError, match="1 of 3 simulations have no episode yet, the first is 1"):
        env.step(np.zeros((3, 2)))


def test_rewards_are_of_actions_as_they_are_carried_out() -> None:
    """What is clipped costs no more than the largest action."""
    env, results = single(randomisation=Randomisation.none()), []
    for action in (0.02, 5.0):
        env.reset(seed=0, options=AWAY)
        results.append(env.step(np.full(2, action))[:2])
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize("value", [np.nan, np.inf, "left", None, [0.4, 0.5], {}])
def test_starts_that_are_no_finite_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="object/x at the start is"):
        single().reset(options={"object/x": value})
    with pytest.raises(ConfigError, match="object/x at the start is"):
        vector(3).reset(options={"object/x": value})


@pytest.mark.parametrize("mask", [np.ones(2, bool), np.ones(3), np.zeros(3, bool)])
def test_masks_that_choose_nothing_are_refused(mask: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="3 booleans, at least one of them true"):
        vector(3).reset(options={"reset_mask": mask})
