"""`gemel new`: a project folder with what cannot be read from the log."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from gemel.artifacts.inspection import Inspection, UnitGuess


@dataclass(frozen=True)
class New:
    """Make a project folder: twin.toml with units, cameras and split; asked for, given, or inferred with evidence."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder to make; it must not exist or be empty."""
    capture: Path
    """The log: a LeRobot v3.0 dataset, a nerfstudio set, or a folder with a capture.toml."""
    robot: Path | None = None
    """MJCF or URDF file of the robot."""
    task: str = ""
    """Name of the task contract, such as push-t."""
    units: str | None = None
    """Unit of all joints (rad, deg, m, mm, percent); this confirms them."""
    gripper_unit: str | None = None
    """Unit of joints whose name has `gripper` or `finger` in it, where it differs from --units."""
    confirm_units: bool = False
    """Confirm the inferred units as they are; look at the evidence first (`gemel inspect`)."""
    seed: int = 0
    """Seed of everything that is drawn in this project."""
    holdout: float = 0.2
    """Part of the task episodes that is sealed until `gemel evaluate`."""

    def run(self) -> int:
        """Inspect the log, settle the units, write twin.toml."""
        from gemel.commands.new_project import check_new_folder, write_project
        from gemel.commands.screen import console, progress_bar
        from gemel.services.formats.robot_model import compile_robot, robot_joints
        from gemel.services.formats.source import open_source, robot_model_path
        from gemel.stages.ingest.inspect import InspectConfig, inspect

        check_new_folder(self.folder)
        source = open_source(self.capture)
        model = robot_model_path(source, self.robot)
        joints = None if model is None else robot_joints(compile_robot(model))
        with progress_bar(f"looking at {source.root.name}") as on_progress:
            found = inspect(source, InspectConfig(), robot_joints=joints, on_progress=on_progress)
        units = self._units(found)
        path = write_project(
            self.folder,
            source=source,
            robot=self.robot,
            task=self.task,
            seed=self.seed,
            holdout=self.holdout,
            found=found,
            units=units,
        )
        console().print(f"Wrote {path}")
        open_joints = [name for name, (_, is_confirmed) in units.items() if not is_confirmed]
        if open_joints:
            console().print(
                f"The units of {len(open_joints)} joints are inferred and need confirming: "
                f"edit {path}, then `gemel run {self.folder}`.", style="yellow",
            )  # fmt: skip
        else:
            console().print(f"Next: gemel run {self.folder}")
        return 0

    def _units(self, found: "Inspection") -> dict[str, tuple[str, bool]]:
        """Unit of each joint that the source does not declare, and whether anybody confirmed it."""
        units = {}
        for guess in found.units:
            if guess.is_declared:
                continue
            given = self._given(guess.joint)
            units[guess.joint] = (given, True) if given else (guess.unit, self.confirm_units)
        if sys.stdin.isatty() and any(not confirmed for _, confirmed in units.values()):
            units = ask_units({u.joint: u for u in found.units}, units)
        return units

    def _given(self, joint: str) -> str | None:
        is_gripper = "gripper" in joint.lower() or "finger" in joint.lower()
        return (self.gripper_unit or self.units) if is_gripper else self.units


def ask_units(guesses: Mapping[str, "UnitGuess"], units: Mapping[str, tuple[str, bool]]) -> dict[str, tuple[str, bool]]:
    """Ask for each open unit, showing the evidence; an empty answer leaves it open."""
    from gemel.services.formats.calibration import UNITS

    answers = dict(units)
    for joint, (unit, is_confirmed) in units.items():
        if is_confirmed:
            continue
        print(f"\n{joint}: looks like {unit}, because " + "; ".join(guesses[joint].evidence))
        answer = input(f"  unit ({', '.join(UNITS)}; empty leaves it open): ").strip()
        if answer in UNITS:
            answers[joint] = (answer, True)
    return answers
