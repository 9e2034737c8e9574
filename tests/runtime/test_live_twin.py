"""A live twin beside a world that our own renderer draws: it follows, it says what it lost, it learns from sliding."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("numba")
pytest.importorskip("mujoco")

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.artifacts.camera import Camera
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3, Inertia, Pinhole, box_mesh
from gemel.runtime.live_twin import LiveState, LiveTwin
from gemel.runtime.rehearsal import Rehearsal, RehearsalConfig, Sighting
from gemel.services.policy.robot import Observation
from gemel.services.sim.joint_path import JointPath
from gemel.store.store import Store
from services.sim.made_twin import reconstruction
from services.tracking import made_views as made

FRICTION = "contact/block-table/friction"
NO_JOINTS = JointPath(np.array([0.0, 10.0]), np.zeros((2, 0)))


@pytest.fixture
def store(tmp_path):
    with_store = Store(tmp_path / "store")
    yield with_store
    with_store.close()


def _twin(blobs) -> Twin:
    """The block of `made_views` on its table, of unknown friction, before two cameras."""
    mesh = made.block()
    pieces = [box_mesh(np.array(size))[0] + np.array(shift) for size, shift in (
        ((0.12, 0.04, 0.04), (0.0, 0.0, 0.0)), ((0.04, 0.08, 0.04), (0.04, 0.06, 0.0)),
    )]  # fmt: skip
    optics = Pinhole(made.SHAPE[1], made.SHAPE[0], *made.INTRINSICS.tolist())
    cameras = tuple(
        Camera(f"camera{i}", made.SHAPE[1], made.SHAPE[0], optics, T_parent_camera=SE3.from_matrix(T).inverse())
        for i, T in enumerate(made.CAMERAS)
    )
    seen = replace(reconstruction({"block": mesh}, {"block": made.REST}), cameras=cameras, table=None)
    friction = Parameter(FRICTION, "", 0.05, 1.0, "linear", ValueSource.RANDOMISED)
    samples = np.linspace(0.1, 0.9, 200)[:, None]
    return Twin(
        robot=None, reconstruction=seen, belief=Belief((friction,), samples, np.full(200, 1 / 200)),
        colliders={"block": tuple(blobs.put_table({"vertices": piece}) for piece in pieces)},
        initial_poses={"block": made.REST},
        inertias={"block": Inertia.from_mesh(mesh.vertices, mesh.faces, 600.0)},
    )  # fmt: skip


def _observation(time_s: float, T_world_object: np.ndarray | None, seed: int) -> Observation:
    images = {v.camera: (255.0 * v.image).astype(np.uint8) for v in made.views(T_world_object, seed)}
    return Observation(time_s, np.zeros(0), images)


@pytest.fixture
def live(store) -> LiveTwin:
    return LiveTwin(_twin(store), (), robot=None, blobs=store, rng=np.random.default_rng(0))


def test_it_follows_an_object_that_something_moves_and_counts_versions(live: LiveTwin):
    """Pushed by a hand that no model knows of, the object is still where the twin says, within 3 mm and 3 degrees."""
    states: list[LiveState] = []
    for step in range(5):
        T = made.pose(0.01 * step, 0.004 * step, 0.05 * step)
        states.append(live.update(_observation(0.1 * step, T, step)))
        error = SE3.from_matrix(T).inverse() @ states[-1].poses["block"]
        assert np.linalg.norm(error.translation) < 0.003
        assert error.rotation.angle_to(SE3.identity().rotation) < 0.05
    assert [state.version for state in states] == [1, 2, 3, 4, 5]
    assert not states[-1].lost
    now = live.twin.initial_poses["block"]
    np.testing.assert_allclose(now.as_matrix(), states[-1].poses["block"].as_matrix())


def test_a_hidden_object_is_lost_and_stays_where_it_was_seen_last(live: LiveTwin):
    first = live.update(_observation(0.0, made.pose(0.0, 0.0, 0.0), 0))
    second = live.update(_observation(0.1, None, 1))
    assert not first.lost
    assert second.lost == {"block"}
    np.testing.assert_allclose(second.poses["block"].as_matrix(), first.poses["block"].as_matrix())


@pytest.mark.parametrize("observation", [
    Observation(0.0, np.zeros(0), {}),
    Observation(0.2, np.zeros(0), {"camera0": np.zeros((96, 128, 3), np.uint8)}),
])  # fmt: skip
def test_an_observation_that_is_late_or_lacks_a_camera_is_refused(live: LiveTwin, observation: Observation):
    live.update(_observation(0.1, made.pose(0.0, 0.0, 0.0), 0))
    with pytest.raises(ConfigError, match=r"came after|missing"):
        live.update(observation)


_BLACK = {f"camera{i}": np.zeros((*made.SHAPE, 3), np.uint8) for i in range(2)}


@pytest.mark.parametrize(("observation", "problem"), [
    (Observation(math.nan, np.zeros(0), _BLACK), "at the time nan"),
    (Observation(0.2, np.zeros(3), _BLACK), "0 numbers were expected"),
    (Observation(0.2, np.zeros(0), {**_BLACK, "camera1": np.zeros((48, 64, 3), np.uint8)}), "of shape \\(48, 64, 3\\)"),
])  # fmt: skip
def test_an_observation_that_is_not_the_robots_is_refused_and_forgotten(
    live: LiveTwin, observation: Observation, problem: str
):
    """A time or joints that are no numbers, joints of a twin without, images of another size; the next one is taken."""
    live.update(_observation(0.1, made.pose(0.0, 0.0, 0.0), 0))
    with pytest.raises(ConfigError, match=problem):
        live.update(observation)
    assert live.update(_observation(0.2, made.pose(0.0, 0.0, 0.0), 1)).version == 2


def test_a_lost_object_is_found_again_where_it_comes_back(live: LiveTwin):
    """Hidden for a while and put elsewhere meanwhile: it is told lost, then where it is, within 3 mm."""
    for step in range(3):
        live.update(_observation(0.1 * step, made.pose(0.004 * step, 0.0, 0.0), step))
    for step in range(3, 6):
        assert live.update(_observation(0.1 * step, None, step)).lost == {"block"}
    T = made.pose(0.05, 0.06, 0.4)
    states = [live.update(_observation(0.1 * step, T, step)) for step in range(6, 11)]
    assert not states[-1].lost
    assert np.linalg.norm(states[-1].poses["block"].translation - T[:3, 3]) < 0.003


def test_sliding_teaches_friction_and_rest_teaches_nothing(store):
    """A block that slides to a stop tells its friction; the same block at rest leaves the belief as it was."""
    twin, sd = _twin(store), np.array([3e-4] * 3 + [2e-3] * 3)
    true = 0.3
    known = replace(twin.belief, samples=np.full((200, 1), true))
    velocity = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    truth = Rehearsal(replace(twin, belief=known), store, RehearsalConfig(draws=2), np.random.default_rng(0))
    truth.lay({"block": made.REST}, {"block": velocity}, NO_JOINTS, 0.0)
    slid = truth.advance(NO_JOINTS, 0.4)["block"][0]
    for start, goal, is_learnt in ((velocity, slid, True), (np.zeros(6), made.REST, False)):
        rehearsal = Rehearsal(twin, store, RehearsalConfig(model_error=0.02), np.random.default_rng(1))
        before = rehearsal.belief.samples.copy()
        for _ in range(3):
            rehearsal.lay({"block": made.REST}, {"block": start}, NO_JOINTS, 0.0)
            rehearsal.learn(rehearsal.advance(NO_JOINTS, 0.4), {"block": Sighting(goal, sd)}, NO_JOINTS)
        after = rehearsal.belief.samples
        if is_learnt:
            assert abs(float(np.median(after)) - true) < 0.04
            assert after.std() < 0.4 * before.std()
        else:
            assert abs(after.std() / before.std() - 1.0) < 0.15


def test_what_a_window_left_uncounted_is_counted_while_the_next_one_runs(store):
    """After one slide half of the draws survive; a window at rest, which says nothing itself, brings the rest."""
    twin, sd, true = _twin(store), np.array([3e-4] * 3 + [2e-3] * 3), 0.3
    known = replace(twin.belief, samples=np.full((200, 1), true))
    velocity = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    truth = Rehearsal(replace(twin, belief=known), store, RehearsalConfig(draws=2), np.random.default_rng(0))
    truth.lay({"block": made.REST}, {"block": velocity}, NO_JOINTS, 0.0)
    slid = truth.advance(NO_JOINTS, 0.4)["block"][0]
    rehearsal = Rehearsal(twin, store, RehearsalConfig(model_error=0.02), np.random.default_rng(1))
    spreads = []
    for start_s, pose, speed, seen in ((0.0, made.REST, velocity, slid), (0.4, slid, 0.0 * velocity, slid)):
        rehearsal.lay({"block": pose}, {"block": speed}, NO_JOINTS, start_s)
        predicted = {}
        for step in range(1, 5):
            predicted = rehearsal.advance(NO_JOINTS, start_s + 0.1 * step)
        rehearsal.learn(predicted, {"block": Sighting(seen, sd)}, NO_JOINTS)
        spreads.append(float(rehearsal.belief.samples.std()))
    assert spreads[1] < 0.5 * spreads[0]
    assert abs(float(np.median(rehearsal.belief.samples)) - true) < 0.04


def test_the_robots_parameters_are_passed_on_unlearnt(store):
    """Servos are led along the log, so nothing here tells about them: their draws stay, and are not called inferred."""
    from outputs.export.exported_twin import sample_twin

    twin = sample_twin(store)
    rehearsal = Rehearsal(twin, store, RehearsalConfig(), np.random.default_rng(0))
    before = rehearsal.belief
    columns = [i for i, name in enumerate(before.names) if name.startswith("robot/")]
    assert columns
    assert {before.parameters[i].source for i in columns} == {
        p.source for p in twin.belief.parameters if p.name.startswith("robot/")
    }
    rehearsal._z = rehearsal._z + 1.0
    np.testing.assert_array_equal(rehearsal.belief.samples[:, columns], before.samples[:, columns])
    assert not np.array_equal(rehearsal.belief.samples, before.samples)
