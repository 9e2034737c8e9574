"""`gemel bench train`: how much of the bare engine's speed PPO keeps, where the rest goes, and how soon it succeeds.

A `privileged` push-t policy is trained, with 512 worlds on the processor or 4,096 on a GPU. In every tenth update the
bare engine carries out each control period once more, from the same states with the same parameters and commands. The
ratio is its time over that of the whole update (simulation, environment, networks acting, learning), without the race.
"""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gemel.benchmarks.registry import Result
from gemel.errors import ConfigError
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.simulations import Stretch
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.curves import Curve
from gemel.stages.train.train import Lines, Training, make_training
from gemel.stages.train.variants import agents_of

_DEVICES = {"cpu": ("native", 512, 4_000_000), "cuda": ("warp", 4096, 16_000_000)}
"""Simulator, worlds, control steps."""
_RACE_EVERY = 10
_PARTS = ("simulator", "environment", "acting", "learning")


def bench_train(*, quick: bool = False, seed: int = 0, backend: str = "cpu") -> Result:
    """Steps per second over the bare engine's, seconds to 90 % of the final success and to 90 % success."""
    if backend not in _DEVICES:
        raise ConfigError(
            f"bench train runs on {' or '.join(_DEVICES)}, not on {backend!r}.", remedy="give one of them"
        )
    simulator_name, worlds, steps = _DEVICES[backend]
    worlds, steps = (32, 32 * 8 * 3) if quick else (worlds, steps)
    config = TrainConfig(worlds=worlds, steps=steps, rollout=8 if quick else 0, batches=2 if quick else 4)
    arena = nominal_arena("push-t")
    simulator = _racing(simulator_name, arena.model, worlds)
    with TemporaryDirectory() as folder:
        training = make_training(
            arena, agents_of(("privileged",), 1, seed), config, out=Path(folder), backend=simulator_name,
            simulator=simulator,
        )  # fmt: skip
        rows = _trained(training, simulator, -(-steps // (worlds * training.rollout)), 1 if quick else _RACE_EVERY)
    device = "cpu" if backend == "cpu" else "gpu"
    curve = next(iter(training.scores.curves.values()))
    total = {part: float(np.sum([row[part] for row in rows])) for part in _PARTS}
    ratio = float(np.median([row["over_raw"] for row in rows]))
    figures = {f"steps_over_raw_{device}": ratio, **_times(curve, training.seconds)}
    figures |= {"steps_per_s": training.steps / training.seconds}
    figures |= {f"part_{part}": value / sum(total.values()) for part, value in total.items()}
    return figures, list(rows)


def _trained(training: Training, simulator: Any, updates: int, race_every: int) -> list[dict[str, Any]]:
    """Train; one row for each update that was raced."""
    say, rows = Lines(30.0), []
    for update in range(updates):
        simulator.is_racing = update % race_every == race_every - 1
        before = dict(training.spent_s), training.seconds, simulator.spent_s, simulator.race_s, simulator.raw_s
        training.run_update()
        race_s = simulator.race_s - before[3]
        training.seconds -= race_s
        if simulator.is_racing:
            spent = {k: v - before[0].get(k, 0.0) for k, v in training.spent_s.items()}
            inside = simulator.spent_s - before[2]
            wall, raw = training.seconds - before[1], simulator.raw_s - before[4]
            steps = training.rollout * training.env.count
            rows.append({
                "update": update + 1, "over_raw": raw / wall, "steps_per_s": steps / wall,
                "raw_steps_per_s": steps / raw,
                "simulator": inside, "environment": spent["environment"] - race_s - inside, "acting": spent["acting"],
                "learning": spent["learning"], "success": float(training.scores.latest.mean()),
            })  # fmt: skip
        say((update + 1) / updates, f"{training.seconds:.0f} s, success {100 * training.scores.latest.mean():.0f} %")
    return rows


def _times(curve: Curve, seconds: float) -> dict[str, float]:
    """Seconds until 90 % of the success that the last tenth of training has, and until 90 % of all episodes succeed."""
    final = max(float(np.mean(curve.success[-max(1, len(curve.success) // 10) :])), 0.0)
    shares = {"seconds_to_90_percent": 0.9 * final, "seconds_to_90_success": 0.9}
    found = {name: curve.at_success(level) for name, level in shares.items()}
    reached = {name: value for name, value in found.items() if value is not None and final > 0.0}
    return {**reached, "final_success": final, "seconds": seconds}


class RacingNative(SimulatorNative):
    """A simulator that can have MuJoCo's own batch repeat each period, and knows how long everything took."""

    def __init__(self, model: Any, count: int) -> None:
        from mujoco import batch

        super().__init__(model, count)
        self.is_racing, self.spent_s, self.race_s, self.raw_s = False, 0.0, 0.0, 0.0
        self._bare: Any = batch.Batch(model, count, 0)

    def _advance(self, commands: np.ndarray, every: int) -> Stretch:
        race = self._line_up(commands) if self.is_racing else None
        started = time.perf_counter()
        found = super()._advance(commands, every)
        self.spent_s += time.perf_counter() - started
        if race is not None:
            self.raw_s += race()
        return found

    def _line_up(self, commands: np.ndarray) -> Callable[[], float]:
        """The bare batch in the same state; returns what runs it and says its seconds."""
        started = time.perf_counter()
        for name, values in self.own_values().items():
            self._bare.expand(name)[...] = values
        for name in ("qpos", "qvel", "ctrl", "qacc_warmstart"):
            self._bare.bind(name)[...] = self._batch.bind(name)
        self.race_s += time.perf_counter() - started

        def run() -> float:
            started = time.perf_counter()
            self._bare.rollout(commands.shape[1], commands, record=())
            raw_s = time.perf_counter() - started
            self.race_s += raw_s
            return raw_s

        return run


def _racing(name: str, model: Any, count: int) -> Any:
    if name == "native":
        return RacingNative(model, count)
    from gemel.benchmarks.train_warp import RacingWarp

    return RacingWarp(model, count)
