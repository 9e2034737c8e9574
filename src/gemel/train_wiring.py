"""How train is wired: the scene of a project's twin, files in `PROJECT/policies/TASK`, pictures of how it went.

`gemel run` ends before it, as training takes minutes; `gemel train DIR` and `gemel run DIR --until train` go on to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gemel import __version__
from gemel.artifacts.finding import Finding
from gemel.artifacts.policy_card import PolicyCard
from gemel.artifacts.provenance import Provenance
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.outputs.pictures.learning_curve import learning_curve
from gemel.outputs.pictures.push_sheet import push_sheet
from gemel.outputs.pictures.write import write_pictures
from gemel.project import Project
from gemel.running import OnProgress, Run
from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import load_network
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.twin_arena import twin_arena
from gemel.services.tasks import get_object, get_task, object_names
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.variants import agents_of
from gemel.store.code_version import code_version
from gemel.store.codec import encode
from gemel.trials import calibration_trials, home_of

if TYPE_CHECKING:  # torch is only needed to train
    from gemel.stages.train.train import TrainedAgent

OnText = Callable[[str], None]


@dataclass(frozen=True)
class How:
    """What does not change the policies that are asked for, only where and how they are trained."""

    backend: str = "native"
    start: Path | None = None
    """A policy to begin with."""
    out: Path | None = None
    """Where networks go; `policies/TASK` if not given."""
    on_text: OnText = lambda text: None


def make_policy(
    run: Run, key: str, on_progress: OnProgress, *, how: How | None = None
) -> tuple[PolicyCard, tuple[Finding, ...]]:
    """Train all of `[train]` in the project's twin; the first policy is the stage's artifact, others lie beside it."""
    from gemel.stages.train.stage import train

    how, config = how or How(), run.project.settings.train
    twin = run.get("assemble", Twin)
    arena = _arena(run, twin, key)
    out = how.out or policies_folder(run.project, arena.task.name)

    def show(part: float, text: str) -> None:
        how.on_text(text)
        on_progress(part)

    cards, info = train(
        arena,
        config,
        out=out,
        blobs=run.store,
        backend=how.backend,
        start=load_network(how.start, "policy") if how.start else None,
        made_by={"command": command_text("DIR", config, how), "twin": run.addresses["assemble"],
                 "version": __version__},
        trained_on={"twin": run.addresses["assemble"], "capture": run.addresses["ingest"]},
        on_progress=show,
    )  # fmt: skip
    _draw(arena, info.agents, out)
    for card, trained in list(zip(cards, info.agents, strict=True))[1:]:
        provenance = Provenance(
            "train", {"assemble": run.addresses["assemble"]}, {}, encode(config, {}),
            code_version("gemel.stages.train.stage"), trained.agent.seed, how.backend,
        )  # fmt: skip
        run.store.put(card, provenance, key=f"{key}/{card.name}", duration_s=trained.curve.seconds[-1])
    return cards[0], info.findings


def train_nominal(
    task: str, config: TrainConfig, how: How, on_progress: Callable[[float, str], None]
) -> "list[TrainedAgent]":
    """Train in a task's nominal scene; nothing but files."""
    from gemel.stages.train.train import train_agents

    arena = nominal_arena(task)
    out = how.out or Path("policies") / task
    trained = train_agents(
        arena, agents_of(config.variants, config.seeds, config.first_seed), config, out=out, backend=how.backend,
        start=load_network(how.start, "policy") if how.start else None,
        made_by={"command": command_text(task, config, how), "twin": "nominal", "version": __version__},
        on_progress=on_progress,
    )  # fmt: skip
    _draw(arena, trained, out)
    return trained


def policies_folder(project: Project, task: str) -> Path:
    """Where a project's policies of a task are."""
    return project.folder / "policies" / task


def command_text(target: str, config: TrainConfig, how: How) -> str:
    """The command that trains the same, without paths of this machine."""
    parts = [
        f"gemel train {target} --variant {','.join(config.variants)} --seeds {config.seeds} --steps {config.steps}",
        f"--backend {how.backend}",
        *([f"--seed {config.first_seed}"] if config.first_seed else []),
        *([f"--worlds {config.worlds}"] if config.worlds else []),
        *([f"--conditioned-on {','.join(config.conditioned_on)}"] if config.conditioned_on else []),
        *([f"--start {how.start.name}"] if how.start else []),
    ]
    return " ".join(parts)


def _arena(run: Run, twin: Twin, key: str) -> Arena:
    """The twin's task, with the robot's home as the calibration trials show it."""
    name = run.project.settings.task.name
    task = twin.task or (get_task(name) if name else None)
    if task is not None and task.objects and not set(task.objects) & set(twin.colliders):
        raise ConfigError(
            f"Task {task.name!r} pushes {' or '.join(task.objects)}; the twin has {sorted(twin.colliders)}.",
            remedy="capture that object, or name a task for what the twin has under [task] in twin.toml",
        )  # fmt: skip
    home = home_of(calibration_trials(run, "train", key))
    return twin_arena(replace(twin, task=task), run.store, task=task, home=home)


def _draw(arena: Arena, agents: "Sequence[TrainedAgent]", out: Path) -> None:
    """The learning curves, and one episode of each agent from above."""
    curves = {found.agent.name: (np.array(found.curve.steps), np.array(found.curve.success)) for found in agents}
    pictures = {"learning_curve": learning_curve(curves)}
    if arena.object in object_names():
        goal = np.array([arena.task.goal[f"object/{name}"] for name in ("x", "y", "yaw")])
        shape = get_object(arena.object).collision
        pictures |= {found.agent.name: push_sheet(found.final.path, goal, shape) for found in agents}
    write_pictures(out / "pictures", pictures)
