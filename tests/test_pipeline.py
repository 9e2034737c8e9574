import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gemel import running
from gemel.artifacts.capture import Capture
from gemel.artifacts.split import Split
from gemel.errors import ConfigError
from gemel.pipeline import project_status, run_project
from gemel.project import open_project
from gemel.running import OnProgress, StageResult
from gemel.store.store import Store


class Quiet:
    """A reporter that only remembers."""

    def __init__(self) -> None:
        self.fractions: list[float] = []
        self.results: list[StageResult] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[OnProgress]:
        yield self.fractions.append

    def done(self, result: StageResult) -> None:
        self.results.append(result)


def _run(folder: Path, **options: str) -> list[StageResult]:
    """Up to the split unless told: the log of these tests shows nothing that could be segmented."""
    return run_project(open_project(folder), Quiet(), **{"last": "split", **options})  # type: ignore[arg-type]


def test_a_first_run_makes_everything_and_a_second_nothing(project: Path) -> None:
    """What exists and is unchanged is taken from the store, with the same address."""
    first, second = _run(project), _run(project)
    assert [r.is_cached for r in first] == [False, False]
    assert [r.is_cached for r in second] == [True, True]
    assert [r.address for r in first] == [r.address for r in second]


def test_until_stops_and_from_runs_again(project: Path) -> None:
    """`until` ends after a stage; `from` makes a stage and those after it anew, to the same address."""
    assert [r.name for r in _run(project, last="ingest")] == ["ingest"]
    whole = _run(project)
    assert [r.is_cached for r in whole] == [True, False]
    again = _run(project, first="split")
    assert [r.is_cached for r in again] == [True, False]
    assert [r.address for r in again] == [r.address for r in whole]


def test_an_unknown_stage_lists_the_stages(project: Path) -> None:
    """A mistyped stage name gets the closest match."""
    with pytest.raises(ConfigError, match="Closest: 'ingest'"):
        _run(project, last="injest")


def test_changed_settings_run_only_what_depends_on_them(project: Path) -> None:
    """A new split setting leaves the capture alone; a new camera guess changes both."""
    before = _run(project)
    settings = project / "twin.toml"
    settings.write_text(settings.read_text() + "\n[split]\nholdout = 0.4\n")
    resplit = _run(project)
    assert [r.is_cached for r in resplit] == [True, False]
    assert resplit[1].address != before[1].address
    settings.write_text(settings.read_text() + "\n[cameras.front]\nparent = 'world'\n")
    assert [r.is_cached for r in _run(project)] == [False, False]


def test_changed_code_runs_the_stage_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage whose code version differs is not taken from the store."""
    _run(project)
    original = running.code_version
    monkeypatch.setattr(running, "code_version", lambda m: "new" if "split" in m else original(m))
    assert [r.is_cached for r in _run(project)] == [True, False]


def test_a_changed_log_is_a_new_capture(tmp_path: Path, waving_log: Path) -> None:
    """When a source file changes, ingest runs again and the artifact has another address."""
    import shutil

    log, folder = tmp_path / "log", tmp_path / "p"
    shutil.copytree(waving_log, log)
    folder.mkdir()
    (folder / "twin.toml").write_text('[capture]\nsource = "../log"\n')
    before = _run(folder)
    sidecar = log / "meta" / "gemel.toml"
    sidecar.write_text(sidecar.read_text().replace('"deg"', '"rad"'))
    after = _run(folder)
    assert not after[0].is_cached
    assert after[0].address != before[0].address


def test_a_lost_object_is_made_anew(project: Path) -> None:
    """An artifact that is no longer complete does not count as done."""
    before = _run(project)
    store = Store.open(project / ".gemel")
    signals = store.get(before[0].address, Capture).episodes[0].signals
    store.objects.remove(signals.address)
    store.close()
    assert [row.state for row in project_status(open_project(project))][:2] == ["stale", "stale"]
    after = _run(project)
    assert [r.address for r in after] == [r.address for r in before]


def test_status_tells_missing_done_and_stale(project: Path) -> None:
    """Status changes with the project, and runs nothing itself."""
    opened = open_project(project)
    assert [row.state for row in project_status(opened)][:2] == ["missing", "missing"]
    _run(project)
    assert [row.state for row in project_status(opened)][:2] == ["done", "done"]
    settings = project / "twin.toml"
    settings.write_text("seed = 5\n" + settings.read_text())
    assert [row.state for row in project_status(open_project(project))][:2] == ["stale", "stale"]


def test_progress_only_grows(project: Path) -> None:
    """Each stage's bar moves forward and ends at its end."""
    reporter = Quiet()
    run_project(open_project(project), reporter, last="ingest")
    assert reporter.fractions == sorted(reporter.fractions)
    assert reporter.fractions[-1] == pytest.approx(1.0)


def test_provenance_names_inputs_config_code_and_seed(project: Path) -> None:
    """The split knows which capture it was made from, with which settings and seed."""
    capture, split = _run(project)
    store = Store.open(project / ".gemel")
    provenance = store.manifest(split.address).provenance
    assert dict(provenance.inputs) == {"ingest": capture.address}
    assert provenance.config["holdout"] == 0.2
    assert (provenance.seed, provenance.device, len(provenance.code)) == (0, "cpu", 64)
    assert set(store.get(split.address, Split).role_from_episode) == {str(i) for i in range(7)}


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "gemel", "run", str(folder), "--until", "split"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _whole_and_sound(folder: Path) -> None:
    """The store opens, its chain is whole, and every object matches its name."""
    if not (folder / ".gemel" / "ledger.sqlite").exists():
        return
    store = Store.open(folder / ".gemel")
    assert store.ledger.first_break() is None
    assert all(store.objects.verify(address) for address in store.objects.addresses())
    assert list(store.objects.tmp.iterdir()) == []
    for entry in store.ledger.entries("artifact"):
        assert store.is_complete(str(entry.body["address"]))
    store.close()


@pytest.mark.slow
def test_fifty_kills_lose_nothing(project: Path, tmp_path: Path) -> None:
    """kill -9 at fifty random moments: the store always opens, and the result equals an uninterrupted one."""
    reference = tmp_path / "reference"
    reference.mkdir()
    (reference / "twin.toml").write_text((project / "twin.toml").read_text())
    assert _start(reference).wait() == 0
    moments = random.Random(0)
    usual_s, killed = 1.0, 0
    while killed < 50:
        started = time.monotonic()
        process = _start(project)
        try:
            process.wait(timeout=moments.uniform(0.0, usual_s))
            usual_s = 0.5 * (usual_s + time.monotonic() - started)  # it was done first: machines differ and warm up
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed, usual_s = killed + 1, 1.05 * usual_s
        _whole_and_sound(project)
        if moments.random() < 0.5:  # half of the kills meet a run that starts from nothing
            shutil.rmtree(project / ".gemel", ignore_errors=True)
    assert _start(project).wait() == 0
    made = [(row.name, row.state, row.address) for row in project_status(open_project(project))]
    expected = [(row.name, row.state, row.address) for row in project_status(open_project(reference))]
    assert made == expected
    objects = [Store.open(folder / ".gemel").objects.addresses() for folder in (project, reference)]
    assert objects[0] == objects[1]


def test_two_runs_at_once_end_with_one_result(project: Path) -> None:
    """Processes that run the same project together agree, and the chain is whole."""
    processes = [_start(project) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    _whole_and_sound(project)
    assert all(result.is_cached for result in _run(project))
