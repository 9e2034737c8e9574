"""Quasi-static pushing: laws of the plane, and agreement with MuJoCo on pushes anywhere on the block."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.services.policy.nominal_arena import even_belief, nominal_arena
from gemel.services.policy.outcome import wrapped
from gemel.services.policy.push_outline import Outline
from gemel.services.tasks import get_object
from services.policy.push_about import push_about

OUTLINE = Outline.of(get_object("t_block"), 0.010)


def _push(pose: list[float], now: list[float], after: list[float], com: tuple[float, float], mu: float) -> np.ndarray:
    rows = (np.array([value], dtype=np.float64) for value in (pose, now, after, [*com, mu, 1.0, 0.006]))
    return np.asarray(OUTLINE.pushed(*rows)[0][0])


def _push_without_lean(tip: np.ndarray, step: np.ndarray, com: tuple[float, float], mu: float) -> np.ndarray:
    rows = (np.array([value]) for value in ([0.0, 0.0, 0.0], tip, tip + step, [*com, mu, 1.0, 0.0]))
    return np.asarray(OUTLINE.pushed(*rows)[0][0])


def test_a_push_through_the_centre_of_mass_does_not_turn() -> None:
    """Square on the stem at the height of the centre of mass: straight on; above or below: turned either way."""
    for aim, sign in ((0.02, 0), (0.03, 1), (0.01, -1)):
        moved = _push([0, 0, 0], [-0.035, aim], [-0.015, aim], (0.0, 0.02), 0.3)
        assert np.sign(np.round(moved[2], 9)) == -sign
        assert 0.01 < moved[0] < 0.021
    assert _push([0, 0, 0], [-0.035, 0.02], [-0.015, 0.02], (0.0, 0.02), 0.3)[:2] == pytest.approx([0.02, 0.0])


def test_mirrored_and_turned_pushes_give_mirrored_and_turned_motions() -> None:
    """The plane has no preferred direction."""
    plain = _push([0, 0, 0], [-0.05, 0.045], [-0.03, 0.052], (0.004, 0.03), 0.3)
    mirrored = _push([0, 0, 0], [0.05, 0.045], [0.03, 0.052], (-0.004, 0.03), 0.3)
    np.testing.assert_allclose(mirrored * [-1, 1, -1], plain, atol=1e-12)
    turn = 0.7
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    start, end = R @ [-0.05, 0.045] + [0.3, -0.1], R @ [-0.03, 0.052] + [0.3, -0.1]
    turned = _push([0.3, -0.1, turn], list(start), list(end), (0.004, 0.03), 0.3)
    np.testing.assert_allclose(turned[:2], R @ plain[:2] + [0.3, -0.1], atol=1e-12)
    assert turned[2] == pytest.approx(plain[2] + turn)


def test_the_tip_does_not_stay_inside_and_a_miss_moves_nothing() -> None:
    """After a push the tip touches the outline from outside; a tip that passes by changes nothing."""
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.2, 0.2, (2000, 2))
    places = places[OUTLINE.clearance_m(places) > 0.0]
    after = places * (1.0 - 0.015 / np.linalg.norm(places, axis=1, keepdims=True))
    physics = np.tile([0.0, 0.03, 0.3, 1.0, 0.0], (len(places), 1))
    poses, depth = OUTLINE.pushed(np.zeros((len(places), 3)), places, after, physics)
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    off = after - poses[:, :2]
    seen = np.column_stack([c * off[:, 0] + s * off[:, 1], c * off[:, 1] - s * off[:, 0]])
    assert OUTLINE.clearance_m(seen).min() > -0.002
    assert np.all(poses[depth == 0.0] == 0.0)
    assert (depth > 0.0).sum() > 20


def test_friction_balances_the_push() -> None:
    """A tip that sticks: friction at the supports, each against its own motion, has no moment about the contact."""
    com, tip = (0.0, 0.05), np.array([-0.035, -0.02])
    step = np.array([1e-3, 0.0])
    places, parts = OUTLINE.supports[:, :2], OUTLINE.supports[:, 2].copy()
    assert parts.sum() == pytest.approx(1.0)
    middle = parts @ places
    slope = np.linalg.solve((parts[:, None] * (places - middle)).T @ (places - middle), [0.0, com[1]] - middle)
    pressure = parts * (1.0 + (places - middle) @ slope)
    assert np.all(pressure > 0.0)
    np.testing.assert_allclose(pressure @ places, com, atol=1e-12)
    found = _push_without_lean(tip, step, com, 5.0)
    velocity = found[:2] + found[2] * np.column_stack([-places[:, 1], places[:, 0]])
    force = -pressure[:, None] * velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
    lever = places - [-0.025, -0.02]
    moment = np.sum(lever[:, 0] * force[:, 1] - lever[:, 1] * force[:, 0])
    assert abs(moment) < 0.01 * np.abs(lever[:, 0] * force[:, 1] - lever[:, 1] * force[:, 0]).sum()
    assert found[2] > 0.0


@pytest.mark.slow
def test_pushes_agree_with_mujoco() -> None:
    """Half of all control periods are foretold within 0.8 mm and 0.6 degrees, in a scene that has inertia."""
    arena = nominal_arena()
    ranges = dict(arena.task.parameter_ranges)
    pushes = push_about(replace(arena, belief=even_belief(ranges)), OUTLINE, count=200, seed=0, worlds=40)
    names = list(ranges)
    errors = []
    for t in range(3, pushes.poses.shape[1] - 1):
        com, mu = (pushes.theta[:, names.index(n)] for n in ("object/t_block/com_y", "contact/t_block-pusher/friction"))
        physics = np.column_stack([np.zeros_like(com), com, mu, np.ones_like(com), np.zeros_like(com)])
        foretold, _ = OUTLINE.pushed(pushes.poses[:, t], pushes.tips[:, t], pushes.tips[:, t + 1], physics)
        off = pushes.poses[:, t + 1] - foretold
        is_moved = np.linalg.norm(pushes.poses[:, t + 1, :2] - pushes.poses[:, t, :2], axis=1) > 0.001
        off[:, 2] = wrapped(off[:, 2])
        errors.append(off[is_moved])
    off = np.abs(np.concatenate(errors))
    assert len(off) > 500
    assert np.median(np.hypot(off[:, 0], off[:, 1])) < 0.0008
    assert np.median(np.degrees(off[:, 2])) < 0.6
