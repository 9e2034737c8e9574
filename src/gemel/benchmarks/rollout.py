"""`gemel bench rollout`: what an environment of a twin costs over the bare physics engine, and how fast it draws.

Two scenes: the nominal push, a T-block on ten feet and a cylinder on slides that pushes it, and a twin of the bundled
capture's robot, a six-joint arm whose actions move its tip (`_arm`). Elliptic cones; every simulation has its own mass,
centre of mass and friction. An environment run is recorded; then the environment repeats it and the bare engine carries
out the very same commands from the same states with the same parameters, turn by turn. What the environment does
besides: controllers, inverse kinematics, drives with delays, observations with noise, rewards, criteria, breakdown
checks, flight recorder. The reset at the start of a run is not timed; those of episodes that end within it are, and
the table says how many (`resets_timed`).
"""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.registry import Result
from gemel.benchmarks.rollout_arm import arm_arena
from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.services.policy.arena import Arena
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.render.renderer import usable_backends
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.make import make_simulator
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.planar_push import FINE
from gemel.services.sim.slots import resting_commands

_ROUNDS = 9
_CPU_WORLDS, _CPU_PERIODS = 256, 20
_GPU_WORLDS, _GPU_PERIODS = (4096, 32768), 20
_GPU_FRAME_WORLDS = 1024
_APPROACH_M = 0.02
_MOVED_M = 0.001
SLIDES, ARM = "pusher on slides", "six-joint arm"


@dataclass(frozen=True, eq=False)
class Recorded:
    """One run of an environment, to be repeated."""

    seed: int
    actions: list[Float[np.ndarray, "sim action"]]
    commands: list[Float[np.ndarray, "sim step nu"]]
    """What reached the servos at each physics step of each period."""
    qpos: Float[np.ndarray, "sim nq"]
    """At the start."""
    held: Float[np.ndarray, "sim nu"]
    fields: dict[str, np.ndarray]
    """Model fields that differ between simulations."""
    moved: float
    """Part of the simulations in which the pusher moved the block."""
    resets: int
    """Episodes that ended, and began anew, within the run."""


def bench_rollout(*, quick: bool = False, seed: int = 0) -> Result:
    """Steps per second of the vector environment over the bare engine's, rendered frames per second, memory."""
    figures: dict[str, float] = {}
    rows: list[dict[str, object]] = []
    if importlib.util.find_spec("numba") is not None:  # drives and the renderer on the processor are compiled by it
        worlds, periods = (32, 4) if quick else (_CPU_WORLDS, _CPU_PERIODS)
        memory_kb = _memory_kb_native(256 if quick else 8192)  # first: later, freed memory would be taken again
        rounds = 2 if quick else _ROUNDS
        figures, rows = _compared("cpu", nominal_arena(detail=FINE), worlds, periods, seed, rounds=rounds)
        with TemporaryDirectory() as folder:
            found, more = _compared("cpu", arm_arena(Path(folder)), worlds, periods, seed, rounds=rounds, robot=ARM)
        figures |= {f"{name}_arm": value for name, value in found.items()}
        rows += more
        figures["memory_kb_per_world_cpu"] = memory_kb
        figures["frames_per_s_cpu"] = _frames_per_s("cpu", 2 if quick else 8, 2 if quick else 10, seed)
    if _has_gpu():
        for count in _GPU_WORLDS[:1] if quick else _GPU_WORLDS:
            arena, periods = nominal_arena(detail=FINE), 4 if quick else _GPU_PERIODS
            found, more = _compared("gpu", arena, count, periods, seed, rounds=_ROUNDS)
            figures |= {f"{name}_{count}": value for name, value in found.items()}
            rows += more
        if not usable_backends()["cuda"]:
            figures["frames_per_s_gpu"] = _frames_per_s("cuda", 16 if quick else _GPU_FRAME_WORLDS, 10, seed)
    return figures, rows


def _compared(
    device: str, arena: Arena, count: int, periods: int, seed: int, *, rounds: int, robot: str = SLIDES
) -> Result:
    """The environment and the bare engine in turns; figures are medians over the rounds."""
    simulator = _simulator(device, arena.model, count)
    with TemporaryDirectory() as folder:
        env = _vector_env(Playground(arena, simulator, recorder=FlightRecorder(Path(folder)), seed=seed))
        record = _recorded(env, simulator, periods, seed)
        bare, bare_bytes = _bare(device, arena.model, record, arena.every)
        steps, seconds = count * arena.every * periods, np.zeros((rounds, 2))
        for r in range(rounds):
            seconds[r, 0] = _timed_env(env, record)
            seconds[r, 1] = bare()
    rates = steps / seconds
    ratio = float(np.median(rates[:, 0] / rates[:, 1]))
    row: dict[str, object] = {
        "device": device, "robot": robot, "worlds": count, "env_steps_per_s": float(np.median(rates[:, 0])),
        "bare_steps_per_s": float(np.median(rates[:, 1])), "env_over_bare": ratio,
        "blocks_moved": record.moved, "resets_timed": record.resets,
    }  # fmt: skip
    figures = {f"env_over_raw_{device}": ratio, f"steps_per_s_{device}": float(np.median(rates[:, 0]))}
    if device == "gpu":
        figures["memory_kb_per_world_gpu"] = bare_bytes / count / 1e3
    return figures, [row]


def _vector_env(ground: Playground) -> Any:
    from gemel.services.policy.twin_vector_env import TwinVectorEnv

    return TwinVectorEnv(ground)


class _Listening(SimulatorNative):
    """A simulator that remembers what reached the servos last."""

    sent: np.ndarray

    def _advance(self, commands: np.ndarray, every: int) -> Any:
        self.sent = commands
        return super()._advance(commands, every)


def _simulator(device: str, model: Any, count: int) -> Any:
    if device == "cpu":
        return _Listening(model, count)
    from gemel.benchmarks.rollout_warp import ListeningWarp

    return ListeningWarp(model, count)


def _recorded(env: Any, simulator: Any, periods: int, seed: int) -> Recorded:
    """A run in which every tip goes for its block."""
    env.reset(seed=seed)
    ground = env.ground
    host = simulator if isinstance(simulator, SimulatorNative) else simulator._host
    fields = {name: np.array(rows) for name, rows in host.own_values().items()}
    start, before, actions, commands, resets = ground.qpos.copy(), ground.values(), [], [], 0
    for _ in range(periods):
        values = ground.values()
        towards = np.stack([values["object/x"] - values["tip/x"], values["object/y"] - values["tip/y"]], axis=1)
        actions.append(_APPROACH_M * towards / np.maximum(np.linalg.norm(towards, axis=1, keepdims=True), 1e-9))
        _, _, terminated, truncated, _ = env.step(actions[-1])
        resets += int(np.count_nonzero(terminated | truncated))
        commands.append(np.array(simulator.sent))
    after = ground.values()
    moved = np.hypot(*(after[name] - before[name] for name in ("object/x", "object/y"))) > _MOVED_M
    held = resting_commands(simulator.model, start)
    return Recorded(seed, actions, commands, start, held, fields, float(np.mean(moved)), resets)


def _timed_env(env: Any, record: Recorded) -> float:
    env.reset(seed=record.seed)
    started = time.perf_counter()
    for action in record.actions:
        env.step(action)
    return time.perf_counter() - started


def _bare(device: str, model: Any, record: Recorded, every: int) -> tuple[Callable[[], float], float]:
    if device == "gpu":
        from gemel.benchmarks.rollout_warp import bare_warp

        return bare_warp(model, record.qpos, record.held, record.commands, record.fields, every)
    return _bare_native(model, record), 0.0


def _bare_native(model: Any, record: Recorded) -> Callable[[], float]:
    """MuJoCo's own batch, and nothing else."""
    from mujoco import batch

    simulations = batch.Batch(model, len(record.qpos), 0)
    for name, values in record.fields.items():
        simulations.expand(name)[...] = values

    def run() -> float:
        simulations.reset(stage=0)
        simulations.bind("qpos")[...], simulations.bind("ctrl")[...] = record.qpos, record.held
        started = time.perf_counter()
        for commands in record.commands:
            simulations.rollout(commands.shape[1], commands, record=())
        return time.perf_counter() - started

    return run


def _frames_per_s(backend: str, count: int, periods: int, seed: int) -> float:
    """Frames of the environment, physics and observations included, at 160 x 120."""
    from gemel.services.policy.twin_cameras import TwinCameras
    from gemel.services.render.renderer import make_renderer
    from gemel.services.render.twin_view import TwinView

    arena, looks = nominal_arena(detail=FINE), nominal_looks()
    view = TwinView(
        looks, TwinCameras.links_of(arena.model, tuple(looks.objects)), renderer=make_renderer(backend),
        has_shadows=importlib.util.find_spec("numba") is not None,
    )  # fmt: skip
    cameras = TwinCameras(view, ("front",), arena.model, arena.task.control_period_s)
    simulator = make_simulator(arena.model, count, "native" if backend == "cpu" else "warp")
    env = _vector_env(Playground(arena, simulator, randomisation=Randomisation(), cameras=cameras, seed=seed))
    env.reset(seed=seed)
    env.step(env.action_space.sample())  # compiles what has to be
    started = time.perf_counter()
    for _ in range(periods):
        env.step(env.action_space.sample())
    return count * periods / (time.perf_counter() - started)


def _memory_kb_native(count: int) -> float:
    """Growth of this process per simulation that has its own parameters and is stepped."""
    arena = nominal_arena(detail=FINE)
    _stepped(arena, 2)  # what is loaded once does not count
    before = _resident_bytes()
    kept = _stepped(arena, count)
    return (_resident_bytes() - before) / kept.count / 1e3


def _stepped(arena: Arena, count: int) -> Playground:
    ground = Playground(arena, SimulatorNative(arena.model, count))
    ground.reset(np.arange(count))
    ground.step(np.zeros((count, 2)))
    return ground


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def _has_gpu() -> bool:
    if any(importlib.util.find_spec(name) is None for name in ("warp", "mujoco_warp")):
        return False
    import warp

    return bool(warp.is_cuda_available())
