"""Pictures: right place, stated noise, same bytes; nothing but the sensor's noise where nothing moves."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.geometry import SE3, Pinhole
from gemel.worlds.hand import HAND
from gemel.worlds.history import History
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.render import STATED_NOISE, Renderer, camera_pose
from gemel.worlds.render_world import world_renderer
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.shapes import primitive_mesh, split_creases
from gemel.worlds.world_robot import WorldRobot

CONFIG = WorldConfig("push-t", seed=4, size=(64, 48), imperfections=Imperfections.none())


@pytest.fixture(scope="module")
def still() -> tuple[Renderer, History]:
    """A world's renderer and a history in which nothing moves."""
    world = World(CONFIG)
    robot = WorldRobot(world, is_rendering=False)
    robot.reset({**world.initial_condition(1), "tip/x": 0.25, "tip/y": -0.25})
    robot.physics.advance()
    return world_renderer(CONFIG), robot.history()


@pytest.mark.parametrize("camera_index", [0, 1, 2])
def test_few_light_paths_agree_with_many(still: tuple[Renderer, History], camera_index: int) -> None:
    """At the default sample count the error against 144 paths is below the stated noise, and its mean near zero."""
    renderer, history = still
    camera = renderer.cameras[camera_index]
    many = renderer._instant(history, camera, 0.0, 144, 9).radiance
    few = renderer.radiance(history, camera, 0.0, sample_count=WorldConfig.sample_count, seed=1)
    error = np.clip(few, 0.0, 1.0) - np.clip(many, 0.0, 1.0)
    assert np.sqrt(np.mean(error**2)) < STATED_NOISE
    assert abs(error.mean()) < 0.1 * STATED_NOISE


def test_the_object_appears_where_the_camera_model_projects_it(still: tuple[Renderer, History]) -> None:
    """The block's silhouette in the picture and its projected vertices have the same bounds, to a pixel."""
    renderer, history = still
    camera, poses = renderer.cameras[0], history.at(0.0)
    assert isinstance(camera.model, Pinhole)
    colour = renderer._instant(history, camera, 0.0, 16, 1).features[..., :3]
    is_block = (colour[..., 0] > 2.0 * colour[..., 1] + 0.1) & (colour[..., 2] < 0.1)
    rows, columns = np.nonzero(is_block)
    T_world_object = SE3.from_wxyz_xyz(poses[history.body_names.index("t_block")])
    T_camera_world = camera_pose(camera, history.body_names, poses).inverse()
    vertices = World(CONFIG).scenario.model.vertices
    pixels = camera.model.project(T_camera_world @ (T_world_object @ vertices))
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    np.testing.assert_allclose([columns.min(), rows.min()], low, atol=1.5)
    np.testing.assert_allclose([columns.max() + 1, rows.max() + 1], high, atol=1.5)


def test_a_still_scene_gives_the_same_frame_again(still: tuple[Renderer, History]) -> None:
    """Without sensor noise two frames of a still scene are equal; with it they differ by about that noise."""
    renderer, history = still
    first, second = (renderer.frame(history, "front", step, 0.05 * step, 1) for step in (0, 1))
    np.testing.assert_array_equal(first, second)
    noisy = replace(renderer, imperfections=replace(CONFIG.imperfections, read_noise=0.01))
    assert 0.2 < np.abs(noisy.frame(history, "front", 0, 0.0, 1).astype(float) - first).mean() < 6.0


def test_a_late_camera_shows_the_past() -> None:
    """A frame with a time offset equals the frame of that earlier moment from a camera without one."""
    world = World(CONFIG)
    robot = WorldRobot(world, is_rendering=False)
    robot.reset(world.initial_condition(1))
    for _ in range(5):
        robot.act(np.array([0.02, -0.02]))
    history, renderer = robot.history(), world_renderer(CONFIG)
    late = replace(renderer, cameras=tuple(replace(c, time_offset_s=-0.2) for c in renderer.cameras))
    shown = late.frame(history, "front", 0, 0.5, 1)
    np.testing.assert_array_equal(shown, renderer.frame(history, "front", 0, 0.3, 1))
    assert not np.array_equal(shown, renderer.frame(history, "front", 0, 0.5, 1))


def test_exposure_blurs_what_moves() -> None:
    """A long exposure of a moving arm has weaker edges than a short one."""
    world = World(CONFIG)
    robot = WorldRobot(world, is_rendering=False)
    robot.reset(world.initial_condition(1))
    for _ in range(6):
        robot.act(np.array([0.02, -0.02]))
    history, sharpness = robot.history(), []
    for exposure_s in (0.0, 0.2):
        renderer = replace(world_renderer(CONFIG), imperfections=replace(CONFIG.imperfections, exposure_s=exposure_s))
        grey = renderer.frame(history, "wrist", 0, 0.4, 1).astype(float).mean(axis=2)
        sharpness.append(float(np.abs(np.diff(grey, axis=0)).mean()))
    assert sharpness[1] < 0.9 * sharpness[0]


def test_a_hand_passes_only_when_it_is_switched_on() -> None:
    """With probability one the hand is over the table for a while; with zero it is never there."""
    for probability in (0.0, 1.0):
        imperfections = replace(Imperfections.none(), hand_probability=probability)
        world = World(replace(CONFIG, imperfections=imperfections))
        robot = WorldRobot(world, episode=1, is_rendering=False)
        robot.reset(world.initial_condition(1))
        for _ in range(60):
            robot.physics.advance()
        history = robot.history()
        heights = history.poses[:, history.body_names.index(HAND), 6]
        assert bool(np.any(heights > 0.0)) is (probability > 0.0)


def test_splitting_creases_keeps_the_surface() -> None:
    """A box gets its own vertices on every side, a ball shares all of them; faces stay where they were."""
    box, ball = primitive_mesh("box", np.array([0.1, 0.2, 0.3])), primitive_mesh("sphere", np.array([0.1, 0.0, 0.0]))
    for mesh, count in ((box, 24), (ball, len(ball[0]))):
        vertices, faces = split_creases(*mesh)
        assert len(vertices) == count
        np.testing.assert_allclose(vertices[faces], mesh[0][mesh[1]])


@pytest.mark.parametrize("task", ["push-t", "push-hammer"])
def test_the_outline_on_the_table_is_where_the_goal_is(task: str) -> None:
    """The middle of the blue pixels is that of the object's outline at the goal, not its mirror image's."""
    config = WorldConfig(task, seed=4, size=(160, 120), imperfections=Imperfections.none())
    world = World(config)
    robot = WorldRobot(world, is_rendering=False)
    robot.reset({**world.initial_condition(1), "object/x": 0.35, "object/y": 0.3, "tip/x": 0.25, "tip/y": -0.3})
    robot.physics.advance()
    renderer, history = world_renderer(config), robot.history()
    camera = renderer.cameras[0]
    light = renderer.radiance(history, camera, 0.0, sample_count=16, seed=1)
    rows, columns = np.nonzero(light[..., 2] > 1.3 * light[..., 0])
    goal, (c, s) = world.task.goal, (np.cos(world.task.goal["object/yaw"]), np.sin(world.task.goal["object/yaw"]))
    p = world.scenario.model.vertices[:, :2] @ np.array([[c, s], [-s, c]]) + [goal["object/x"], goal["object/y"]]
    assert isinstance(camera.model, Pinhole)
    assert camera.T_parent_camera is not None
    wanted = camera.model.project(camera.T_parent_camera.inverse() @ np.column_stack([p, np.zeros(len(p))]))
    found = np.column_stack([columns + 0.5, rows + 0.5])
    np.testing.assert_allclose(0.5 * (found.min(axis=0) + found.max(axis=0)),
                               0.5 * (wanted.min(axis=0) + wanted.max(axis=0)), atol=4.0)  # fmt: skip
