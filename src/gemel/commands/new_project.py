"""Writing a project's twin.toml, with the evidence for every inferred value beside it."""

import os
from collections.abc import Mapping
from pathlib import Path

from gemel.artifacts.inspection import Inspection
from gemel.errors import ConfigError
from gemel.project import SETTINGS, portable_path
from gemel.services.formats.calibration import JointScale, camera_table
from gemel.services.formats.source import Source
from gemel.services.formats.toml_table import toml_key, toml_lines, toml_value

_HEADER = """\
# What Gemel cannot read from the log. `gemel run` checks every key; docs/project.md explains them.
"""


def check_new_folder(folder: Path) -> None:
    """A project is never written over something else."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"{folder} exists and is not empty.", remedy="give a new folder, or remove what is in that one"
        )


def write_project(
    folder: Path,
    *,
    source: Source,
    robot: Path | None,
    task: str,
    seed: int,
    holdout: float = 0.2,
    found: Inspection,
    units: Mapping[str, tuple[str, bool]],
) -> Path:
    """Write twin.toml; the file appears whole or not at all."""
    for unit, _ in units.values():
        if unit != "span":
            JointScale(unit)
    blocks = [
        [_HEADER + f"seed = {seed}"],
        toml_lines({"source": portable_path(source.root, folder)}, "capture"),
        toml_lines({"model": portable_path(robot, folder) if robot else ""}, "robot"),
        toml_lines({"name": task}, "task"),
        *[_joint_block(joint, unit, ok, found) for joint, (unit, ok) in units.items()],
        *[_camera_block(source, camera.name) for camera in source.layout.cameras],
        _segment_block(),
        _split_block(holdout),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SETTINGS
    temporary = path.with_suffix(".partial")
    temporary.write_text("\n\n".join("\n".join(block) for block in blocks) + "\n", encoding="utf-8")
    os.replace(temporary, path)
    return path


def _joint_block(joint: str, unit: str, is_confirmed: bool, found: Inspection) -> list[str]:
    evidence = next(guess.evidence for guess in found.units if guess.joint == joint)
    comments = [f"# evidence: {line}" for line in evidence]
    extra = ["# span joints need the SI values at -100 and 100:", "# low = -1.57", "# high = 1.57"]
    return [
        f"[joints.{toml_key(joint)}]",
        *comments,
        f"unit = {toml_value(unit)}",
        f"confirmed = {toml_value(is_confirmed)}",
        *(extra if unit == "span" else []),
    ]


def _camera_block(source: Source, name: str) -> list[str]:
    camera = next(c for c in source.layout.cameras if c.name == name)
    if camera.is_calibrated:
        lines = toml_lines(camera_table(camera), f"cameras.{toml_key(name)}")
        return ["# as the log gives it; uncomment to change", *(f"# {line}" for line in lines)]
    focal = round(1.2 * max(camera.width, camera.height), 1)
    guess = {
        "model": "pinhole", "fx": focal, "fy": focal, "cx": camera.width / 2, "cy": camera.height / 2,
        "parent": "world", "position_m": [0.0, 0.0, 0.0], "quaternion_wxyz": [1.0, 0.0, 0.0, 0.0],
        "focal_sigma_px": round(0.2 * focal, 1), "rotation_sigma_deg": 5.0, "translation_sigma_m": 0.05,
    }  # fmt: skip
    lines = toml_lines(guess, f"cameras.{toml_key(name)}")
    return [
        "# The log has no calibration of this camera. Uncomment and give your best guess (parent: world or a link).",
        *(f"# {line}" for line in lines),
    ]


def _split_block(holdout: float) -> list[str]:
    return [
        "[split]",
        '# Kept apart: "episode", "object", "initial-condition" or "camera-path".',
        'by = "episode"',
        "validation = 0.2",
        f"holdout = {toml_value(holdout)}",
    ]


def _segment_block() -> list[str]:
    return [
        "[segment]",
        '# Masks: "classical" needs no weights; "sam" and "isnet" need model = PATH; "file" takes masks that you have.',
        'backend = "classical"',
        "# Objects: without any table the thing on the table is meant. `gemel prompt` writes tables such as:",
        "# [objects.mug]",
        '# prompt = "red mug"',
        '# material = "ceramic"   # what it is made of, for the prior (docs/prior.md)',
    ]
