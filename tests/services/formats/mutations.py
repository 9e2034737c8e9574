"""Damage to real files of a log, and what Gemel may do with a damaged log: succeed, or say what is wrong and where."""

import contextlib
import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from gemel.cli import main
from gemel.errors import GemelError
from gemel.pipeline import run_project
from gemel.project import open_project
from gemel.store.store import Store

VIDEO = "videos/observation.images.{}/chunk-000/file-000.mp4"
FILES = (
    "meta/info.json",
    "meta/tasks.parquet",
    "meta/episodes/chunk-000/file-000.parquet",
    "data/chunk-000/file-000.parquet",
    VIDEO.format("front"),
    VIDEO.format("wrist"),
    "meta/gemel.toml",
    "meta/stats.json",
)
KINDS = ("truncate", "flip", "zero", "delete", "swap", "grow", "empty")


@dataclass(frozen=True)
class Mutation:
    """One kind of damage to one file."""

    file: str
    kind: str
    at: float
    """Where, as a part of the file's length."""
    size: float
    """How much, as a part of the file's length."""
    byte: int
    """Bits that are flipped."""

    def apply(self, root: Path) -> None:
        """Damage the file."""
        path = root / self.file
        data = bytearray(path.read_bytes())
        start = int(self.at * len(data))
        stop = min(len(data), start + 1 + int(self.size * len(data)))
        if self.kind == "delete":
            path.unlink()
        elif self.kind == "swap":
            others = [file for file in FILES if file != self.file]
            shutil.copyfile(root / others[self.byte % len(others)], path)
        else:
            path.write_bytes(self._damaged(data, start, stop))

    def _damaged(self, data: bytearray, start: int, stop: int) -> bytes:
        if self.kind == "truncate":
            return bytes(data[:start])
        if self.kind == "empty":
            return b""
        if self.kind == "grow":
            return bytes(data[:start] + data[start:stop] + data[start:])
        damage = bytes(stop - start) if self.kind == "zero" else bytes(b ^ self.byte for b in data[start:stop])
        return bytes(data[:start] + damage + data[stop:])


class QuietReporter:
    """A run that nobody watches."""

    def stage(self, name: str) -> contextlib.AbstractContextManager[object]:
        """No progress bar."""
        return contextlib.nullcontext(lambda fraction: None)

    def done(self, result: object) -> None:
        """No line."""


def inspect_log(root: Path) -> tuple[int, str]:
    """Exit code and text of `gemel inspect`; anything but a clean ending is raised."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["inspect", str(root)])
    return code, out.getvalue() + err.getvalue()


def ingest_log(root: Path, project: Path) -> str:
    """Run ingest in a new project; empty on success, else the error. The store must be whole either way."""
    project.mkdir()
    (project / "twin.toml").write_text(f'[capture]\nsource = "{root}"\n')
    error = ""
    try:
        run_project(open_project(project), QuietReporter(), last="ingest")  # type: ignore[arg-type]
    except GemelError as caught:
        error = str(caught)
    check_store(project, has_artifact=not error)
    return error


def check_store(project: Path, *, has_artifact: bool) -> None:
    """Nothing half-written: no temporary file, every object what its name says, an artifact only on success."""
    assert list((project / ".gemel" / "tmp").iterdir()) == []  # opening the store would tidy it up
    store = Store.open(project / ".gemel")
    try:
        assert all(store.objects.verify(address) for address in store.objects.addresses())
        assert bool(list(store.ledger.entries("artifact"))) is has_artifact
    finally:
        store.close()


def check_outcome(root: Path, project: Path) -> tuple[int, str]:
    """The law: inspect ends with 0, 1 or 2, ingest with a capture or an error, both name the place, and they agree."""
    code, text = inspect_log(root)
    error = ingest_log(root, project)
    assert code in (0, 1, 2), text
    if code == 2:
        assert "error: " in text
        assert "What to do: " in text
    if code == 1:
        assert "episode" in text
    for said in ([text] if code else []) + ([error] if error else []):
        assert any(word in said for word in (root.name, "meta", "episode", "data", "video", "twin.toml")), said
    assert bool(code == 2) <= bool(error), (code, text, error)
    return code, error


if __name__ == "__main__":
    sys.exit(check_outcome(Path(sys.argv[1]), Path(sys.argv[2]))[0])
