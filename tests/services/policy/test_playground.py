"""Simulations of a task: what servos are told, drives of the belief, table and base, and records of break-downs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.belief import Belief
from gemel.artifacts.task import Criterion, Quantity
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.policy import judge
from gemel.services.policy.arena import Arena
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.site import Site
from gemel.services.policy.twin_arena import twin_arena
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.native import SimulatorNative
from gemel.services.tasks import get_object, get_task
from gemel.store.store import Store
from services.sim.made_twin import at, belief, block_twin, sample_robot

FIRST = np.zeros(1, dtype=np.int64)
PUSH = nominal_arena()
GEARED = """<mujoco><option timestep="0.002" integrator="implicitfast" gravity="0 0 0"/><worldbody>
<body name="arm"><joint name="turn" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/>
<body name="finger"><joint name="grip" type="slide" axis="0 1 0" ref="0.04"/>
<inertial pos="0 0 0" mass=".1" diaginertia=".001 .001 .001"/></body></body>
<body name="thing" pos="1 0 0"><freejoint name="thing"/>
<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body></worldbody>
<actuator><position joint="grip" kp="500" kv="30"/>
<position joint="turn" kp="50" kv="3" gear="-3"/></actuator></mujoco>"""


def _geared() -> Arena:
    """One commanded hinge behind a gear, and a gripper that no action moves."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(GEARED)
    task = replace(
        get_task("push-t"), action=(Quantity("turn", 1, "rad", -3.0, 3.0),), observation=(), success=(), failure=(),
        initial_conditions={},
    )  # fmt: skip

    def place(readings: np.ndarray, poses: SE3) -> np.ndarray:
        qpos = np.repeat(model.qpos0[None], len(readings), axis=0)
        qpos[:, :1] = readings
        return qpos

    return Arena(
        model, task, "thing", ("turn",), np.array([0]), np.array([1]), np.zeros(1), SE3.identity(), place
    )  # fmt: skip


def _ground(arena: Arena, count: int = 1, *, is_physics: bool = False, folder: Path | None = None) -> Playground:
    return Playground(
        arena, SimulatorNative(arena.model, count, threads=1),
        randomisation=replace(Randomisation.none(), is_physics=is_physics),
        recorder=FlightRecorder(folder) if folder is not None else None,
    )  # fmt: skip


def test_a_joint_behind_a_gear_goes_where_it_is_told_and_the_rest_of_the_robot_stays() -> None:
    ground = _ground(_geared())
    ground.reset(FIRST)
    for _ in range(30):
        ground.step(np.array([[0.6]]))
    np.testing.assert_allclose(ground.qpos[0, :2], [0.6, 0.04], atol=1e-4)


def _driven(weights: np.ndarray) -> tuple[Arena, Belief]:
    """A push whose belief is about its drives alone, except for one friction."""
    values = {
        "contact/t_block-table/friction": (0.4, 0.5), "robot/tip_x/delay": (0.02, 0.06),
        "robot/tip_x/backlash": (0.0, 0.002), "robot/tip_y/lead": (0.01, 0.03),
    }  # fmt: skip
    believed = replace(belief(values), weights=weights)
    return replace(PUSH, belief=believed, fixed={}, delay_s=0.1), believed


def test_without_randomisation_drives_are_at_the_beliefs_mean() -> None:
    """Weighted, in every simulation; a believed delay wins over the arena's, which the other joint has."""
    arena, _ = _driven(np.array([0.25, 0.75]))
    ground = _ground(arena, 2)
    ground.reset(np.arange(2))
    drives = ground.simulator._drives.settings
    np.testing.assert_allclose(drives.delay_s, [[0.05, 0.1]] * 2)
    np.testing.assert_allclose(drives.backlash, [[0.0015, 0.0]] * 2)
    np.testing.assert_allclose(drives.lead_s, [[0.0, 0.025]] * 2)
    assert not any(name.startswith("contact/") for name in ground._names)  # the compiled model has those


def test_with_randomisation_drives_are_drawn() -> None:
    arena, believed = _driven(np.array([0.5, 0.5]))
    ground = _ground(arena, 16, is_physics=True)
    ground.reset(np.arange(16))
    drawn = ground.drawn(believed.names)
    assert {tuple(row) for row in drawn.tolist()} == {tuple(row) for row in believed.samples.tolist()}


def test_table_and_base_are_the_twins(tmp_path: Path) -> None:
    """A twin whose robot stands a metre away, with its table 5 cm lower: the object lies on it, 45 cm off the base."""
    store = Store(tmp_path / "store")
    twin = block_twin(store, {}, robot=sample_robot(store))
    height = get_object("t_block").rest_height - 0.05
    bases = SE3(SO3.identity(1), np.array([[1.0, 0.2, 0.0]]))
    moved = replace(
        twin, table_height_m=-0.05, reconstruction=replace(twin.reconstruction, Ts_world_base=bases),
        initial_poses={"t_block": at(1.45, 0.2, height)},
    )  # fmt: skip
    arena = twin_arena(moved, store, task=get_task("push-t"))
    values = arena.values(np.array(arena.model.qpos0)[None])
    assert values["object/distance_from_base"][0] == pytest.approx(0.45, abs=2e-3)  # the task's frame is laid over it
    assert values["object/height_below_table"][0] == pytest.approx(-0.02, abs=2e-3)


def test_episodes_are_judged_where_they_took_place() -> None:
    """Half a metre from the nearest of two bases and on the table is success there, and none at the world's origin."""
    criteria = (Criterion("object/distance_from_base", "m", 0.6), Criterion("object/height_below_table", "m", 0.02))
    task = replace(get_task("push-t"), success=criteria)
    poses = {"t_block": SE3(SO3.identity(3), np.tile([3.0, 0.5, -0.4], (3, 1)))}
    site = Site(-0.42, np.array([[0.0, 0.0], [3.0, 0.0]]))
    assert judge(task, np.arange(3.0), poses, site) is True
    assert judge(task, np.arange(3.0), poses) is False


def test_criteria_that_nothing_measures_are_refused() -> None:
    """Before training and environments begin, with the closest name."""
    for kind in ("success", "failure"):
        task = replace(PUSH.task, **{kind: (Criterion("object/position_eror", "m", 0.03),)})
        with pytest.raises(ConfigError, match="Closest: 'object/position_error'"):
            replace(PUSH, task=task).check_criteria()
    PUSH.check_criteria()
    ground = _ground(replace(PUSH, task=replace(PUSH.task, failure=(Criterion("object/speed", "m/s", 1.0),))))
    with pytest.raises(ConfigError, match="run_episode"):
        ground.is_failure(ground.values())


def test_initial_conditions_that_nothing_is_put_to_are_refused() -> None:
    """A misspelt one of a reset, and a task that throws."""
    with pytest.raises(ConfigError, match="Closest: 'object/yaw'"):
        _ground(PUSH).reset(FIRST, {"object/yaww": np.array([1.0])})
    with pytest.raises(ConfigError, match=r"'toss' has an initial condition.*'object/velocity_x'"):
        replace(PUSH, task=get_task("toss"))


def _broken(ground: Playground, rows: np.ndarray) -> None:
    """A period at whose end some simulations have broken down."""
    qpos = ground.simulator.qpos
    qpos[rows, :3] = np.nan
    ground.simulator.reset(qpos)
    ground.is_diverged[:] = False
    ground.step(np.zeros((ground.count, 2)))
    assert ground.is_diverged.tolist() == np.isin(np.arange(ground.count), rows).tolist()


def test_a_record_begins_with_its_episode(tmp_path: Path) -> None:
    """Two periods after its reset, a simulation's record has two states, one that goes on all of them."""
    ground = _ground(PUSH, 2, folder=tmp_path / "flight")
    ground.reset(np.arange(2))
    for _ in range(4):
        ground.step(np.full((2, 2), 0.01))
    ground.reset(np.array([1]))
    ground.step(np.full((2, 2), 0.01))
    _broken(ground, np.arange(2))
    counts = [len(np.load(tmp_path / "flight" / f"diverged-000{i}" / "states.npz")["qpos"]) for i in range(2)]
    assert counts == [6, 2]


def test_many_break_downs_leave_twenty_records(tmp_path: Path) -> None:
    ground = _ground(PUSH, 24, folder=tmp_path / "flight")
    ground.reset(np.arange(24))
    _broken(ground, np.arange(1, 24))
    assert len(list((tmp_path / "flight").iterdir())) == 20
    assert ground._recorder is not None
    assert ground._recorder.left_out == 3


def test_a_disk_that_takes_nothing_does_not_stop_simulations(tmp_path: Path) -> None:
    """One warning, however many break down."""
    (tmp_path / "flight").write_text("in the way")
    ground = _ground(PUSH, 3, folder=tmp_path / "flight")
    ground.reset(np.arange(3))
    with pytest.warns(UserWarning, match="cannot be written") as caught:
        _broken(ground, np.array([0, 2]))
    assert len([w for w in caught if "cannot be written" in str(w.message)]) == 1
    assert ground._recorder is not None
    assert ground._recorder.left_out == 2
