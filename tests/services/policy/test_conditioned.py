"""Trained networks behind `Policy`: they see in the loop what they saw in training, and misfits are refused at once."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.task import Task
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.policy import Observation, Policy
from gemel.services.policy.checkpoint import TrainedNetwork, conditioned_meta, save_network
from gemel.services.policy.conditioned import ConditionedPolicy, PushController
from gemel.services.policy.estimator import Estimator, Fixed
from gemel.services.policy.features import WIDTH, push_features, to_world, told_parameters, widest_sigmas
from gemel.services.policy.mlp import Mlp
from gemel.services.tasks import get_task

TASK = get_task("push-t")
COM = "object/t_block/com_y"


def made_policy(path: Path, *, told: tuple[str, ...] = (COM,), history: int = 1, task: Task = TASK) -> TrainedNetwork:
    """A policy of random weights."""
    rng, width = np.random.default_rng(0), history * WIDTH + 2 * len(told)
    sizes = [width, 8, 2]
    layers = Mlp(
        tuple(rng.standard_normal((a, b)).astype(np.float32) for a, b in pairwise(sizes)),
        tuple(np.zeros(b, np.float32) for b in sizes[1:]), np.zeros(width, np.float32), np.ones(width, np.float32),
    )  # fmt: skip
    variant = "noise_trained" if told else "randomised_history" if history > 1 else "randomised"
    meta = {
        "task": task.name, "variant": variant, "seed": 0, "history": history, "control_period_s": 0.1,
        "conditioned_on": conditioned_meta(told, [task.parameter_ranges[name] for name in told]),
        "made_by": {"command": "a test", "twin": "nominal", "steps": 0, "version": "0"},
    }  # fmt: skip
    return save_network(path, "policy", meta, layers)


def _known(value: float = 0.061, sigma: float = 0.01) -> Fixed:
    return Fixed((COM, "object/t_block/mass"), np.array([value, 0.34]), np.array([sigma, 0.1]))


def test_the_network_sees_features_and_what_it_is_told(tmp_path: Path) -> None:
    """Two steps by hand: features with the past action, then mean and deviation of its own parameter alone."""
    network = made_policy(tmp_path / "p.safetensors")
    controller = PushController(network, TASK, _known())
    controller.start(1)
    assert isinstance(_known(), Estimator)
    first, second = np.array([[0.45, 0.1, 2.0]]), np.array([[0.452, 0.1, 2.1]])
    tips = np.array([[0.40, 0.31]]), np.array([[0.41, 0.30]])
    told = told_parameters(np.array([[0.061]]), np.array([[0.01]]), [TASK.parameter_ranges[COM]])
    past = np.zeros((1, 2, 2))
    seen = push_features(first, tips[0], tips[0], past, TASK)
    action = np.clip(network.layers(np.concatenate([seen, told], axis=1)).astype(np.float64), -1.0, 1.0)
    np.testing.assert_allclose(controller.act(first, tips[0]), 0.02 * to_world(action, first[:, 2]))
    past[:, 0] = action
    seen = push_features(second, tips[1], tips[0], past, TASK)
    action = network.layers(np.concatenate([seen, told], axis=1)).astype(np.float64)
    np.testing.assert_allclose(controller.act(second, tips[1]), 0.02 * to_world(action, second[:, 2]))


def test_uncertainty_is_told_no_wider_than_in_training(tmp_path: Path) -> None:
    """A deviation of 5 cm is told as 2 cm: the policy has not learnt what more would mean."""
    network = made_policy(tmp_path / "p.safetensors")
    pose, tip = np.array([[0.45, 0.1, 2.0]]), np.array([[0.40, 0.31]])
    actions = []
    for sigma in (0.02, 0.05):
        controller = PushController(network, TASK, _known(sigma=sigma))
        controller.start(1)
        actions.append(controller.act(pose, tip))
    np.testing.assert_array_equal(*actions)
    np.testing.assert_allclose(widest_sigmas((COM, "x"), [(0.0, 0.11), (0.0, 1.1)]), [0.02, 0.2])


def test_one_robot_is_a_policy(tmp_path: Path) -> None:
    """It acts on observations, says what it needs, remembers what it was told, and needs the object's pose."""
    controller = PushController(made_policy(tmp_path / "p.safetensors", history=10), TASK, _known())
    policy = ConditionedPolicy(controller, lambda joints: joints[:, :2])
    assert isinstance(policy, Policy)
    assert policy.specification.action_names == ("tip_x", "tip_y")
    assert policy.specification.needs_object_poses
    policy.reset()
    pose = SE3(SO3.identity(), np.array([0.45, 0.0, 0.02]))
    seen = Observation(0.0, np.array([0.4, 0.3]), object_poses={"t_block": pose})
    assert policy.act(seen).shape == (1, 2)
    assert np.abs(policy.act(seen)).max() <= 0.02
    assert len(policy.told) == 2
    policy.reset()
    assert policy.told == []
    with pytest.raises(ConfigError, match="where 't_block' is"):
        policy.act(Observation(0.0, np.array([0.4, 0.3])))


def test_what_does_not_fit_is_refused_before_anything_moves(tmp_path: Path) -> None:
    """Another task, another width, a parameter that nobody estimates, a network that does not act."""
    network = made_policy(tmp_path / "p.safetensors")
    with pytest.raises(ConfigError, match="trained for push-t"):
        PushController(network, get_task("push-hammer"), _known())
    with pytest.raises(ConfigError, match="nothing here estimates that"):
        PushController(network, TASK, None)
    longer = TrainedNetwork("policy", {**network.meta, "history": 10}, network.layers)
    with pytest.raises(ConfigError, match="means 162 and 2"):
        PushController(longer, TASK, _known())
    with pytest.raises(ConfigError, match="does not act"):
        PushController(TrainedNetwork("encoders", network.meta, network.layers), TASK, _known())
