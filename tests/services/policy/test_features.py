"""What a push policy sees: what turns with the scene and what does not, and how actions turn."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.task import Task
from gemel.errors import ConfigError
from gemel.services.policy.features import (
    WIDTH,
    FeatureHistory,
    action_bound_m,
    push_features,
    ranges_of,
    to_object,
    to_world,
    told_parameters,
)
from gemel.services.tasks import get_task

TASK = get_task("push-t")
TURNING = [0, 1, 4, 5]
"""Columns along the world's axes."""


def _scene(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    things = rng.uniform([0.3, -0.2, -np.pi], [0.6, 0.2, np.pi], (count, 3))
    tips = things[:, :2] + rng.uniform(-0.2, 0.2, (count, 2))
    return things, tips, tips + rng.uniform(-0.02, 0.02, (count, 2)), rng.uniform(-1.0, 1.0, (count, 2, 2))


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, s], [-s, c]])


def _turned_task(angle: float) -> Task:
    x, y = _turned(np.array([TASK.goal["object/x"], TASK.goal["object/y"]]), angle)
    return replace(TASK, goal={"object/x": x, "object/y": y, "object/yaw": TASK.goal["object/yaw"] + angle})


@pytest.mark.parametrize("angle", [0.3, -2.0, np.pi])
def test_turning_scene_and_goal_together_turns_only_what_is_in_the_world(angle: float) -> None:
    """Columns in the object's frame and the yaw error stay; those along the world's axes turn."""
    things, tips, before, past = _scene(np.random.default_rng(0), 50)
    plain = push_features(things, tips, before, past, TASK)
    moved = np.column_stack([_turned(things[:, :2], angle), things[:, 2] + angle])
    turned = push_features(moved, _turned(tips, angle), _turned(before, angle), past, _turned_task(angle))
    steady = [column for column in range(WIDTH) if column not in TURNING]
    np.testing.assert_allclose(turned[:, steady], plain[:, steady], atol=2e-6)
    for columns in (TURNING[:2], TURNING[2:]):
        np.testing.assert_allclose(turned[:, columns], _turned(plain[:, columns], angle), atol=2e-6)


def test_shifting_everything_changes_nothing() -> None:
    things, tips, before, past = _scene(np.random.default_rng(1), 50)
    by = np.array([0.1, -0.3])
    goal = TASK.goal | {"object/x": TASK.goal["object/x"] + by[0], "object/y": TASK.goal["object/y"] + by[1]}
    shifted = push_features(
        things + np.array([*by, 0.0]), tips + by, before + by, past, replace(TASK, goal=goal)
    )  # fmt: skip
    np.testing.assert_allclose(shifted, push_features(things, tips, before, past, TASK), atol=2e-6)


def test_a_case_by_hand() -> None:
    """An object turned by a right angle, 10 cm past the goal in x; the tip 5 cm from it in y, at 0.1 m/s in y."""
    thing = np.array([[TASK.goal["object/x"] + 0.1, TASK.goal["object/y"], np.pi / 2]])
    tip = thing[:, :2] + np.array([[0.0, 0.05]])
    row = push_features(thing, tip, tip - np.array([[0.0, 0.01]]), np.zeros((1, 2, 2)), TASK)[0]
    wanted = [0.1, 0.0, 1.0, 0.0, 0.0, 0.05, 0.05, 0.0, 0.0, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(row, wanted, atol=1e-6)


def test_actions_turn_and_keep_their_direction() -> None:
    """Within the bound along every axis, in the direction that was asked for; short ones come back unchanged."""
    rng = np.random.default_rng(2)
    action, yaw = rng.uniform(-1.0, 1.0, (200, 2)), rng.uniform(-np.pi, np.pi, 200)
    world = to_world(action, yaw)
    assert np.abs(world).max() <= 1.0
    asked = np.stack([np.cos(yaw) * action[:, 0] - np.sin(yaw) * action[:, 1],
                      np.sin(yaw) * action[:, 0] + np.cos(yaw) * action[:, 1]], axis=1)  # fmt: skip
    np.testing.assert_allclose(world[:, 0] * asked[:, 1], world[:, 1] * asked[:, 0], atol=1e-12)
    short = 0.7 * action
    np.testing.assert_allclose(to_object(to_world(short, yaw), yaw), short, atol=1e-12)


def test_parameters_are_told_in_units_of_their_ranges() -> None:
    ranges = ranges_of(TASK, ["object/t_block/com_y", "contact/t_block-table/friction"])
    mean = np.array([[-0.035, 0.7], [0.02, 0.5]])
    told = told_parameters(mean, np.array([[0.0, 0.0], [0.055, 0.1]]), ranges)
    np.testing.assert_allclose(told, [[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5]], atol=1e-6)


def test_history_begins_as_it_is_and_goes_on() -> None:
    history = FeatureHistory(2, 3, 1)
    history.start(np.array([[1.0], [5.0]], dtype=np.float32), np.arange(2))
    history.push(np.array([[2.0], [6.0]], dtype=np.float32))
    history.start(np.array([[9.0]], dtype=np.float32), np.array([1]))
    np.testing.assert_array_equal(history.stacked, [[2.0, 1.0, 1.0], [9.0, 9.0, 9.0]])


def test_other_tasks_and_impossible_ranges_are_refused() -> None:
    with pytest.raises(ConfigError, match="push policies move"):
        action_bound_m(get_task("scan"))
    with pytest.raises(ConfigError, match="has no range"):
        ranges_of(TASK, ["object/t_block/com_q"])
    backwards = replace(TASK, parameter_ranges={"object/t_block/com_y": (0.1, -0.1)})
    with pytest.raises(ConfigError, match=r"from 0\.1 to -0\.1"):
        ranges_of(backwards, ["object/t_block/com_y"])
