"""Which artifacts commands take after settings were tried and taken back."""

import json
import shutil
from pathlib import Path

import pytest

from gemel.cli import main
from gemel.in_force import in_force, twin_in_force
from gemel.pipeline import project_status
from gemel.project import open_project
from gemel.store.store import Store


@pytest.fixture
def tried(project: Path) -> Path:
    """Run, run with another setting of the last stage, and run again without it: nothing new is made then."""
    settings = project / "twin.toml"
    usual = settings.read_text()
    for text in (usual, usual + "[assemble]\nconcavity = 0.06\n", usual):
        settings.write_text(text)
        assert main(["run", str(project)]) == 0
    return project


def _twins(folder: Path) -> tuple[str, str, str]:
    """Addresses of the twin by `status`, by `in_force`, and of the one that was made last."""
    project = open_project(folder)
    (told,) = (row.address for row in project_status(project) if row.name == "assemble")
    store = Store.open(project.store_folder)
    made = [str(e.body["address"]) for e in store.ledger.entries("artifact") if e.body["stage"] == "assemble"]
    taken = twin_in_force(project, store)
    store.close()
    assert taken.address == taken.addresses["assemble"]
    return told, taken.address, made[-1]


def test_the_twin_that_status_shows_is_the_one_that_is_taken(tried: Path, tmp_path: Path) -> None:
    """By everything that looks for one, though another was made later; audit looks at it too."""
    told, taken, last = _twins(tried)
    assert told == taken != last
    assert main(["audit", str(tried), "--json", str(tmp_path / "audit.json")]) == 0
    audited = {item["address"] for item in json.loads((tmp_path / "audit.json").read_text())}
    assert told in audited
    assert last not in audited


def test_a_stale_twin_is_taken_with_a_note(tried: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last one that was made, and what it was made from."""
    settings = tried / "twin.toml"
    settings.write_text(settings.read_text() + "[assemble]\nconcavity = 0.07\n")
    told, taken, last = _twins(tried)
    assert (told, taken) == ("", last)
    project = open_project(tried)
    store = Store.open(project.store_folder)
    current, twin = in_force(project, store), twin_in_force(project, store)
    assert current.stale == ("draft", "identify", "assemble")
    assert "assemble" in twin.note
    assert "gemel run" in twin.note
    assert twin.addresses["ingest"] == current.addresses["ingest"]
    capsys.readouterr()
    assert main(["audit", str(tried)]) == 0
    assert "Not known to be in force" in capsys.readouterr().out


def test_a_project_whose_log_is_elsewhere_still_has_its_twin(waving_log: Path, tmp_path: Path) -> None:
    """Nobody can tell whether it is in force, and the note says why."""
    log, folder = tmp_path / "log", tmp_path / "project"
    shutil.copytree(waving_log, log)
    folder.mkdir()
    (folder / "twin.toml").write_text('[capture]\nsource = "../log"\n')
    assert main(["run", str(folder)]) == 0
    shutil.rmtree(log)
    project = open_project(folder)
    store = Store.open(project.store_folder)
    assert "Nobody can tell" in twin_in_force(project, store).note
    store.close()
