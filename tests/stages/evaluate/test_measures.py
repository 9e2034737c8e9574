"""Laws of what the claims are made of: tool, commands, joint error, bands, follow times."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import Domain, EpisodeKind, JointSignal, UnitSource
from gemel.artifacts.episode import Episode
from gemel.artifacts.robot import RobotJoint, RobotModel
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.arms import Arm, find_arms
from gemel.services.kinematics.tree import kinematic_tree
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.commanded import commanded_path, kind_of_actions
from gemel.services.sim.compile import compile_twin
from gemel.services.stats import binomial_bounds, mean_interval, ratio_interval
from gemel.services.stats.bootstrap import RESAMPLES
from gemel.stages.evaluate.bands import BAND, error_band, is_inside_band
from gemel.stages.evaluate.config import EvaluateConfig
from gemel.stages.evaluate.divergence_time import follow_time
from gemel.stages.evaluate.joint_error import joint_errors, joint_measures
from gemel.stages.evaluate.tool_error import make_tool, tool_errors
from gemel.store.store import Store
from services.sim.made_twin import block_twin, sample_robot


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store") / "store")


@pytest.fixture(scope="module")
def twin(store: Store) -> Twin:
    """The arm of the bundled capture, with calibrated base and joint offsets."""
    return block_twin(store, {}, robot=sample_robot(store))


def _signals(twin: Twin) -> tuple[JointSignal, ...]:
    return tuple(JointSignal(name, "rad", "rad", UnitSource.SOURCE, name) for name in twin.joints)


def test_the_table_and_mujoco_put_the_tool_at_the_same_place(twin: Twin, store: Store) -> None:
    """Denavit-Hartenberg with offsets added, MuJoCo with offsets built in: equal to rounding."""
    assert twin.robot is not None
    model = compile_stored_robot(twin.robot, store)
    (arm,) = find_arms(kinematic_tree(model), twin.joints, _signals(twin), {})
    tool = make_tool(model, arm, twin)
    joints = np.random.default_rng(0).uniform(-1.5, 1.5, size=(50, 6))
    metres, radians = tool.gap(compile_twin(twin, store, {}), joints)
    assert arm.link == "link6"
    assert (tool.point.kind, tool.point.name, tool.point.body) == ("geom", "pusher", "link6")
    flange = body_poses(compile_twin(twin, store, {}).model, "link6", compile_twin(twin, store, {}).qpos(joints))
    reach_m = np.linalg.norm(tool.by_table(joints).translation - flange.translation, axis=-1)
    assert np.allclose(reach_m, 0.15)  # the far end of the rod that it pushes with
    assert metres < 1e-9
    assert radians < 1e-7
    distance, angle = tool_errors(tool, joints[None], joints)
    assert distance.max() < 1e-12
    assert angle.max() < 1e-7


def test_tool_steps_lead_the_tool_where_they_say(twin: Twin, store: Store) -> None:
    """Joint targets of tool steps put the link at the sum of the steps, turned as at the start."""
    assert twin.robot is not None
    model = compile_stored_robot(twin.robot, store)
    tree, signals = kinematic_tree(model), _signals(twin)
    rng = np.random.default_rng(1)
    start = np.array([0.2, 0.5, 1.0, 0.1, 1.2, 0.0])
    steps = rng.uniform(-0.01, 0.01, size=(20, 2))
    times = np.arange(20) * 0.1
    episode = Episode("0", EpisodeKind.TASK, Domain.REAL, "", times, np.tile(start, (20, 1)), steps)
    names = ("tip_x", "tip_y")
    assert kind_of_actions(names, ("m", "m"), signals, "auto") == "tool-steps"
    path = commanded_path("tool-steps", episode, names, signals, robot=model, link="link6", model_joints=twin.joints)
    assert path is not None
    # The robot as filed: no base pose, no offsets.
    seen = replace(twin.reconstruction, Ts_world_base=SE3.identity(0), joint_offsets=np.zeros(6))
    plain = replace(twin, reconstruction=seen)
    (arm,) = find_arms(tree, plain.joints, signals, {})
    poses = make_tool(model, arm, plain).by_table(path.positions)
    way = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    assert np.allclose(poses.translation[:, :2] - poses.translation[0, :2], way, atol=1e-6)
    assert np.allclose(poses.translation[:, 2], poses.translation[0, 2], atol=1e-6)
    assert np.max(poses.rotation.angle_to(poses.rotation[0])) < 1e-5
    assert path.times_s[0] == 0.0
    assert np.allclose(path.at(np.array([0.1]))[0], path.positions[1])
    # A step that the recorder lost was made all the same; its neighbours say about how long it was.
    even = np.full((20, 2), 0.004)
    kept = np.delete(np.arange(20), 7)
    whole, lossy = (
        commanded_path(
            "tool-steps", replace(episode, times_s=times[rows], joint_positions=np.tile(start, (len(rows), 1)),
                                  actions=even[rows]),
            names, signals, robot=model, link="link6", model_joints=twin.joints,
        )
        for rows in (np.arange(20), kept)
    )  # fmt: skip
    assert whole is not None
    assert lossy is not None
    # It was made within the gap: wherever the log has a sample, both have led the tool equally far.
    assert np.allclose(whole.at(times[kept]), lossy.at(times[kept]), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "names", "problem"),
    [
        ("joints", ("tip_x", "j"), r"targets of logged joints, and one is called 'tip_x'.*Choices: \['j'\]"),
        ("tool-steps", ("gripper", "twist"), "one is called 'gripper': names that end in _x, _y or _z"),
    ],
)
def test_actions_that_cannot_be_what_settings_say_are_refused(given: str, names: tuple[str, ...], problem: str) -> None:
    """Rather than replayed as nothing."""
    signals = (JointSignal("j", "rad", "rad", UnitSource.SOURCE, "j"),)
    with pytest.raises(ConfigError, match=problem):
        kind_of_actions(names, ("m", "m"), signals, given)


def test_the_joint_error_is_the_protocols(tmp_path: Path) -> None:
    """Two arms with a gripper: the formula by hand, weights that sum to one, overall the mean of the squares."""
    del tmp_path
    robot = RobotModel(
        "two", "mjcf", "r.xml", {},
        (*(RobotJoint(n, "hinge", -1.0, 1.0) for n in ("l1", "r1")), RobotJoint("lg", "slide", 0.0, 0.04)),
        (),
    )  # fmt: skip
    names = ("l1", "lg", "r1")
    signals = tuple(JointSignal(name, "rad", "rad", UnitSource.SOURCE, name) for name in names)
    arms = (Arm("left", (0, 1), (1,), "l", 0), Arm("right", (2,), (), "r", 1))
    measures = joint_measures(arms, signals, robot, {"lg": 3.0}, {"r1": 0.5})
    errors = joint_errors(measures, np.array([[0.2, 0.01, 0.1]]), np.zeros((1, 3)))
    left = 0.25 * (0.2 / 2.0) ** 2 + 0.75 * (0.01 / 0.04) ** 2
    right = (0.1 / 0.5) ** 2
    assert np.isclose(errors["left"][0], np.sqrt(left))
    assert np.isclose(errors["right"][0], np.sqrt(right))
    assert np.isclose(errors["all"][0], np.sqrt(0.5 * (left + right)))
    assert np.isclose(measures[0].weights.sum(), 1.0)


def test_bands_hold_what_they_say() -> None:
    """A record that is one more draw, plus the track's noise, is inside about as often as the band says."""
    rng = np.random.default_rng(2)
    count = 600
    tracked = SE3.random(rng, count)
    spread, noise = 0.01, 0.004
    mean = SE3.exp(spread * rng.standard_normal((count, 6)) + noise * rng.standard_normal((count, 6)))
    draws = SE3.exp(spread * rng.standard_normal((200, count, 6)))
    predicted = tracked @ (mean @ draws)
    turn = tracked.adjoint()
    covariances = noise**2 * np.einsum("tij,tkj->tik", turn, turn)
    inside = is_inside_band(predicted, tracked, covariances, np.zeros((6, 6)), rng)
    low, high = binomial_bounds(count, BAND, confidence=0.999)
    # The 5 and 95 % quantiles of 200 draws are themselves uncertain: three per cent more.
    assert all(low - 0.03 * count <= column.sum() <= high + 0.03 * count for column in inside.T)
    still = SE3(SO3.exp(np.zeros((count, 3))), np.zeros((count, 3)))
    start = noise**2 * np.eye(6)  # the frame that all draws started from was off, and so they are for good
    off = SE3.exp(0.9 * noise * np.ones((200, count, 6)))
    unsure, sure = (is_inside_band(still @ off, still, 1e-12 * np.tile(np.eye(6), (count, 1, 1)), c, rng).mean()
                    for c in (start, 0.0 * start))  # fmt: skip
    assert (sure, unsure) == (0.0, 1.0)
    errors = rng.standard_normal((200, 7)) ** 2
    ends = error_band(errors)
    assert np.allclose(np.mean((errors >= ends[0]) & (errors <= ends[1]), axis=0), BAND, atol=0.011)


def test_follow_time_ends_at_either_bound_and_starts_at_motion() -> None:
    """The first frame past the distance or the angle ends it; the record's end is marked."""
    times = np.arange(5.0)
    near = np.full(5, 0.001)
    turned = np.array([0.0, 0.0, 0.0, 0.3, 0.3])
    limits = {"within_m": 0.01, "within_rad": 0.17, "motion_s": 1.0}
    lost = follow_time(times, near, turned, **limits)
    assert (lost.since_start_s, lost.since_motion_s, lost.is_censored) == (3.0, 2.0, False)
    kept = follow_time(times, near, 0.0 * turned, **limits)
    assert (kept.since_start_s, kept.since_motion_s, kept.is_censored) == (4.0, 3.0, True)
    early = follow_time(times, np.array([0.0, 0.02, 0.0, 0.0, 0.0]), 0.0 * turned, **{**limits, "motion_s": 2.0})
    assert early.since_motion_s == 0.0


def test_bootstrap_intervals_cover() -> None:
    """Over many made experiments, the interval of a mean and of a ratio holds the truth about as often as it says."""
    rng = np.random.default_rng(3)
    hits = np.zeros(2)
    for _ in range(200):
        a, b = 3.0 + rng.standard_normal(25), 2.0 + 0.5 * rng.standard_normal(25)
        low, high = mean_interval(a, rng)
        hits[0] += low <= 3.0 <= high
        low, high, _ = ratio_interval(a, b, rng)
        hits[1] += low <= 1.5 <= high
    assert np.all(hits >= 170)
    assert ratio_interval(np.ones(3), np.zeros(3), rng) == (np.inf, np.inf, 0)
    assert np.isnan([*mean_interval(np.ones(1), rng), *ratio_interval(np.ones(1), np.ones(1), rng)[:2]]).all()


def test_nothing_over_nothing_is_no_ratio() -> None:
    """Where neither has anything there is no interval; resamples of that kind are counted and left out of others."""
    rng = np.random.default_rng(4)
    low, high, undefined = ratio_interval(np.zeros(4), np.zeros(4), rng)
    assert np.isnan([low, high]).all()
    assert undefined == RESAMPLES
    one = np.array([0.0, 0.0, 0.0, 1.0])
    low, high, undefined = ratio_interval(one, one, rng)
    assert (low, high) == (1.0, 1.0)
    assert abs(undefined / RESAMPLES - 0.75**4) < 0.03


@pytest.mark.parametrize("draws", [19, 24, 40])
def test_few_draws_make_a_band_that_holds_what_it_says(draws: int) -> None:
    """A record that is one more draw is inside nine times in ten, with as few draws as are allowed."""
    rng = np.random.default_rng(draws)
    count = 20_000
    spread = np.repeat([0.01, 0.05], 3)
    predicted = SE3.exp(spread * rng.standard_normal((draws, count, 6)))
    truth = SE3.exp(spread * rng.standard_normal((count, 6)))
    sure = np.zeros((count, 6, 6))
    inside = is_inside_band(predicted, truth, sure, np.zeros((6, 6)), rng)
    low, high = binomial_bounds(count, BAND, confidence=0.9999)
    # Between two draws the end lies on a straight line, which is up to a per cent too wide for a bell's tail.
    assert all(low <= column.sum() <= high + 0.01 * count for column in inside.T)
    with pytest.raises(ConfigError, match="at least 19 draws"):
        EvaluateConfig(draws=18)
