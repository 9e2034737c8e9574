"""Environments: gymnasium's own checks, one simulation against many, resets one by one, randomisation."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.errors import ConfigError
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.twin_cameras import TwinCameras
from gemel.services.render.renderer import make_renderer
from gemel.services.render.twin_view import TwinView
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.planar_push import FINE

gym = pytest.importorskip("gymnasium", reason="needs the extra `gym`")
ARENA = nominal_arena(detail=FINE)


START = {"object/x": 0.44, "object/y": 0.16, "object/yaw": 0.0, "tip/x": 0.44, "tip/y": 0.32}


def ground(
    count: int, *, has_camera: bool = False, randomisation: Randomisation | None = None, time_offset_s: float = 0.0
) -> Playground:
    cameras = None
    if has_camera:
        looks = nominal_looks()
        looks = replace(looks, cameras=(replace(looks.cameras[0], time_offset_s=time_offset_s),))
        view = TwinView(looks, TwinCameras.links_of(ARENA.model, ("t_block",)), renderer=make_renderer("cpu"))
        cameras = TwinCameras(view, ("front",), ARENA.model, ARENA.task.control_period_s)
    simulator = SimulatorNative(ARENA.model, count, threads=1)
    return Playground(ARENA, simulator, randomisation=randomisation, cameras=cameras)


def frames(ground: Playground) -> Any:
    """What the front cameras of all simulations see."""
    assert ground.cameras is not None
    return ground.cameras.images(np.arange(ground.count), ground.randomisation, ground.rng)["front"]


def vector(count: int, **options: Any) -> Any:
    from gemel.services.policy.twin_vector_env import TwinVectorEnv

    return TwinVectorEnv(ground(count, **options))


@pytest.fixture
def registered() -> Iterator[str]:
    """An environment with a camera that gymnasium can make by name."""
    from gemel.services.policy.twin_env import TwinEnv

    name = "tests/Push-v0"
    gym.register(name, lambda render_mode=None: TwinEnv(ground(1, has_camera=True), render_mode=render_mode))
    yield name
    gym.registry.pop(name)


def test_gymnasium_finds_nothing_to_complain_about(registered: str) -> None:
    """The environment checker passes, rendering included; its only warnings are that observations are not bounded."""
    from gymnasium.utils.env_checker import check_env

    from gemel.services.policy.twin_env import TwinEnv

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(TwinEnv(ground(1)), skip_render_check=True)  # nothing to see
        check_env(gym.make(registered, render_mode="rgb_array").unwrapped)
    texts = [str(w.message) for w in caught if "infinity" not in str(w.message)]
    assert [text for text in texts if "not have a `spec`" not in text] == []


@pytest.mark.parametrize(("mode", "has_camera"), [("human", True), ("human", False), ("rgb_array", False)])
def test_render_modes_that_are_not_listed_are_refused(mode: str, has_camera: bool) -> None:
    """There is no window, and without cameras nothing to draw."""
    from gemel.services.policy.twin_env import TwinEnv

    with pytest.raises(ConfigError, match=f"render_mode is '{mode}'"):
        TwinEnv(ground(1, has_camera=has_camera), render_mode=mode)
    assert TwinEnv(ground(1, has_camera=True), render_mode="rgb_array").render_mode == "rgb_array"


def test_many_simulations_do_what_one_does() -> None:
    """Without randomisation, a vector of three at given starts repeats three single runs exactly."""
    from gemel.services.policy.twin_env import TwinEnv

    rng = np.random.default_rng(0)
    actions = rng.uniform(-0.02, 0.02, (3, 8, 2)).astype(np.float32)
    actions[:, :, 1] -= 0.01
    place = {"object/x": 0.44, "object/y": 0.16, "tip/x": 0.44, "tip/y": 0.32}
    starts = [place | {"object/yaw": yaw} for yaw in (0.0, 1.0, 2.0)]
    many = vector(3, randomisation=Randomisation.none())
    many.reset(seed=0, options={name: np.array([start[name] for start in starts]) for name in starts[0]})
    together = [many.step(actions[:, t])[:2] for t in range(8)]
    one = TwinEnv(ground(1, randomisation=Randomisation.none()))
    for i, start in enumerate(starts):
        one.reset(seed=0, options=start)
        for t in range(8):
            state, reward, *_ = one.step(actions[i, t])
            np.testing.assert_array_equal(state, together[t][0][i])
            assert reward == together[t][1][i]


def test_an_episode_that_ends_begins_anew_and_the_others_go_on() -> None:
    """Simulation 1 starts at the goal and ends with success at once: its last state is kept, then it is reset."""
    env = vector(3, randomisation=Randomisation.none())
    goal = ARENA.task.goal
    env.reset(seed=1, options={"object/x": np.array([0.4, goal["object/x"], 0.5]), "object/yaw": np.zeros(3),
                               "object/y": np.array([0.1, goal["object/y"], 0.1])})  # fmt: skip
    state, _, terminated, truncated, infos = env.step(np.zeros((3, 2)))
    assert terminated.tolist() == infos["final_info"]["is_success"].tolist() == [False, True, False]
    assert not truncated.any()
    assert infos["final_obs"][1][0] == pytest.approx(goal["object/x"], abs=0.01)
    assert env.ground.steps.tolist() == [1, 0, 1]
    low, high = ARENA.task.initial_conditions["object/y"]
    assert low <= state[1, 1] <= high


def test_only_the_images_of_an_episode_that_ended_are_drawn_anew() -> None:
    """The final frames show the goal reached; in the next observation that simulation's image alone is another."""
    env = vector(2, has_camera=True)
    goal = ARENA.task.goal
    env.reset(seed=1, options={"object/x": np.array([0.4, goal["object/x"]]), "object/yaw": np.zeros(2),
                               "object/y": np.array([0.1, goal["object/y"]])})  # fmt: skip
    seen, _, terminated, _, infos = env.step(np.zeros((2, 2)))
    assert terminated.tolist() == [False, True]
    assert infos["final_obs"][0] is None
    assert not np.array_equal(seen["front"][1], infos["final_obs"][1]["front"])
    np.testing.assert_array_equal(np.stack(env.render()), seen["front"])


def test_time_runs_out_as_the_task_says() -> None:
    env = vector(2, randomisation=Randomisation.none())
    env.reset(seed=2, options={"object/y": 0.13, "object/x": 0.36})
    flags = [env.step(np.zeros((2, 2)))[3].all() for _ in range(120)]
    assert flags == [False] * 119 + [True]


def test_episodes_differ_in_physics_as_the_belief_says_and_seeds_repeat() -> None:
    """Drawn parameters lie within the belief's samples, differ between simulations, and come again with the seed."""
    env = vector(16)
    env.reset(seed=5)
    drawn = env.ground._parameters.copy()
    assert ARENA.belief is not None
    columns = drawn[:, : len(ARENA.belief.names)]
    assert np.all((columns >= ARENA.belief.samples.min(axis=0)) & (columns <= ARENA.belief.samples.max(axis=0)))
    assert np.all(columns.std(axis=0) > 0.0)
    late_s = drawn[:, -1] - ARENA.delay_s
    assert np.all((late_s >= 0.0) & (late_s <= Randomisation().delay_s))
    env.reset(seed=5)
    np.testing.assert_array_equal(env.ground._parameters, drawn)
    env.reset(seed=6)
    assert not np.allclose(env.ground._parameters, drawn)


def test_images_are_late_and_differ_by_light_and_noise() -> None:
    """A camera sees what was a moment ago; two simulations of the same state give different images when randomised."""
    plain = ground(2, has_camera=True, randomisation=Randomisation.none())
    assert plain.cameras is not None
    start = {name: np.full(2, value) for name, value in START.items()}
    plain.reset(np.arange(2), start)
    first, second = frames(plain)
    np.testing.assert_array_equal(first, second)
    plain.step(np.array([[0.0, -0.02], [0.0, -0.02]]))
    assert np.any(frames(plain)[0] != first)
    draws = plain.cameras._draws["front"]
    draws[0] = replace(draws[0], time_offset_s=-ARENA.task.control_period_s)
    np.testing.assert_array_equal(frames(plain)[0], first)
    assert np.any(frames(plain)[1] != first)
    varied = ground(2, has_camera=True)
    varied.reset(np.arange(2), start)
    assert varied.cameras is not None
    both = frames(varied).astype(float)
    assert np.abs(both[0] - both[1]).mean() > 1.0
    assert np.std(frames(varied).astype(float) - both) == pytest.approx(255.0 * np.sqrt(2.0) * 0.01, rel=0.2)


def test_a_camera_that_is_very_late_shows_what_was_then() -> None:
    """Eight periods, which is more than half a second: states are kept for as long as they are needed."""
    late = ground(1, has_camera=True, randomisation=Randomisation.none(), time_offset_s=-0.8)
    late.reset(np.zeros(1, dtype=np.int64), {name: np.array([value]) for name, value in START.items()})
    first = frames(late)[0]
    for _ in range(8):
        late.step(np.array([[0.0, -0.02]]))
        np.testing.assert_array_equal(frames(late)[0], first)
    late.step(np.array([[0.0, -0.02]]))
    late.step(np.array([[0.0, -0.02]]))
    assert np.any(frames(late)[0] != first)


def test_a_camera_whose_stamps_are_early_shows_now_and_says_so() -> None:
    with pytest.warns(UserWarning, match=r"'front' show what is 0\.02 s after their stamps"):
        early = ground(1, has_camera=True, randomisation=Randomisation.none(), time_offset_s=0.02)
    early.reset(np.zeros(1, dtype=np.int64), {name: np.array([value]) for name, value in START.items()})
    assert frames(early).shape == (1, 120, 160, 3)


@pytest.mark.parametrize("actions", [np.zeros((2, 3)), np.zeros(4), np.array([[0.0, np.nan], [0.0, 0.0]])])
def test_actions_that_cannot_be_carried_out_are_refused(actions: Any) -> None:
    from gemel.errors import ConfigError

    env = vector(2)
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="tip_x, tip_y"):
        env.step(actions)


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_simulations_that_is_none_is_refused(count: int) -> None:
    from gemel.errors import ConfigError
    from gemel.services.sim.make import make_simulator

    with pytest.raises(ConfigError, match="at least one"):
        make_simulator(ARENA.model, count)


def test_the_environment_is_registered_and_says_what_it_needs(project: Any) -> None:
    """`gemel/Twin-v0` is known to gymnasium; a project without a twin is refused with what to do."""
    import gemel.envs
    from gemel.errors import GemelError

    assert gemel.envs.ID in gym.registry
    with pytest.raises(GemelError) as error:
        gym.make(gemel.envs.ID, twin=str(project))
    assert "run" in str(error.value)
