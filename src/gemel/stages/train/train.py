"""Training of several agents side by side, in one simulation: collect, learn, save, and go on after a kill.

Importable and runnable without a terminal: progress goes to a function, by default to plain lines.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gemel.errors import ConfigError
from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import TrainedNetwork, conditioned_meta, save_network
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.make import make_simulator
from gemel.services.sim.simulations import Simulations
from gemel.stages.train.board import Board
from gemel.stages.train.check import Conditions, check_start, check_training, names_of
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.curves import Curve, Scores
from gemel.stages.train.final import FinalScore, final_scores
from gemel.stages.train.ground import training_ground
from gemel.stages.train.ppo import Learner, device_of, joined, one_thread, seed_sampling
from gemel.stages.train.push_env import PushEnv
from gemel.stages.train.saved import FILE, SavedState, load_state, save_state
from gemel.stages.train.variants import Agent

SIZES = {"native": (512, 24), "warp": (2048, 16)}
"""Worlds of each agent and control steps between updates, by back end."""
OnProgress = Callable[[float, str], None]
"""Called with the part done and a line about it."""


@dataclass(frozen=True, eq=False)
class TrainedAgent:
    """One trained policy."""

    agent: Agent
    path: Path
    network: TrainedNetwork
    curve: Curve
    final: FinalScore


@dataclass(eq=False)
class Training:
    """Agents being trained."""

    env: PushEnv
    learners: list[Learner]
    scores: Scores
    rollout: int
    seed: int
    update: int = 0
    seconds: float = 0.0
    """Spent so far, runs before a kill included."""
    spent_s: dict[str, float] = field(default_factory=dict)
    """Where the time of this run went: environment, acting, learning."""

    @property
    def steps(self) -> int:
        """Control steps of each agent so far."""
        return self.update * self.rollout * self.env.worlds_each

    def views(self, agent: int) -> dict[str, Any]:
        """What one agent's networks see now."""
        return {"policy": self.env.policy_view(agent), "critic": self.env.critic_view(agent)}

    def run_update(self) -> list[dict[str, float]]:
        """Collect one batch with every agent and learn from it; losses by agent."""
        started = time.perf_counter()
        seed_sampling(self.seed, self.update)
        views = [self.views(i) for i in range(len(self.learners))]
        for _ in range(self.rollout):
            with self._timed("acting"):
                actions = joined([learner.act(view) for learner, view in zip(self.learners, views, strict=True)])
            with self._timed("environment"):
                step = self.env.step(actions)
                self.scores.note(self.env, step)
                views = [self.views(i) for i in range(len(self.learners))]
            with self._timed("acting"):
                for i, learner in enumerate(self.learners):
                    rows = self.env.rows(i)
                    learner.learn_from(views[i], step.rewards[rows], step.is_over[rows], step.is_out_of_time[rows])
        with self._timed("learning"):
            losses = [learner.update(view) for learner, view in zip(self.learners, views, strict=True)]
        self.update += 1
        self.seconds += time.perf_counter() - started
        self.scores.close(self.steps, self.seconds, self.rollout)
        return losses

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.spent_s[what] = self.spent_s.get(what, 0.0) + time.perf_counter() - started


def train_agents(
    arena: Arena, agents: Sequence[Agent], config: TrainConfig, *, out: Path, backend: str = "native",
    start: TrainedNetwork | None = None, made_by: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None, simulator: Simulations | None = None,
) -> list[TrainedAgent]:  # fmt: skip
    """Train policies; networks go to `out/NAME.safetensors`, all else to `training_folder`.

    A training that was cut off goes on where it was. `start` is a policy that all agents begin with; `simulator` stands
    in for the one that `backend` names.
    """
    training = make_training(arena, agents, config, out=out, backend=backend, start=start, simulator=simulator)
    plan = _plan(training, arena, agents, config)
    folder = training_folder(out, agents)
    if (folder / FILE).exists():
        found = load_state(folder / FILE, training.learners, plan)
        training.update, training.seconds = found.update, training.scores.restore(found.curves)
    per_update = training.rollout * training.env.worlds_each
    updates = max(1, -(-config.steps // per_update))
    training.env.start([training.seed, training.update])
    board = Board(folder / "tensorboard", training.steps)
    say = on_progress or Lines()
    while training.update < updates:
        for learner in training.learners:
            learner.explore_at_least(config.least_sigma_at(training.update / updates))
        losses = training.run_update()
        for agent, numbers, rate in zip(agents, losses, training.scores.latest, strict=True):
            reward = training.scores.curves[agent.name].reward[-1]
            board.note(agent.name, {"success": float(rate), "reward": reward, **numbers}, training.steps)
        if training.update % config.save_every == 0 or training.update == updates:
            state = SavedState(plan, training.update, training.scores.as_dict())
            save_state(folder / FILE, training.learners, state)
        say(training.update / updates, _line(training, agents))
    board.close()
    return _finished(training, agents, config, out, dict(made_by or {}), backend)


def make_training(
    arena: Arena, agents: Sequence[Agent], config: TrainConfig, *, out: Path, backend: str = "native",
    start: TrainedNetwork | None = None, simulator: Simulations | None = None,
) -> Training:  # fmt: skip
    """Everything that training needs, checked, at its beginning."""
    names, conditions = names_of(agents), check_training(arena, config)
    for agent in agents if start is not None else ():
        assert start is not None
        check_start(start, agent, conditions, arena.task.name)
    one_thread()
    worlds, rollout = (own or usual for own, usual in zip((config.worlds, config.rollout), SIZES[backend], strict=True))
    if worlds * rollout < config.batches:
        raise ConfigError(f"{worlds} worlds are too few for {config.batches} batches.", remedy="give more worlds")
    seed = agents[0].seed
    env = _environment(
        arena, agents, config, conditions, simulator or make_simulator(arena.model, worlds * len(agents), backend), out
    )
    env.start([seed])
    device = device_of(backend)
    learners = []
    for i, agent in enumerate(agents):
        views = {"policy": env.policy_view(i), "critic": env.critic_view(i)}
        learner = Learner(views, rollout, config, seed=agent.seed, device=device)
        if start is not None:
            learner.start_from(start)
        learners.append(learner)
    return Training(env, learners, Scores(names, window=max(64, worlds // 2)), rollout, seed)


def training_folder(out: Path, agents: Sequence[Agent]) -> Path:
    """Where the state, curves and logs of the training of these agents are."""
    kinds, seeds = dict.fromkeys(agent.variant.name for agent in agents), [agent.seed for agent in agents]
    last = f"-{max(seeds)}" if max(seeds) > min(seeds) else ""
    return out / "training" / f"{'+'.join(kinds)}-{min(seeds)}{last}"


def _environment(
    arena: Arena, agents: Sequence[Agent], config: TrainConfig, conditions: Conditions, simulator: Simulations,
    out: Path,
) -> PushEnv:  # fmt: skip
    recorder = FlightRecorder(training_folder(out, agents) / "flight")
    ground = training_ground(arena, simulator, config, recorder=recorder)
    return PushEnv(ground, agents, config, conditions.names, conditions.ranges)


def _plan(training: Training, arena: Arena, agents: Sequence[Agent], config: TrainConfig) -> dict[str, Any]:
    """What a state file has to agree with to be gone on from; more steps are no other training."""
    settings = {k: v for k, v in asdict(config).items() if k not in ("steps", "save_every", "seeds", "variants")}
    plan = {
        "task": arena.task.name, "object": arena.object, "agents": [agent.name for agent in agents], **settings,
        "worlds": training.env.worlds_each, "rollout": training.rollout,
        "conditioned_on": training.env.conditioned_on,
    }  # fmt: skip
    found: dict[str, Any] = json.loads(json.dumps(plan))
    return found


def _finished(
    training: Training, agents: Sequence[Agent], config: TrainConfig, out: Path, made_by: dict[str, Any], backend: str
) -> list[TrainedAgent]:
    """Write the networks, and run each once more as it was written."""
    env, saved = training.env, []
    made_by |= {"steps": training.steps, "worlds": env.worlds_each, "rollout": training.rollout, "simulator": backend}
    for agent, learner in zip(agents, training.learners, strict=True):
        is_told = agent.variant.told != "nothing"
        meta = {
            "task": env.ground.arena.task.name, "variant": agent.variant.name, "seed": agent.seed,
            "history": agent.variant.history, "control_period_s": env.ground.arena.task.control_period_s,
            "conditioned_on": conditioned_meta(env.conditioned_on, env.ranges) if is_told else [],
            "widest_com_m": config.told_sigma, "made_by": made_by,
        }  # fmt: skip
        doubts = range(agent.variant.width(0), agent.variant.width(len(env.conditioned_on)))[len(env.conditioned_on) :]
        unused = tuple(doubts) if agent.variant.told == "truth" else ()
        network = learner.network(unused_inputs=unused)
        saved.append(save_network(out / f"{agent.name}.safetensors", "policy", meta, network))
    finals = final_scores(env, [network.layers for network in saved], [training.seed, 1_000_003])
    curves = list(training.scores.curves.values())
    scores = {
        agent.name: asdict(curve) | {"final_success": final.success, "final_strict": final.strict}
        for agent, curve, final in zip(agents, curves, finals, strict=True)
    }
    (training_folder(out, agents) / "curves.json").write_text(json.dumps({"agents": scores, "diverged": env.diverged}))
    return [
        TrainedAgent(agent, out / f"{agent.name}.safetensors", network, curve, final)
        for agent, network, curve, final in zip(agents, saved, curves, finals, strict=True)
    ]


def _line(training: Training, agents: Sequence[Agent]) -> str:
    rates: dict[str, list[float]] = {}
    for agent, rate in zip(agents, training.scores.latest, strict=True):
        rates.setdefault(agent.variant.name, []).append(float(rate))
    said = ", ".join(f"{name} {'/'.join(f'{100 * r:.0f}' for r in found)} %" for name, found in rates.items())
    broken = f", {training.env.diverged} worlds broke down" if training.env.diverged else ""
    return f"{training.steps / 1e6:.2f}M steps, {training.seconds:.0f} s: success {said}{broken}"


class Lines:
    """Progress as plain lines, one every few seconds."""

    def __init__(self, every_s: float = 10.0) -> None:
        self._every_s, self._last_s = every_s, -1e9

    def __call__(self, part: float, text: str) -> None:
        """Print, unless the last line is young."""
        now = time.monotonic()
        if part >= 1.0 or now - self._last_s >= self._every_s:
            print(f"{100 * part:5.1f} %  {text}", flush=True)
            self._last_s = now
