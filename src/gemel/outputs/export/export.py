"""All formats of one export: written beside the target, read back, compared, and only then put in place."""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gemel.artifacts.blob import Blobs
from gemel.artifacts.episode import Episode
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, choices_text
from gemel.outputs.export import glb, lerobot, mjcf, ply, urdf, usd
from gemel.outputs.export.bake import BakedMesh, bake
from gemel.outputs.export.preflight import check_names, check_target, check_twin
from gemel.outputs.export.put_in_place import put_in_place
from gemel.outputs.export.report import STAMP_FILE, UNVERIFIED, Check, FormatReport
from gemel.outputs.export.scene import ExportScene, export_scene
from gemel.outputs.export.verify_mjcf import verify_mjcf
from gemel.outputs.export.verify_urdf import verify_urdf
from gemel.outputs.export.verify_usd import verify_usd
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.sim.contacts import TABLE

OnProgress = Callable[[float], None]
"""Called with the part that is done, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Exporter:
    """A scene and what several formats need of it."""

    scene: ExportScene

    @cached_property
    def baked(self) -> dict[str, BakedMesh]:
        """Objects with their textures."""
        return {thing.name: bake(thing.mesh, thing.gaussians) for thing in self.scene.objects}

    @cached_property
    def baked_with_table(self) -> dict[str, BakedMesh]:
        """The same and the table top, where one was seen."""
        table = self.scene.twin.reconstruction.table
        is_shown = table is not None and len(table.faces) and self.scene.twin.table_height_m is not None
        return {**self.baked, TABLE: bake(table, gaussians_of(table))} if table is not None and is_shown else self.baked

    @cached_property
    def held(self) -> Episode:
        """The one episode of a LeRobot dataset: the robot holds still."""
        return lerobot.held_episode(self.scene)


@dataclass(frozen=True)
class Format:
    """How one format is written and read back."""

    conventions: Mapping[str, str]
    write: Callable[[Exporter, Path], tuple[str, ...]]
    verify: Callable[[Exporter, Path], tuple[Check, ...]]


FORMATS = {
    "mjcf": Format(
        mjcf.CONVENTIONS,
        lambda e, to: mjcf.write_mjcf(e.scene, e.baked_with_table, to),
        lambda e, at: verify_mjcf(e.scene, e.baked_with_table, at),
    ),
    "urdf": Format(
        urdf.CONVENTIONS,
        lambda e, to: urdf.write_urdf(e.scene, e.baked, to),
        lambda e, at: verify_urdf(e.scene, e.baked, at),
    ),
    "usd": Format(
        usd.CONVENTIONS,
        lambda e, to: usd.write_usd_scene(e.scene, e.baked, to),
        lambda e, at: verify_usd(e.scene, e.baked, at),
    ),
    "glb": Format(
        glb.CONVENTIONS, lambda e, to: glb.write_glb_files(e.scene, to), lambda e, at: glb.verify_glb(e.scene, at)
    ),
    "ply": Format(
        ply.CONVENTIONS, lambda e, to: ply.write_ply_files(e.scene, to), lambda e, at: ply.verify_ply(e.scene, at)
    ),
    "lerobot": Format(
        lerobot.CONVENTIONS,
        lambda e, to: lerobot.write_lerobot(e.scene, e.held, to),
        lambda e, at: lerobot.verify_lerobot(e.scene, e.held, at),
    ),
}


def parse_formats(text: str) -> tuple[str, ...]:
    """`mjcf,usd` as names, each once."""
    names = tuple(dict.fromkeys(word.strip().lower() for word in text.split(",") if word.strip()))
    for name in names:
        if name not in FORMATS:
            raise ConfigError(f"Format {choices_text(name, tuple(FORMATS))}", remedy="name formats with commas between")
    if not names:
        raise ConfigError("No format was named.", remedy=f"name some of {', '.join(FORMATS)}")
    return names


def export_twin(
    twin: Twin,
    blobs: Blobs,
    formats: Sequence[str],
    out: Path,
    *,
    draw_seed: int | None = None,
    stamp: Mapping[str, Any] | None = None,
    on_progress: OnProgress = lambda _: None,
) -> tuple[FormatReport, ...]:
    """Write `out/FORMAT` for each format; a report of each, also in its folder as export.json with `stamp`.

    Files that are not the twin go to `out/FORMAT.unverified`, and an older export stays. On an error nothing is left
    behind and nothing that was there is changed.
    """
    out = out.resolve()
    check_target(out, formats)
    check_twin(twin)
    exporter = Exporter(export_scene(twin, blobs, draw_seed=draw_seed))
    check_names(exporter.scene, formats)
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    with _errors_of_disk(out), _workshop(out) as (made, aside):
        reports = []
        for number, name in enumerate(formats):
            report = _written(exporter, name, made / name)
            _write_stamp(exporter.scene, report, made / name, dict(stamp or {}))
            reports.append(report)
            on_progress((number + 1) / len(formats))
        try:
            out.mkdir(parents=True, exist_ok=True)
            put_in_place([move for report in reports for move in _moves(report, made, out)], aside)
        finally:
            _remove_empty(missing)
    return tuple(reports)


@contextmanager
def _errors_of_disk(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"The export cannot be written to {out}: {error.strerror or error}.",
            remedy="free space or mend permissions, or give another folder with --out",
        ) from error


@contextmanager
def _workshop(out: Path) -> Iterator[tuple[Path, Path]]:
    """Folders for what is being made and for older exports, on the disk of the target; removed at the end."""
    place = out / f".{os.getpid()}.partial" if out.exists() else out.with_name(f".{out.name}.{os.getpid()}.partial")
    missing = [folder for folder in place.parents if not folder.exists()]
    made, aside = place / "made", place / "aside"
    try:
        made.mkdir(parents=True)
        aside.mkdir()
        yield made, aside
        shutil.rmtree(aside, ignore_errors=True)  # after an error it is empty, or all that is left of older exports
    finally:
        shutil.rmtree(made, ignore_errors=True)
        _remove_empty([aside, place, *missing])


def _moves(report: FormatReport, made: Path, out: Path) -> Iterator[tuple[Path | None, Path]]:
    """What is the twin replaces older exports of the format; what is not goes beside them."""
    yield made / report.format, out / report.folder
    if report.is_verified:
        yield None, out / f"{report.format}{UNVERIFIED}"


def _written(exporter: Exporter, name: str, folder: Path) -> FormatReport:
    chosen = FORMATS[name]
    not_carried = chosen.write(exporter, folder)
    files = tuple(sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()))
    return FormatReport(name, files, chosen.conventions, read_back(name, exporter, folder), not_carried)


def read_back(name: str, exporter: Exporter, folder: Path) -> tuple[Check, ...]:
    """The checks of a format; whatever a reader raises means that the file is not the twin."""
    try:
        return FORMATS[name].verify(exporter, folder)
    except Exception as error:
        return (Check(f"cannot be read back ({type(error).__name__}: {' '.join(str(error).split())})", math.inf, 0.0),)


def _write_stamp(scene: ExportScene, report: FormatReport, folder: Path, stamp: dict[str, Any]) -> None:
    tree = {**stamp, "draw": {"name": scene.draw_name, "values": dict(scene.draw)}, **report.as_tree()}
    (folder / STAMP_FILE).write_text(json.dumps(tree, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _remove_empty(folders: Sequence[Path]) -> None:
    """Folders that were made for an export that failed, the innermost first."""
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
