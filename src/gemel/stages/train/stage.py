"""Train: policies that push, learnt in many simulations of a twin or of a task's nominal scene.

Owns: what policies see and are told, rewards and ends of episodes, PPO, learning curves, files of trained networks.
Does not own: the scene (`services/policy`), how a policy is run on a robot, estimates of parameters at run time.
Inputs: an `Arena` (a task in a scene with a belief), a folder in which a training that was cut off is found again.
Output: one `PolicyCard` for each agent; its network lies in the blobs and in `out/NAME.safetensors`.
Judged by: success in the scene itself (`final_success`); on a robot by `gemel evaluate` and `gemel bench adapt`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemel.artifacts.blob import Blobs
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.policy_card import PolicyCard
from gemel.artifacts.task import Quantity
from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.features import WIDTH
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.train import OnProgress, TrainedAgent, train_agents
from gemel.stages.train.variants import Agent, agents_of

_LARGEST = 10.0
"""Features and told parameters stay within this, in metres or in units of a range."""
_POOR = 0.5


@dataclass(frozen=True, eq=False)
class TrainInfo:
    """What training noticed, and what it made."""

    agents: tuple[TrainedAgent, ...]
    findings: tuple[Finding, ...]


def train(
    arena: Arena, config: TrainConfig, *, out: Path, blobs: Blobs, backend: str = "native",
    start: TrainedNetwork | None = None, made_by: Mapping[str, Any] | None = None,
    trained_on: Mapping[str, str] | None = None, on_progress: OnProgress | None = None,
) -> tuple[tuple[PolicyCard, ...], TrainInfo]:  # fmt: skip
    """Train all seeds of all variants side by side."""
    agents = agents_of(config.variants, config.seeds, config.first_seed)
    trained = train_agents(
        arena, agents, config, out=out, backend=backend, start=start, made_by=made_by, on_progress=on_progress
    )
    cards = tuple(_card(arena, found, blobs, dict(trained_on or {})) for found in trained)
    return cards, TrainInfo(tuple(trained), _findings(trained))


def _card(arena: Arena, trained: TrainedAgent, blobs: Blobs, trained_on: Mapping[str, str]) -> PolicyCard:
    return PolicyCard(
        name=trained.agent.name,
        task=arena.task.name,
        checkpoint=blobs.put_bytes(trained.path.read_bytes()),
        server="",
        observation=observed(trained.agent, trained.network.conditioned_on),
        action=tuple(Quantity(name, 1, "object frame, of the largest step", -1.0, 1.0) for name in ("tip_x", "tip_y")),
        conditioned_on=trained.network.conditioned_on,
        trained_on=trained_on,
    )


def observed(agent: Agent, told: tuple[str, ...]) -> tuple[Quantity, ...]:
    """What a policy sees, in the order of its inputs."""
    seen = [Quantity("push_features", WIDTH * agent.variant.history, "", -_LARGEST, _LARGEST)]
    seen += [Quantity(f"told/{part}/{name}", 1, "", -_LARGEST, _LARGEST) for part in ("mean", "sigma") for name in told]
    return tuple(seen)


def _findings(trained: list[TrainedAgent]) -> tuple[Finding, ...]:
    return tuple(
        Finding("poor-policy", Severity.WARNING,
                f"Policy {found.agent.name} ends in its place in {100 * found.final.success:.0f} % of "
                f"{found.final.episodes} episodes.",
                "train for more steps, or from another seed")
        for found in trained if found.final.success < _POOR
    )  # fmt: skip
