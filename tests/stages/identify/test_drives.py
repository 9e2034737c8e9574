"""What trials say of drives: the lag that was there, how sure, and nothing where nothing can be told."""

import numpy as np
import pytest

from gemel.artifacts.capture import Domain, EpisodeKind, JointSignal, UnitSource
from gemel.artifacts.episode import Episode
from gemel.artifacts.twin import Twin
from gemel.services.sim.commanded import ActionReader, action_reader
from gemel.services.sim.joint_path import JointPath
from gemel.services.sim.twin_simulator import simulate_twin
from gemel.stages.identify.drives import with_drives
from gemel.store.store import Store
from services.sim.made_twin import block_twin, sample_robot

HOME = np.array([0.2, 0.5, 1.0, 0.1, 1.2, 0.0])
PERIOD_S = 0.1
COUNT = 60
FRICTION = {"contact/t_block-table/friction": (0.4, 0.6)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store") / "store")


@pytest.fixture(scope="module")
def twin(store: Store) -> Twin:
    return block_twin(store, FRICTION, robot=sample_robot(store))


def _reader(twin: Twin, store: Store) -> ActionReader:
    signals = tuple(JointSignal(name, "rad", "rad", UnitSource.SOURCE, name) for name in twin.joints)
    units = tuple("rad" for _ in signals)
    return action_reader(
        twin.robot, store, names=twin.joints, units=units, joints=signals, model_joints=twin.joints, arms={}
    )


def _wander(seed: int) -> np.ndarray:
    """Joint targets (t, joint) of a smooth, random way."""
    rng, times_s = np.random.default_rng(seed), PERIOD_S * np.arange(COUNT)
    phases, speeds = rng.uniform(0.0, 6.0, (5, 6)), rng.uniform(0.5, 3.0, (5, 6))
    return np.asarray(HOME + 0.06 * np.sin(times_s[:, None, None] * speeds + phases).sum(axis=1) / 2.0)


def _trial(actions: np.ndarray, positions: np.ndarray, seed: int) -> Episode:
    times_s = PERIOD_S * np.arange(len(actions))
    return Episode(str(seed), EpisodeKind.TASK, Domain.REAL, "", times_s, positions, actions)


def _late_trial(lag_s: float, seed: int) -> Episode:
    """Joints that do what they are told, so much later."""
    actions, times_s = _wander(seed), PERIOD_S * np.arange(COUNT)
    asked = JointPath(np.append(times_s[0], times_s + PERIOD_S), np.concatenate([actions[:1], actions]))
    noise = 3e-4 * np.random.default_rng(seed + 99).standard_normal(actions.shape)
    return _trial(actions, asked.at(times_s - lag_s) + noise, seed)


def test_a_pure_delay_is_found_with_its_interval(twin: Twin, store: Store) -> None:
    """0.12 s late, in all joints alike; servos that trail besides would not follow so well."""
    trials = [_late_trial(0.12, seed) for seed in range(3)]
    belief, (told,) = with_drives(twin, trials, _reader(twin, store), blobs=store, rng=np.random.default_rng(0))
    names = [f"robot/{joint}/delay" for joint in twin.joints]
    delays = belief.samples[:, [belief.names.index(name) for name in names]]
    assert np.all(np.abs(delays.mean(axis=0) - 0.12) < 0.003)
    assert 1e-5 < delays[:, 0].std() < 0.005
    assert belief.mean[belief.names.index("robot/joint1/lead")] > 0.02
    assert belief.names[0] == "contact/t_block-table/friction"
    assert "120 ms" in told.message
    assert belief.parameters[-1].episodes == ("0", "1", "2")


def test_servos_that_trail_are_told_from_late_ones(twin: Twin, store: Store) -> None:
    """Trials of simulated servos without feed-forward: no lead, and the delay that they had besides trailing."""
    late = {f"robot/{joint}/delay": (0.03,) for joint in twin.joints}
    simulator, scene = simulate_twin(block_twin(store, late, robot=sample_robot(store)), store, np.full((1, 6), 0.03))
    trials = []
    for seed in range(2):
        actions = _wander(seed)
        commands = scene.commands(np.concatenate([actions[:1], actions]))
        start = scene.qpos(actions[:1])
        start[:, scene.model.joint("t_block").qposadr[0]] += 2.0  # out of the way
        simulator.reset(start, commands=commands[:1])
        every = round(PERIOD_S / simulator.timestep_s)
        moved = simulator.rollout(commands[None, 1:], every=every, is_ramp=True).qpos[0]
        at = [int(scene.model.joint(joint).qposadr[0]) for joint in twin.joints]
        positions = np.concatenate([start[:, at], moved[:-1, at]])
        trials.append(_trial(actions, positions, seed))
    belief, (told,) = with_drives(twin, trials, _reader(twin, store), blobs=store, rng=np.random.default_rng(0))
    values = dict(zip(belief.names, belief.mean, strict=True))
    assert "trail" in told.message
    assert values["robot/joint1/lead"] == 0.0
    assert values["robot/joint1/delay"] == pytest.approx(0.03, abs=0.012)


def test_nothing_is_claimed_where_nothing_can_be_told(twin: Twin, store: Store) -> None:
    """Actions that have nothing to do with the motion, no trials, or a belief that knows better."""
    reader, rng = _reader(twin, store), np.random.default_rng(0)
    aimless = _trial(_wander(1), _wander(2), 0)
    belief, (told,) = with_drives(twin, [aimless], reader, blobs=store, rng=rng)
    assert belief is twin.belief
    assert told.code == "command-lag"
    assert "nobody knows" in told.message
    assert with_drives(twin, [], reader, blobs=store, rng=rng) == (twin.belief, ())
    sure = block_twin(store, {"robot/joint1/delay": (0.01, 0.02)}, robot=sample_robot(store))
    assert with_drives(sure, [_late_trial(0.1, 0)], reader, blobs=store, rng=rng) == (sure.belief, ())
