"""`gemel inspect`: what is in a log and what is wrong with it."""

from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from gemel.artifacts.inspection import Inspection


@dataclass(frozen=True)
class Inspect:
    """What is in a log: episodes, rates, gaps, units, cameras, problems. Changes nothing.

    Exit code 1 when the log has errors that ingest would refuse.
    """

    source: Annotated[Path, tyro.conf.Positional]
    """Folder of a LeRobot v3.0 dataset, of a nerfstudio set, or with a capture.toml."""
    robot: Path | None = None
    """MJCF or URDF file of the robot, to check names and limits against."""
    json: Path | None = None
    """Also write the result as JSON: to this file, or `--json` alone for the screen."""
    all_episodes: bool = False
    """List every episode instead of the first ten."""

    def run(self) -> int:
        """Inspect and show."""
        from gemel.commands.screen import progress_bar, write_json
        from gemel.services.formats.robot_model import compile_robot, robot_joints
        from gemel.services.formats.source import open_source, robot_model_path
        from gemel.stages.ingest.inspect import InspectConfig, inspect

        source = open_source(self.source)
        model = robot_model_path(source, self.robot)
        joints = None if model is None else robot_joints(compile_robot(model))
        with progress_bar(f"inspecting {source.root.name}") as on_progress:
            result = inspect(source, InspectConfig(), robot_joints=joints, on_progress=on_progress)
        if self.json is not None:
            write_json(asdict(result), self.json)
        if self.json is None or str(self.json) != "-":
            show(result, all_episodes=self.all_episodes)
        return 1 if result.has_errors else 0


def show(result: "Inspection", *, all_episodes: bool = False) -> None:
    """Print an inspection as tables."""
    from gemel.commands.screen import console, print_findings, print_table

    steps = sum(episode.step_count for episode in result.episodes)
    seconds = sum(episode.duration_s for episode in result.episodes)
    console().print(
        f"{result.source}: {result.format}, robot type {result.robot_type}, "
        f"{len(result.episodes)} episodes, {steps} steps, {seconds:.1f} s",
        style="bold",
    )
    shown = result.episodes if all_episodes else result.episodes[:10]
    title = "Episodes" if len(shown) == len(result.episodes) else f"Episodes (first {len(shown)})"
    print_table(title, ("id", "task", "kind", "steps", "duration", "joint motion"), [
        (e.id, e.task, e.kind, e.step_count, f"{e.duration_s:.2f} s", f"{e.motion:.3g}") for e in shown
    ])  # fmt: skip
    print_table("Streams", ("name", "kind", "size", "rate", "jitter", "detail"), [
        (s.name, s.kind, s.shape, f"{s.rate_hz:.2f} Hz" if s.rate_hz else "-", f"{1e3 * s.jitter_s:.2f} ms", s.detail)
        for s in result.streams
    ])  # fmt: skip
    if result.units:
        print_table("Joint units", ("joint", "unit", "evidence"), [
            (u.joint, u.unit if u.is_declared else f"{u.unit}?", "; ".join(u.evidence)) for u in result.units
        ])  # fmt: skip
    if result.estimates:
        print_table("Timing", ("what", "stream", "shift", "standard error", "windows"), [
            (e.name, e.stream, f"{1e3 * e.value_s:+.0f} ms", _milliseconds(e.sigma_s), e.window_count)
            for e in result.estimates
        ])  # fmt: skip
    print_findings(result.findings)
    console().print(f"{result.decoded_frame_count} frames were decoded for the image checks.", style="dim")


def _milliseconds(value_s: float) -> str:
    return f"{1e3 * value_s:.0f} ms" if isfinite(value_s) else "-"  # one window alone has no standard error
