"""Recording a world as a lab would: a LeRobot v3.0 dataset with calibration guesses, and the truth sealed beside it.

First all episodes are simulated, then all frames are rendered, both in parallel; each frame depends on nothing but the
world's configuration and its own place, so the bytes are the same for any number of workers.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8

from gemel.errors import ConfigError, choices_text
from gemel.services.engine import LocalEngine
from gemel.services.formats.calibration import camera_table
from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter
from gemel.services.formats.toml_table import toml_lines
from gemel.worlds.history import History
from gemel.worlds.machine import machine_mjcf
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.simulate import EpisodeJob, Simulated, simulate_episode
from gemel.worlds.truth import truth_folder, write_truth

OnProgress = Callable[[str, int, int], None]
"""Called with what is being done (`simulating`, `rendering` or `writing`), how much is done and how much there is."""
ROBOT_FILE = "meta/robot.xml"
SUCCESS = "next.success"
_FRAMES_PER_JOB = 15
_RATE_FACTOR = {"h264": 23, "av1": 30}
"""What recorders use: x264's own default, and LeRobot's for AV1."""


@dataclass(frozen=True)
class RecordPlan:
    """What to record, and with what."""

    episodes: int = 14
    """Task episodes after the scan; a scan world has only scans."""
    seconds: float = 0.0
    """Longest episode [s]; 0 means what the world's operators take."""
    codec: str = "h264"
    """Video codec: h264 or av1."""
    workers: int = 0
    """Processes; 0 means one for each core."""


@dataclass(frozen=True, eq=False)
class _RenderJob:
    """Some frames of one camera in one episode."""

    config: WorldConfig
    episode: int
    camera: str
    steps: Int[np.ndarray, " n"]
    times_s: Float[np.ndarray, " n"]
    history: History
    target: str
    """File for the frames."""


def record_world(
    config: WorldConfig,
    folder: Path,
    plan: RecordPlan,
    *,
    on_progress: OnProgress = lambda phase, done, total: None,
) -> Path:
    """Record a world into a folder and return where its truth is sealed."""
    truth = truth_folder(folder)
    _check_free(folder, truth)
    if plan.codec not in _RATE_FACTOR:
        raise ConfigError(f"Codec {choices_text(plan.codec, tuple(_RATE_FACTOR))}", remedy="use one of the choices")
    world, engine = World(config), LocalEngine()
    episodes = engine.map(
        simulate_episode,
        _episode_jobs(config, plan),
        workers=plan.workers,
        on_progress=lambda done, total: on_progress("simulating", done, total),
    )
    with tempfile.TemporaryDirectory(prefix="gemel-world-") as scratch:
        jobs = [job for simulated in episodes for job in _render_jobs(world, simulated, Path(scratch))]
        engine.map(
            _render_frames,
            jobs,
            workers=plan.workers,
            on_progress=lambda done, total: on_progress("rendering", done, total),
        )
        _write_dataset(folder, world, episodes, jobs, plan, on_progress)
    write_truth(truth, world, episodes)
    return truth


def _episode_jobs(config: WorldConfig, plan: RecordPlan) -> list[EpisodeJob]:
    """Every capture begins with a scan; a scan world has nothing else."""
    if config.name == "scan":
        return [EpisodeJob(config, i, is_scan=True, seconds=plan.seconds) for i in range(max(plan.episodes, 1))]
    rest = [EpisodeJob(config, i + 1, is_scan=False, seconds=plan.seconds) for i in range(plan.episodes)]
    return [EpisodeJob(config, 0, is_scan=True, seconds=plan.seconds), *rest]


def _render_jobs(world: World, simulated: Simulated, scratch: Path) -> Iterator[_RenderJob]:
    steps = np.flatnonzero(simulated.is_kept)
    for camera in world.camera_guesses:
        for start in range(0, len(steps), _FRAMES_PER_JOB):
            chosen = steps[start : start + _FRAMES_PER_JOB]
            name = f"{simulated.job.episode:04d}-{camera.name}-{start:06d}.npy"
            yield _RenderJob(
                config=world.config,
                episode=simulated.job.episode,
                camera=camera.name,
                steps=chosen,
                times_s=simulated.episode.times_s[chosen],
                history=simulated.history,
                target=str(scratch / name),
            )


def _render_frames(job: _RenderJob) -> int:
    """Render some frames into a file; returns their number. Frames go through files because pipes would hold them."""
    from gemel.worlds.render_world import world_renderer

    renderer = world_renderer(job.config)
    frames = [
        renderer.frame(job.history, job.camera, int(step), float(time_s), job.episode)
        for step, time_s in zip(job.steps, job.times_s, strict=True)
    ]
    np.save(job.target, np.stack(frames), allow_pickle=False)
    return len(frames)


def _write_dataset(
    folder: Path,
    world: World,
    episodes: list[Simulated],
    jobs: list[_RenderJob],
    plan: RecordPlan,
    on_progress: OnProgress,
) -> None:
    with LerobotWriter(folder, _spec(world, plan.codec)) as writer:
        for done, simulated in enumerate(episodes):
            on_progress("writing", done, len(episodes))
            kept, episode = simulated.is_kept, simulated.episode
            writer.add_episode(
                task=episode.task,
                state=episode.joint_positions[kept],
                action=episode.actions[kept],
                images={c.name: _frames_of(jobs, simulated, c.name) for c in world.camera_guesses},
                extras={SUCCESS: _success_column(simulated)},
                times_s=episode.times_s[kept],
                object_name=world.scenario.model.name,
            )
        writer.add_file(ROBOT_FILE, machine_mjcf(world.machine).encode())
        writer.write_sidecar(sidecar(world, scan_count=sum(s.job.is_scan for s in episodes)))
    on_progress("writing", len(episodes), len(episodes))


def _frames_of(jobs: list[_RenderJob], simulated: Simulated, camera: str) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    for job in jobs:
        if job.episode == simulated.job.episode and job.camera == camera:
            yield from np.load(job.target, allow_pickle=False)


def _success_column(simulated: Simulated) -> Float[np.ndarray, "t 1"]:
    """What the person at the robot notes: one at the end of an episode that went well."""
    column = np.zeros((int(simulated.is_kept.sum()), 1))
    column[-1] = float(bool(simulated.is_success))
    return column


def _spec(world: World, codec: str) -> LerobotSpec:
    return LerobotSpec(
        fps=1.0 / world.task.control_period_s,
        joint_names=world.machine.joint_names,
        action_names=world.scenario.action_names,
        camera_sizes={camera.name: (camera.width, camera.height) for camera in world.camera_guesses},
        extras={SUCCESS: 1},
        robot_type=world.machine.name,
        codec=codec,
        rate_factor=_RATE_FACTOR[codec],
    )


def sidecar(world: World, *, scan_count: int) -> str:
    """`meta/gemel.toml`: what the lab knows. It depends on the world's kind and never on its seed."""
    lines = ["# What the lab's notes say: units, camera guesses, robot model. All of it may be a little wrong.", ""]
    for name, is_gripper in zip(world.machine.joint_names, world.machine.is_gripper, strict=True):
        lines += [*toml_lines({"unit": "m" if is_gripper else "rad"}, f"joints.{name}"), ""]
    if world.scenario.action_names != world.machine.joint_names:
        for quantity in world.task.action:
            lines += [*toml_lines({"unit": quantity.unit}, f"actions.{quantity.name}"), ""]
    for camera in world.camera_guesses:
        lines += [*toml_lines(camera_table(camera), f"cameras.{camera.name}"), ""]
    lines += [*toml_lines({"model": ROBOT_FILE}, "robot"), ""]
    lines += toml_lines({"scan": list(range(scan_count))}, "episodes")
    return "\n".join(lines) + "\n"


def _check_free(folder: Path, truth: Path) -> None:
    for path in (folder, truth):
        if path.exists() and any(path.iterdir()):
            raise ConfigError(f"{path} exists and is not empty.", remedy="record into a new folder, or remove that one")
