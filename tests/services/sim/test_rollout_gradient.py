"""Gradients of rollouts: equal to the formula where there is one, to a wide difference where contacts switch."""

import numpy as np
import pytest
import torch  # noqa: TID253 - a step of a torch graph

from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.rollout_gradient import DifferentiableRollout
from services.sim.made_scenes import box_on_table, pair, scene

_SPEED, _GRAVITY = 0.6, 9.81


def _slide(frictions: np.ndarray) -> tuple[SE3, np.ndarray]:
    """Where a box that slides at 0.6 m/s has come to rest, (n, 1) -> (n, 1)."""
    simulator = SimulatorNative(box_on_table(), len(frictions), threads=1)
    simulator.set_parameters(["contact/block-table/friction"], frictions)
    qvel = np.tile([_SPEED, 0.0, 0.0, 0.0, 0.0, 0.0], (len(frictions), 1))
    simulator.reset(simulator.model.qpos0[None], qvel)
    rollout = simulator.rollout(np.zeros((1, 1, 0)), every=300)
    return simulator.body_poses("block", rollout.qpos), rollout.is_diverged


def test_stopping_distance_has_its_analytic_gradient() -> None:
    """d/dmu of v² / (2 mu g), through a contact, to 2 %."""
    friction = torch.tensor([0.4], dtype=torch.float64, requires_grad=True)
    rollout = DifferentiableRollout(_slide, np.array([[0.01]]), np.random.default_rng(0))
    poses = rollout(friction)
    assert float(poses[0, 0, 3].detach()) == pytest.approx(_SPEED**2 / (2 * 0.4 * _GRAVITY), rel=0.02)
    poses[0, 0, 3].backward()
    assert friction.grad is not None
    assert float(friction.grad[0]) == pytest.approx(-(_SPEED**2) / (2 * 0.4**2 * _GRAVITY), rel=0.02)


def test_turns_reach_the_parameters() -> None:
    """The gradient of any function of rotation and translation is the one that differentiating the motion gives."""

    def spin(z: np.ndarray) -> tuple[SE3, np.ndarray]:
        twist = np.zeros((len(z), 2, 6))
        twist[:, :, 0], twist[:, 0, 5], twist[:, 1, 4] = z[:, :1], z[:, 1], z[:, 1] * 0.5
        return SE3.exp(twist), np.zeros(len(z), dtype=bool)

    z = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor(np.random.default_rng(1).standard_normal((2, 4, 4)))
    (weights * DifferentiableRollout(spin, 1e-3 * np.eye(2), np.random.default_rng(2))(z)).sum().backward()
    at = z.detach().numpy()
    steps = 1e-5 * np.eye(2)
    ends = [[float((weights.numpy() * spin((at + s * step)[None])[0].as_matrix()[0]).sum()) for s in (1, -1)]
            for step in steps]  # fmt: skip
    assert z.grad is not None
    np.testing.assert_allclose(z.grad.numpy(), [(a - b) / 2e-5 for a, b in ends], rtol=1e-4)


def _pushed() -> tuple[SimulatorNative, int]:
    count = 33
    model = scene(
        '<geom name="table" type="plane" size="5 5 0.1"/>'
        '<body name="block" pos="0 0 0.02" simple="false"><freejoint name="block"/>'
        '<geom name="block" type="box" size="0.05 0.05 0.02" mass="1"/></body>'
        '<body name="tip" pos="-0.07 0.02 0.03"><joint name="tip" type="slide" axis="1 0 0"/>'
        '<geom name="tip" type="cylinder" size="0.01 0.02" mass="5"/></body>',
        pair("block", "table", dimension=4) + pair("tip", "block", 0.3),
        '<actuator><position joint="tip" kp="20000" kv="900"/></actuator>',
    )
    return SimulatorNative(model, count, threads=1), count


def test_push_follows_a_wide_difference() -> None:
    """A tip pushes a box off its middle. The slope of its pose in the centre of mass is that of a wide difference."""
    simulator, count = _pushed()

    def push(z: np.ndarray) -> tuple[SE3, np.ndarray]:
        rows = np.concatenate([z, np.repeat(z[-1:], count - len(z), axis=0)])
        simulator.set_parameters(["object/block/com_y"], rows)
        simulator.reset(simulator.model.qpos0[None], commands=np.zeros((1, 1)))
        path = np.linspace(0.0, 0.06, 11)[1:]
        rollout = simulator.rollout(path[None, :, None], every=50, is_ramp=True)
        return simulator.body_poses("block", rollout.qpos[: len(z), [4, 9]]), rollout.is_diverged[: len(z)]

    width = 0.005
    rollout = DifferentiableRollout(push, np.array([[width]]), np.random.default_rng(3), draws=32)
    rollout.linearise(np.zeros(1))
    ends, _ = push(np.array([[1.5 * width], [-1.5 * width]]))
    turn = (ends[0].rotation @ ends[1].rotation.inverse()).log() / (3.0 * width)
    shift = (ends[0].translation - ends[1].translation) / (3.0 * width)
    assert abs(turn[1, 2]) > 1.0  # rad per metre: the push does turn it
    np.testing.assert_allclose(rollout.slopes[:, 5, 0], turn[:, 2], rtol=0.1)
    np.testing.assert_allclose(rollout.slopes[:, :2, 0], shift[:, :2], atol=0.1 * np.abs(shift).max())


def test_no_slopes_without_rollouts() -> None:
    """Where all neighbours diverge, it says what to do."""

    def broken(z: np.ndarray) -> tuple[SE3, np.ndarray]:
        return SE3.identity(len(z), 1), np.arange(len(z)) > 0

    with pytest.raises(ConfigError, match="diverged"):
        DifferentiableRollout(broken, np.eye(1), np.random.default_rng(4)).linearise(np.zeros(1))


def test_roughness_and_doubt_tell_the_error_of_slopes() -> None:
    """On a plane with noise, the slopes scatter about the true ones as roughness and doubt say."""
    rng = np.random.default_rng(5)
    true = np.array([0.02, -0.01])

    def noisy(z: np.ndarray) -> tuple[SE3, np.ndarray]:
        translation = np.zeros((len(z), 1, 3))
        translation[:, 0, 0] = z @ true + 0.003 * rng.standard_normal(len(z))
        return SE3(SE3.identity(len(z), 1).rotation, translation), np.zeros(len(z), dtype=bool)

    errors = []
    for seed in range(200):
        rollout = DifferentiableRollout(noisy, np.diag([0.5, 2.0]), np.random.default_rng(seed))
        rollout.linearise(np.zeros(2))
        errors.append((rollout.slopes[0, 0] - true) / np.sqrt(rollout.roughness[0, 0, 0] * np.diag(rollout.doubt)))
    np.testing.assert_allclose(np.std(errors, axis=0), 1.0, atol=0.2)
