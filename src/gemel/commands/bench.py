"""`gemel bench`: reproduces a figure that the documentation states."""

import inspect
import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro  # noqa: TID253 (a command is only imported to be parsed)

Result = tuple[dict[str, float], list[dict[str, object]]]


@dataclass(frozen=True)
class Bench:
    """Reproduce a figure: prints a table and, with --json, writes figures, rows, machine, date and commit."""

    name: Annotated[str, tyro.conf.Positional]
    """Which benchmark: adapt, calibrate, cube-toss, growth, identify, identify-pixels, ingest, live, masks, push,
    reconstruct, rollout, servo, splat, track, train, views, world."""
    json: Path | None = None
    """Write the result to this file, or `--json` alone for the screen."""
    quick: bool = False
    """A smoke version that takes seconds; its figures mean nothing."""
    seed: int = 0
    """Seed of everything that is drawn."""
    data: Path | None = None
    """Measurements to run on, for benchmarks that read some (cube-toss, masks, push, servo, track, views)."""
    fit: Path | None = None
    """Measurements to fit, together with --test and instead of --data (cube-toss)."""
    test: Path | None = None
    """Measurements to test on (cube-toss)."""
    shapes: Path | None = None
    """Outlines of the pushed objects (push)."""
    withhold_every: int | None = None
    """Keep every n-th view back for testing (views)."""
    backend: str | None = None
    """Renderer: cpu or cuda (reconstruct, views); where to train: cpu or cuda (train)."""
    gaussians: str | None = None
    """Number of Gaussians, or several such as 20000,60000 (views)."""
    size: str | None = None
    """Size of the images, WIDTHxHEIGHT (views)."""
    seeds: int | None = None
    """Number of worlds (calibrate, identify, identify-pixels, track), or of worlds for each object (reconstruct)."""
    episodes: int | None = None
    """Trials of each world (track)."""
    variants: str | None = None
    """`all` with every comparison, or `full` for the default method alone (reconstruct); some of them (adapt)."""
    base: str | None = None
    """Policy that estimators speak to: noise_trained or privileged (adapt). [default: privileged for the T-block,
    noise_trained for the hammer]"""
    parts: str | None = None
    """Parts to run, such as worlds,sbc (identify) or push-t,hammer,one-shot (adapt)."""
    poses: str | None = None
    """Where a policy's object poses come from: noise (the truth plus white error) or cameras (adapt)."""
    recordings: Path | None = None
    """Folder of recorded worlds, made where they are missing (adapt with --poses cameras)."""
    worlds: int | None = None
    """Number of worlds (adapt with --poses cameras)."""
    workers: int | None = None
    """Captures or worlds side by side (calibrate, identify, identify-pixels, reconstruct, track)."""

    def run(self) -> int:
        """Run one benchmark."""
        from gemel.commands.screen import print_table

        benchmark = _benchmark(self.name)
        figures, rows = benchmark(quick=self.quick, seed=self.seed, **self._options(benchmark))
        if rows:
            columns = list(dict.fromkeys(key for row in rows for key in row))
            print_table(f"bench {self.name}", columns, [[_cell(row.get(c, "")) for c in columns] for row in rows])
        print_table("figures", ("figure", "value"), [(key, _cell(value)) for key, value in figures.items()])
        if self.json is not None:
            self._write(figures, rows, self.json)
        return 0

    def _write(self, figures: dict[str, float], rows: list[dict[str, object]], path: Path) -> None:
        from gemel.commands.screen import write_json

        write_json(
            {
                "name": self.name, "commit": _commit(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "machine": _machine(), "seed": self.seed, "figures": figures, "rows": rows,
            },
            path,
        )  # fmt: skip

    def _part_done(self, figures: dict[str, float], rows: list[dict[str, object]]) -> None:
        """Show and keep what a long benchmark has so far: one that is cut short has not run in vain."""
        from gemel.commands.screen import console

        cells = (f"{key} {_cell(value)}" for key, value in rows[-1].items())
        console(stderr=True).print(", ".join(cells))
        if self.json is not None and str(self.json) != "-":
            self._write(figures, rows, self.json)

    def _options(self, benchmark: Callable[..., Result]) -> dict[str, Any]:
        """What was given beyond name, seed and --quick; refused where the benchmark has no use for it."""
        from gemel.errors import ConfigError

        names = (
            "data", "fit", "test", "shapes", "withhold_every", "backend", "gaussians", "size", "seeds", "episodes",
            "variants", "base", "parts", "poses", "recordings", "worlds", "workers",
        )  # fmt: skip
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        unknown = [name for name in given if name not in inspect.signature(benchmark).parameters]
        if unknown:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in unknown)
            raise ConfigError(f"Benchmark {self.name} takes no {flags}.", remedy="leave that out")
        if "on_part" in inspect.signature(benchmark).parameters:
            given["on_part"] = self._part_done
        return given


def _benchmark(name: str) -> Callable[..., Result]:
    from gemel.benchmarks.registry import BENCHMARKS
    from gemel.errors import ConfigError, choices_text

    if name not in BENCHMARKS:
        raise ConfigError(f"Benchmark {choices_text(name, tuple(BENCHMARKS))}", remedy="use one of the choices")
    return BENCHMARKS[name]()


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _commit() -> str:
    """The commit that was measured; `+` marks uncommitted changes."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=here, capture_output=True, text=True,
                              check=True).stdout.strip()  # fmt: skip
        dirty = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=here,
                               capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if dirty else "")


def _machine() -> dict[str, Any]:
    from gemel.commands.doctor import gpu_name, processor_name

    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory_gib, 1),
        "python": platform.python_version(),
        "system": platform.system(),
        "gpu": gpu_name() or "none",
    }
