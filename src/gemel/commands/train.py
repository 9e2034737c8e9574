"""`gemel train`: policies that push, trained in a project's twin or in a task's nominal scene."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from gemel.running import OnProgress, StageResult
    from gemel.stages.train.config import TrainConfig
    from gemel.stages.train.train import TrainedAgent
    from gemel.train_wiring import How


@dataclass(frozen=True)
class Train:
    """Train policies that push: in a project's twin (`gemel train DIR`) or in a task's nominal scene (`gemel train
    push-t`). Several variants and seeds are trained side by side in one simulation. A training that was cut off, even
    by kill -9, goes on where it was when the same command is given again. Watch it with `tensorboard --logdir OUT`."""

    target: Annotated[str, tyro.conf.Positional]
    """A project folder, or a task: push-t, push-hammer."""
    variant: str | None = None
    """What the policies are told of physics, one or several with commas. privileged: the true value; noise_trained: an
    estimate with an error that lasts an episode, and how large it may be; randomised: nothing; randomised_history:
    nothing, but it sees its last ten steps. Estimators beside a noise_trained policy: history_only and
    fused_memoryless train encoders on it; fused and prior_only need no training. [default: privileged, or
    what twin.toml says under [train]]"""
    seeds: int | None = None
    """Policies of each variant; they differ in random numbers alone. [default: 1]"""
    seed: int | None = None
    """Seed of the first of them. [default: 0]"""
    steps: int | None = None
    """Control steps of each policy; with more, a training that has ended goes on. [default: 8000000]"""
    worlds: int | None = None
    """Simulations of each policy. [default: 512 on the processor, 2048 on a GPU]"""
    backend: str = "native"
    """What simulates: native (processor) or warp (NVIDIA GPU; networks then are there too)."""
    conditioned_on: str | None = None
    """Parameters that policies are told, with commas, such as object/t_block/com_y. [default: the task's first]"""
    start: Path | None = None
    """Begin with this policy instead of a random one; it has to see the same."""
    out: Path | None = None
    """Folder for the networks. [default: policies/TASK, in the project folder or here]"""
    json: Path | None = None
    """Also write the results as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Train, then say how good the policies are and where they lie."""
        from gemel.commands.train_encoders import split_variants, train_encoders
        from gemel.errors import ConfigError, choices_text
        from gemel.project import SETTINGS, open_project
        from gemel.services.sim.make import BACKENDS
        from gemel.services.tasks import task_names
        from gemel.stages.train.config import TrainConfig
        from gemel.train_wiring import How

        if self.backend not in BACKENDS:
            raise ConfigError(f"Simulator {choices_text(self.backend, BACKENDS)}", remedy="use one of the choices")
        names = tuple(self.variant.split(",")) if self.variant else ()
        learnt, estimated = split_variants(names)
        if estimated:
            done = replace(self, variant=",".join(learnt)).run() if learnt else 0
            return done or train_encoders(
                self.target, estimated, seeds=self.seeds or 1, first_seed=self.seed or 0, out=self.out,
                backend=self.backend,
            )  # fmt: skip
        how = How(self.backend, self.start, self.out)
        if (Path(self.target) / SETTINGS).exists():
            project = open_project(Path(self.target))
            settings = replace(project.settings, train=self._config(project.settings.train))
            return self._in_twin(replace(project, settings=settings), how)
        if self.target not in task_names():
            raise ConfigError(
                f"{self.target!r} is neither a project folder (it has no {SETTINGS}) nor a task; tasks are "
                f"{', '.join(task_names())}.",
                remedy="make a project with `gemel new`, or name a task",
            )
        return self._nominal(self._config(TrainConfig()), how)

    def _config(self, base: "TrainConfig") -> "TrainConfig":
        given: dict[str, Any] = {
            "variants": tuple(self.variant.split(",")) if self.variant else None,
            "conditioned_on": tuple(self.conditioned_on.split(",")) if self.conditioned_on else None,
            "seeds": self.seeds, "first_seed": self.seed, "steps": self.steps, "worlds": self.worlds,
        }  # fmt: skip
        return replace(base, **{name: value for name, value in given.items() if value is not None})

    def _nominal(self, config: "TrainConfig", how: "How") -> int:
        from gemel.commands.screen import console, print_table, write_json
        from gemel.train_wiring import train_nominal

        with Bar(self.target) as bar:
            trained = train_nominal(self.target, config, how, lambda part, text: bar.show(part, text))
        print_table("Policies", ("policy", "success", "within 1.5 cm and 5 deg", "file"), [_row(t) for t in trained])
        folder = trained[0].path.parent
        console().print(f"Learning curves and episodes: {folder / 'pictures'}")
        if self.json is not None:
            write_json([_facts(found) for found in trained], self.json)
        return 0

    def _in_twin(self, project: Any, how: "How") -> int:
        from gemel.commands.screen import ScreenReporter, console, write_json
        from gemel.pipeline import train_project

        reporter = _Reporter(ScreenReporter())
        results = train_project(project, reporter, replace(how, on_text=reporter.say))
        folder = how.out or project.folder / "policies"
        console().print(f"Policies, learning curves and episodes: {folder}")
        if self.json is not None:
            write_json([{"name": r.name, "address": r.address, "duration_s": r.duration_s} for r in results], self.json)
        return 0


class Bar:
    """A progress bar that says how training goes; plain lines where there is no terminal."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._progress: Any = None
        self._lines: Any = None

    def __enter__(self) -> "Bar":
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        from gemel.commands.screen import console
        from gemel.stages.train.train import Lines

        terminal = console(stderr=True)
        if not terminal.is_terminal:
            self._lines = Lines(30.0)
            return self
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeRemainingColumn())
        self._progress = Progress(*columns, console=terminal, transient=True)
        self._progress.start()
        self._task = self._progress.add_task(self._title, total=1.0)
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, part: float, text: str) -> None:
        """How far it is, and how well it goes."""
        if self._progress is not None:
            self._progress.update(self._task, completed=part, description=text)
        elif self._lines is not None:
            self._lines(part, text)


class _Reporter:
    """Shows training with what it says, and all other stages as usual."""

    def __init__(self, usual: Any) -> None:
        self._usual, self._text, self._bar = usual, "train", Bar("train")

    def say(self, text: str) -> None:
        """What the bar shows from now on."""
        self._text = text

    def stage(self, name: str) -> "AbstractContextManager[OnProgress]":
        """A bar while a stage runs."""
        found: AbstractContextManager[OnProgress] = self._train() if name == "train" else self._usual.stage(name)
        return found

    def done(self, result: "StageResult") -> None:
        """One line, then what the stage noticed."""
        self._usual.done(result)

    @contextmanager
    def _train(self) -> Iterator["OnProgress"]:
        with self._bar as bar:
            yield lambda part: bar.show(part, self._text)


def _row(trained: "TrainedAgent") -> tuple[str, str, str, str]:
    final = trained.final
    return trained.agent.name, f"{100 * final.success:.1f} %", f"{100 * final.strict:.1f} %", str(trained.path)


def _facts(trained: "TrainedAgent") -> dict[str, Any]:
    return {
        "name": trained.agent.name, "file": str(trained.path), "success": trained.final.success,
        "strict": trained.final.strict, "episodes": trained.final.episodes, "steps": trained.curve.steps[-1],
        "seconds": trained.curve.seconds[-1],
    }  # fmt: skip
