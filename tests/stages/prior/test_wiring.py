"""The stage in a project: its sources, its place in the store, and what the screen shows."""

import json
from pathlib import Path

import pytest

from gemel.artifacts.belief import Belief
from gemel.artifacts.provenance import Provenance
from gemel.artifacts.segmentation import Segmentation
from gemel.commands.show_belief import print_prior
from gemel.pipeline import STAGES, run_project
from gemel.project import open_project
from gemel.running import Run
from gemel.services.formats.toml_edit import with_table
from gemel.store.collect import collect_garbage
from gemel.store.store import Store
from stages.prior.made_objects import reconstruction
from test_pipeline import Quiet

PRIOR = next(stage for stage in STAGES if stage.name == "prior")


def _opened(folder: Path) -> Run:
    """The project with a cube in the place of what would be reconstructed."""
    opened = open_project(folder)
    results = run_project(opened, Quiet(), last="split")
    store = Store.open(opened.store_folder)
    addresses = {result.name: result.address for result in results}
    for stage, artifact in (("segment", Segmentation((), "none", {})), ("reconstruct", reconstruction("cube"))):
        provenance = Provenance(stage, dict(addresses), {}, {}, "code", 0, "cpu")
        addresses[stage] = store.put(artifact, provenance, key=stage, duration_s=0.0)
    return Run(opened, store, addresses)


def _put(run: Run) -> str:
    belief, _ = PRIOR.make(run, "key", lambda fraction: None)
    provenance = Provenance("prior", dict(run.addresses), PRIOR.sources(run), {}, "code", 0, "cpu")
    return run.store.put(belief, provenance, key="prior", duration_s=0.0)


def test_the_prior_is_in_the_store_with_its_record(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The belief reads back as written, keeps its record through garbage collection, and is shown as a table."""
    settings = project / "twin.toml"
    settings.write_text(
        settings.read_text()
        + '[task]\nname = "handover"\n[prior]\nfile = "mine.toml"\n[objects.cube]\nmaterial = "wood"\n'
        + "[objects.cube.measured]\nmass_kg = { readings = [0.08, 0.081], margin = 0.001 }\n"
    )
    (project / "mine.toml").write_text('["contact/cube-table/friction"]\nuniform = [0.5, 0.6]\n')
    run = _opened(project)
    assert set(PRIOR.sources(run)) == {"materials", "task", "file"}
    address = _put(run)
    collect_garbage(run.store, [address], is_dry_run=False)
    belief = run.store.get(address, Belief)
    assert belief.record is not None
    origins = {n: row["origin"] for n, row in json.loads(run.store.get_bytes(belief.record))["parameters"].items()}
    run.store.close()
    assert origins["object/cube/mass"] == "measured"
    assert origins["contact/cube-table/friction"] == "file"
    assert origins["contact/cube-gripper/friction"] == "task"
    print_prior(run.project.store_folder, address)
    shown = capsys.readouterr().out
    assert "measured: measured" in shown
    assert "2 readings, 0.08" in shown


def test_the_work_changes_with_the_file_and_not_with_an_unused_model(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another prior file is other work; the address of a model that nobody asks is not."""
    settings = project / "twin.toml"
    settings.write_text(settings.read_text() + '[prior]\nfile = "mine.toml"\n')
    (project / "mine.toml").write_text('["contact/cube-table/friction"]\nuniform = [0.5, 0.6]\n')
    run = _opened(project)
    sources, config = PRIOR.sources(run), PRIOR.config(run)
    monkeypatch.setenv("GEMEL_VLM_URL", "http://localhost:1/v1")
    assert PRIOR.config(run) == config
    (project / "mine.toml").write_text('["contact/cube-table/friction"]\nuniform = [0.5, 0.7]\n')
    assert PRIOR.sources(run) != sources
    run.store.close()


def test_pointing_at_an_object_keeps_its_material() -> None:
    """`gemel prompt` rewrites prompts, points and boxes, and leaves what else stands in the table."""
    text = (
        '[objects.mug]\nprompt = "mug"\npoints = [\n    { step = 1 },\n]\nmaterial = "ceramic"\n'
        "parts = [\n    { x = 1 },\n]\n[objects.mug.measured]\nmass_kg = 1\n"
    )
    new = with_table(text, "objects.mug", ['prompt = "red mug"'], replaced=("prompt", "points", "boxes"))
    assert new.split("\n\n")[1] == (
        '[objects.mug]\nprompt = "red mug"\nmaterial = "ceramic"\nparts = [\n    { x = 1 },\n]\n'
    )
    assert "[objects.mug.measured]\nmass_kg = 1" in new
