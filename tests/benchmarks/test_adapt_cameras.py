"""`gemel bench adapt --poses cameras`: registration, kept episodes, what is reported, and one short closed loop."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.benchmarks.adapt import kept_episodes
from gemel.benchmarks.adapt.bench import bench_adapt
from gemel.benchmarks.adapt.cameras import ROUGH, Asked, report
from gemel.benchmarks.adapt.cells import TOP
from gemel.benchmarks.adapt.registration import Registration, register
from gemel.benchmarks.adapt.trials import Job
from gemel.benchmarks.adapt.watched import Scene, Watch, Watched, registered, run_watched, world_of
from gemel.benchmarks.recorded_pushes import Pushes, record_pushes
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.worlds.fleet import WorldFleet
from gemel.worlds.world_robot import WorldRobot
from services.policy.test_conditioned import made_policy

NOWHERE = Registration(SE3.identity(), SE3.identity())


def _job(folder: Path) -> Job:
    (folder / "push-t").mkdir()
    made_policy(folder / "push-t" / "noise_trained-0.safetensors")
    return Job(TOP, 0, 1, ("fused",), str(folder))


def _watched(end_m: float, error_m: float) -> Watched:
    """Three periods that end so far from the goal, told with so large an error."""
    goal = np.array([TOP.task.goal[f"object/{part}"] for part in ("x", "y", "yaw")])
    path = np.tile(goal, (4, 1)) + np.array([end_m, 0.0, 0.0])
    seen = path[:-1] + np.array([0.0, error_m, 2.0 * np.pi + np.radians(1.0)])
    lost = np.array([True, False, False])
    return Watched(path, seen, lost, np.full((2, 3), np.nan), np.tile([0.4, 0.1, 0.01], (3, 1)))


def test_one_gauge_of_the_world_is_found_whatever_the_objects_frame() -> None:
    """Poses that another world and another object frame hide come back to the task's place and heading."""
    rng = np.random.default_rng(0)
    T_world_twin, T_object_task = SE3.exp(0.02 * rng.standard_normal(6)), SE3.exp(rng.standard_normal(6))
    places = np.column_stack([rng.uniform(-0.2, 0.2, (6, 2)), np.full(6, 0.02)])
    known = SE3(SO3.exp(np.column_stack([np.zeros((6, 2)), rng.uniform(-3.0, 3.0, 6)])), places)
    seen = T_world_twin.inverse() @ known @ T_object_task.inverse()
    found = register(seen.as_matrix(), known.as_matrix(), T_object_task)
    np.testing.assert_allclose(found.T_world_twin.as_matrix(), T_world_twin.as_matrix(), atol=1e-9)
    np.testing.assert_allclose(found.planar(seen[2])[:2], places[2, :2], atol=1e-9)
    np.testing.assert_allclose(found.planar(seen[2])[2], known[2].rotation.log()[2], atol=1e-9)


def test_an_episode_is_run_once_and_again_only_when_something_changed(tmp_path, monkeypatch) -> None:
    """The same work is read from its file; another number, twin or network is run."""
    ran: list[int] = []

    def run(watch: Watch) -> Watched:
        ran.append(watch.number)
        return _watched(0.001 * watch.number, 0.0)

    monkeypatch.setattr(kept_episodes, "run_watched", run)
    watch = Watch(Scene(Pushes(7, 1), str(tmp_path / "worlds"), 0), NOWHERE, _job(tmp_path), "fused", 3)
    first, second = kept_episodes.kept_or_run(watch), kept_episodes.kept_or_run(watch)
    assert ran == [3]
    np.testing.assert_array_equal(first.path, second.path)
    assert second.is_lost.dtype == bool
    kept_episodes.kept_or_run(replace(watch, number=4))
    kept_episodes.kept_or_run(replace(watch, registration=Registration(SE3.exp(np.full(6, 1e-6)), SE3.identity())))
    made_policy(tmp_path / "push-t" / "noise_trained-0.safetensors", history=2)
    kept_episodes.kept_or_run(watch)
    assert ran == [3, 4, 3, 3]


def test_the_report_tells_success_by_world_and_errors_of_what_was_told(tmp_path) -> None:
    """One of two worlds succeeds; poses were told 2 mm and 1 degree (not whole turns) off; each first frame is lost."""
    scenes = (Scene(Pushes(7, 1), str(tmp_path), 0), Scene(Pushes(8, 1), str(tmp_path), 0))
    asked = Asked(_job(tmp_path), scenes, (0, 1), workers=1)
    watched = {"fused": [[_watched(0.0, 0.002)] * 2, [_watched(0.05, 0.002)] * 2]}
    figures, rows = report(asked, {}, watched, seed=0)
    assert figures["cameras_success_paper_fused_top"] == 0.5
    assert figures["cameras_lost_frames"] == 4.0
    np.testing.assert_allclose(figures["cameras_pose_error_mm"], 2.0, rtol=1e-9)
    np.testing.assert_allclose(figures["cameras_pose_error_deg"], 1.0, rtol=1e-9)
    assert rows[0]["strict by world"] == "100 0"


def test_episodes_with_cameras_and_with_noise_begin_alike(tmp_path) -> None:
    """A fleet of one world's numbered episodes starts them where the robot with cameras does."""
    world = world_of(Scene(Pushes(7, 1), str(tmp_path), 0), TOP)
    fleet = WorldFleet([world] * 2, threads=1)
    fleet.reset([world.initial_condition(n) for n in (1000, 1001)], (1000, 1001))
    for row, number in enumerate((1000, 1001)):
        robot = WorldRobot(world, episode=number, is_rendering=False)
        robot.reset(world.initial_condition(number))
        alone = robot.physics.T_world_object.translation[:2]
        np.testing.assert_allclose(fleet.object_poses()[row, :2], alone, atol=1e-6)
    assert world.hidden.parameters[TOP.parameter] == TOP.truth


def test_unknown_poses_and_missing_networks_are_refused_before_anything_is_recorded(tmp_path) -> None:
    with pytest.raises(ConfigError, match="'camera' is unknown"):
        bench_adapt(quick=True, seed=0, poses="camera")
    with pytest.raises(ConfigError, match=r"gemel train push-t --variant randomised"):
        bench_adapt(
            quick=True, seed=0, data=tmp_path, poses="cameras", variants="randomised", recordings=tmp_path / "worlds"
        )
    assert not (tmp_path / "worlds").exists()


@pytest.mark.slow
def test_a_policy_is_told_where_a_twin_of_pixels_sees_the_object(tmp_path) -> None:
    """The whole pipeline on tiny images, roughly fitted: what is told is within 2 cm and 10 degrees of the truth."""
    pytest.importorskip("mitsuba")
    pushes = Pushes(7, 1, (64, 48), 2.5)
    record_pushes([pushes], tmp_path / "worlds", workers=1)
    scene = Scene(pushes, str(tmp_path / "worlds"), 0, ROUGH)
    watch = Watch(scene, registered(scene), _job(tmp_path), "fused", 1000, steps=3)
    watched = run_watched(watch)
    errors = watched.seen - watched.path[:-1]
    assert not watched.is_lost.any()
    assert np.linalg.norm(errors[:, :2], axis=1).max() < 0.02
    assert np.abs(errors[:, 2]).max() < np.radians(10.0)
    assert np.isfinite(watched.believed).all()
