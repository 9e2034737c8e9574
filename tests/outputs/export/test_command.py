"""`gemel export` from the command line: exit codes, the table, JSON, and errors that say what to do."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gemel.artifacts.provenance import Provenance
from gemel.cli import main
from gemel.outputs.export import export
from gemel.outputs.export.report import Check
from gemel.project import open_project
from gemel.store.store import Store
from outputs.export.exported_twin import sample_twin


@pytest.fixture
def twin_project(project: Path) -> Path:
    """A project in which a twin has been assembled."""
    store = Store(open_project(project).store_folder)
    store.put(sample_twin(store), Provenance("assemble", {}, {}, {}, "code", 0, "cpu"), key="k", duration_s=1.0)
    store.close()
    return project


def test_exports_go_to_the_project_and_are_told(twin_project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, folders under `exports`, a table with differences and with what is left out, the same as JSON."""
    assert main(["export", str(twin_project), "--to", "mjcf,glb", "--json", str(twin_project / "r.json")]) == 0
    table = capsys.readouterr().out
    assert "verified" in table
    assert "2 s without contact" in table
    assert "delay, backlash" in " ".join(table.split())
    tree = json.loads((twin_project / "r.json").read_text())
    assert [each["format"] for each in tree["formats"]] == ["mjcf", "glb"]
    assert all((twin_project / "exports" / each["format"] / "export.json").is_file() for each in tree["formats"])
    assert all(each["is_verified"] for each in tree["formats"])


def test_a_failed_verification_is_exit_code_1(
    twin_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table says which format is not the twin."""
    wrong = replace(export.FORMATS["ply"], verify=lambda *_: (Check("colours", 0.3, 0.1),))
    monkeypatch.setitem(export.FORMATS, "ply", wrong)
    assert main(["export", str(twin_project), "--to", "ply", "--out", str(twin_project / "out")]) == 1
    table = capsys.readouterr().out
    assert "NOT VERIFIED" in table
    assert "put beside older exports: ply.unverified" in table


def test_mistakes_are_exit_code_2(twin_project: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown formats and missing projects get one message each, without a traceback."""
    assert main(["export", str(twin_project), "--to", "fbx"]) == 2
    assert "Choices" in capsys.readouterr().err
    assert main(["export", str(twin_project), "--to", "ply", "--draw", "-1"]) == 2
    assert "The draw's seed is -1" in capsys.readouterr().err
    for target in (twin_project, twin_project / "nowhere" / "r.json"):
        assert main(["export", str(twin_project), "--to", "glb", "--json", str(target)]) == 2
        assert "cannot be written" in capsys.readouterr().err
    assert not (twin_project / "exports").exists()
    assert main(["export", str(twin_project / "nowhere")]) == 2
    assert "What to do" in capsys.readouterr().err


def test_a_project_without_twin_says_what_to_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remedy names the command that assembles one."""
    Store(open_project(project).store_folder).close()
    assert main(["export", str(project)]) == 2
    assert f"gemel run {project}`" in capsys.readouterr().err
