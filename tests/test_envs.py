"""A project's twin as robot and environments, from its folder: what users call."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.provenance import Provenance
from gemel.artifacts.twin import Twin
from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.commands.screen import ScreenReporter
from gemel.errors import ConfigError
from gemel.pipeline import run_project
from gemel.project import open_project
from gemel.store.store import Store
from services.sim.made_twin import SAMPLE_ROBOT, block_twin, sample_robot

gym = pytest.importorskip("gymnasium", reason="needs the extra `gym`")


@pytest.fixture(scope="module")
def twin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled capture, ingested and split, with a nominal twin of its robot put in place of a fitted one."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "twin.toml").write_text(f'[capture]\nsource = "{SAMPLE_ROBOT.parents[1]}"\n')
    project = open_project(folder)
    run_project(project, ScreenReporter(), last="split")
    store = Store(project.store_folder)
    believed = {"contact/t_block-table/friction": (0.4, 0.6), "robot/joint1/delay": (0.08, 0.1)}
    twin, looks = block_twin(store, believed, robot=sample_robot(store)), nominal_looks()
    seen = replace(twin.reconstruction, objects=looks.objects, table=looks.table, cameras=looks.cameras)
    twin = replace(twin, reconstruction=seen)
    store.put(twin, Provenance("assemble", {}, {}, {}, "", 0, "cpu"), key="made", duration_s=0.0)
    store.close()
    return folder


def test_a_robot_waits_where_calibration_trials_start_and_is_as_late_as_is_believed(twin_folder: Path) -> None:
    import gemel.envs

    robot = gemel.envs.make_robot(twin_folder, task="push-t")
    arm = robot.arena.arm
    assert arm is not None
    x, y = arm.tips(robot.arena.home[None])[0]
    (x_low, x_high), (y_low, y_high) = (robot.arena.task.initial_conditions[f"tip/{axis}"] for axis in "xy")
    assert x_low - 0.02 < x < x_high + 0.02
    assert y_low - 0.02 < y < y_high + 0.02
    robot.reset({"object/x": 0.45})
    robot.act(np.array([0.01, 0.0]))
    assert robot.observe().time_s == pytest.approx(0.1)
    np.testing.assert_allclose(robot.playground.drawn(["robot/joint1/delay"]), 0.09)


def test_environments_are_made_by_name(twin_folder: Path) -> None:
    """gymnasium.make and make_vec with a project's folder; the holdout is not touched, and the ledger stays whole."""
    import gemel.envs
    from gemel.artifacts.split import Role
    from gemel.store.seal import current_roles

    env = gym.make(gemel.envs.ID, twin=str(twin_folder), task="push-t")
    state, _ = env.reset(seed=0)
    assert state.shape == (5,)
    many = gym.make_vec(
        gemel.envs.ID, num_envs=3, vectorization_mode="vector_entry_point", twin=str(twin_folder), task="push-t"
    )
    many.reset(seed=0)
    states, rewards, *_ = many.step(np.zeros((3, 2), dtype=np.float32))
    assert states.shape == (3, 5)
    assert np.isfinite(rewards).all()
    store = Store.open(open_project(twin_folder).store_folder)
    roles = current_roles(store.ledger)
    assert roles is not None
    read = {e.body["episode"] for e in store.ledger.entries("read") if e.body["stage"] == "environment"}
    store.close()
    assert read
    assert all(roles.role_from_episode[episode] is Role.CALIBRATION for episode in read)


def test_the_gate_looks_at_the_robot_where_trials_start(twin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin is assembled with the home that its environments will start from."""
    import gemel.envs
    from gemel import physics_wiring
    from gemel.running import Run
    from gemel.stages.assemble.stage import AssembleInfo

    opened = gemel.envs.open_twin(twin_folder, task="push-t")
    assert opened.home is not None
    homes = []

    def assemble(*inputs: object, home: np.ndarray, **others: object) -> tuple[Twin, AssembleInfo]:
        homes.append(home)
        return opened.twin, AssembleInfo(())

    monkeypatch.setattr(physics_wiring, "assemble", assemble)
    project = open_project(twin_folder)
    store = Store.open(project.store_folder)
    made = {e.body["stage"]: str(e.body["address"]) for e in store.ledger.entries("artifact")}
    for stage, artifact in (("reconstruct", opened.twin.reconstruction), ("prior", opened.twin.belief)):
        made[stage] = store.put(artifact, Provenance(stage, {}, {}, {}, "", 0, "cpu"), key=stage, duration_s=0.0)
    physics_wiring.make_draft(Run(project, store, made), "draft", lambda part: None)
    store.close()
    np.testing.assert_array_equal(homes[0], opened.home)


def test_a_seed_below_zero_is_refused_in_words(twin_folder: Path) -> None:
    """By robots and by environments, before numpy sees it."""
    import gemel.envs

    with pytest.raises(ConfigError, match="The seed is -1"):
        gym.make(gemel.envs.ID, twin=str(twin_folder), task="push-t", seed=-1)
    with pytest.raises(ConfigError, match="The seed is -1"):
        gemel.envs.make_robot(twin_folder, task="push-t", seed=-1)


def test_a_plain_string_means_one_camera(twin_folder: Path) -> None:
    """This twin has no camera above; the one that is missed is `top`, not `t`."""
    import gemel.envs

    with pytest.raises(ConfigError, match="'top'"):
        gemel.envs.make_robot(twin_folder, task="push-t", cameras="top")
    with pytest.raises(ConfigError, match="'top'"):
        gym.make(gemel.envs.ID, twin=str(twin_folder), task="push-t", cameras="top")


def test_images_of_a_project_as_an_environment(twin_folder: Path) -> None:
    """One simulation and two: observations have the camera's frames, and those are what is rendered."""
    import gemel.envs

    options = {"twin": str(twin_folder), "task": "push-t", "cameras": "front", "render_mode": "rgb_array", "seed": 0}
    env = gym.make(gemel.envs.ID, **options)
    seen, _ = env.reset()
    assert env.observation_space.contains(seen)
    assert seen["front"].shape == (120, 160, 3)
    assert seen["front"].std() > 10.0
    np.testing.assert_array_equal(env.render(), seen["front"])
    many = gym.make_vec(gemel.envs.ID, num_envs=2, vectorization_mode="vector_entry_point", **options)
    many.reset()
    seen, *_ = many.step(np.zeros((2, 2), dtype=np.float32))
    assert many.observation_space.contains(seen)
    np.testing.assert_array_equal(np.stack(many.render()), seen["front"])


def test_a_project_that_names_no_task_gets_the_one_of_its_object(twin_folder: Path) -> None:
    """The T-block belongs to one push alone; a warning says that it was chosen."""
    import gemel.envs

    with pytest.warns(UserWarning, match="names no task; 'push-t' is used"):
        env = gym.make(gemel.envs.ID, twin=str(twin_folder))
    assert env.unwrapped.ground.arena.task.name == "push-t"


def test_a_thing_that_no_push_handles_needs_a_task(twin_folder: Path) -> None:
    import gemel.envs
    from gemel.services.policy.twin_task import task_of

    twin = gemel.envs.open_twin(twin_folder).twin
    other = replace(twin, colliders={"mug": next(iter(twin.colliders.values()))})
    with pytest.raises(ConfigError, match=r"\['mug'\], are not those of exactly one push\. Tasks: push-t, push-hammer"):
        task_of(other)


def test_gymnasium_finds_the_environment_without_an_import() -> None:
    """In a fresh interpreter, by the name of the module before the colon."""
    code = "import gymnasium; gymnasium.make('gemel.envs:gemel/Twin-v0', twin='nowhere')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "NamespaceNotFound" not in done.stderr
    assert "GemelError" in done.stderr or "ConfigError" in done.stderr


@pytest.mark.parametrize("seed", ["one", 1.5, True])
def test_seeds_that_are_no_whole_numbers_are_refused(seed: object) -> None:
    import gemel.envs

    with pytest.raises(ConfigError, match="seeds begin at 0"):
        gemel.envs._check_seed(seed)
    gemel.envs._check_seed(None)
    gemel.envs._check_seed(np.int64(3))
