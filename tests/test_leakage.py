"""The leakage guard at its three depths, from end to end: types, import contracts, and the seal at run time."""

import sqlite3
from pathlib import Path

import pytest

from gemel.artifacts.capture import Capture
from gemel.artifacts.evidence import Claim, Evidence
from gemel.artifacts.provenance import Provenance
from gemel.artifacts.split import Role, Split
from gemel.cli import main
from gemel.errors import LeakageError
from gemel.project import open_project
from gemel.running import Run
from gemel.store.audit import audit
from gemel.store.seal import open_holdout
from gemel.store.store import Store, work_key


@pytest.fixture
def run(project: Path) -> Run:
    """A project that has been ingested and split."""
    assert main(["run", str(project)]) == 0
    opened = open_project(project)
    store = Store.open(opened.store_folder)
    latest = {e.body["stage"]: str(e.body["address"]) for e in store.ledger.entries("artifact")}
    return Run(opened, store, addresses=latest)


def _ids(run: Run, role: Role) -> tuple[str, ...]:
    return run.get("split", Split).episodes(role)


def _fit(run: Run, episodes: tuple[str, ...]) -> str:
    """A small fitting stage: averages frames of the given episodes and stores what it made."""
    provenance = Provenance("reconstruct", {"split": run.addresses["split"]}, {}, {}, "code", 0, "cpu")
    key = work_key(provenance)
    frames = run.frames(run.get("ingest", Capture), "reconstruct", key)
    mean = sum(float(frames.image(e, "front", 0).mean()) for e in episodes) / len(episodes)
    claim = Claim("mean level", "1", mean, mean, mean, 0.95, len(episodes), ())
    return run.store.put(Evidence((claim,), (), "", 0, {}), provenance, key=key, duration_s=0.0)


def test_an_artifact_fitted_to_calibration_data_is_proved_clean(run: Run) -> None:
    """The audit walks from the artifact to the log and lists what each step read."""
    address = _fit(run, _ids(run, Role.CALIBRATION))
    verdict = audit(run.store, address)
    assert verdict.is_clean
    assert verdict.holdout == _ids(run, Role.HOLDOUT)
    assert [step.stage for step in verdict.steps] == ["reconstruct", "split", "ingest"]
    assert set(verdict.steps[0].episodes_read) == set(_ids(run, Role.CALIBRATION))


def test_openings_are_in_the_audit_and_nothing_may_be_made_from_evidence(run: Run) -> None:
    """The audit lists every opening; an artifact whose lineage has Evidence in it is refuted."""
    clean = _fit(run, _ids(run, Role.CALIBRATION))
    open_holdout(
        run.store.ledger, key="k", split_address=run.addresses["split"], twin_address=clean, is_again=False
    )  # fmt: skip
    verdict = audit(run.store, clean)
    assert verdict.is_clean
    assert len(verdict.openings) == 1
    assert f"for twin {clean[:8]}" in verdict.openings[0]
    inputs = {"split": run.addresses["split"], "evidence": clean}
    provenance = Provenance("identify", inputs, {}, {}, "code", 0, "cpu")
    tuned = Evidence((), (), "", 0, {})
    address = run.store.put(tuned, provenance, key=work_key(provenance), duration_s=0.0)
    assert any("made from what the holdout showed" in offence for offence in audit(run.store, address).offences)


def test_a_stage_that_asks_for_a_holdout_episode_gets_an_error_not_a_frame(run: Run) -> None:
    """At run time the reader refuses, also though all episodes lie in one video file."""
    held_out = _ids(run, Role.HOLDOUT)[0]
    with pytest.raises(LeakageError, match=rf"Stage 'reconstruct' asked for episode '{held_out}'.*holdout"):
        _fit(run, (*_ids(run, Role.CALIBRATION), held_out))
    assert any(e.body["episode"] == held_out for e in run.store.ledger.entries("refused"))


def test_a_read_behind_the_seals_back_is_refuted_with_its_path(run: Run) -> None:
    """If a holdout read ever enters the ledger of a fitting stage, the audit names artifact, stage and episode."""
    held_out = run.get("ingest", Capture).episode(_ids(run, Role.HOLDOUT)[0])
    address = _fit(run, _ids(run, Role.CALIBRATION))
    entry = run.store.ledger.by_address(address)
    assert entry is not None
    run.store.ledger.append(
        "read",
        {"key": entry.body["key"], "stage": "reconstruct", "episode": "renamed", "fingerprint": held_out.fingerprint,
         "role": "calibration", "what": "images/front"},
    )  # fmt: skip
    verdict = audit(run.store, address)
    assert not verdict.is_clean
    assert f"holdout episode {held_out.id!r}" in verdict.offences[0]
    assert verdict.offences[0].startswith("Evidence ")


def test_an_edited_ledger_is_caught_by_the_audit_command(
    run: Run, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Turning a refusal into nothing, or a role into another, shows; the command exits with 1."""
    assert main(["audit", str(project)]) == 0
    database = project / ".gemel" / "ledger.sqlite"
    db = sqlite3.connect(database)
    db.executescript(
        "DROP TRIGGER entry_no_update;"
        "UPDATE entry SET body = replace(body, 'holdout', 'calibration') WHERE kind = 'roles'"
    )
    db.close()
    capsys.readouterr()
    assert main(["audit", str(project)]) == 1
    assert "the ledger is not as it was written" in " ".join(capsys.readouterr().out.split())


def test_a_changed_object_is_caught_by_the_audit(run: Run) -> None:
    """An artifact whose numbers were changed on disk is not proved."""
    address = run.addresses["split"]
    signals = run.get("ingest", Capture).episodes[2].signals
    path = run.store.objects.path(signals.address)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    offences = audit(run.store, address).offences
    assert any("is missing or was changed" in offence and "Capture" in offence for offence in offences)


def test_a_copied_holdout_episode_in_the_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log in which a holdout episode occurs again under another number cannot be split that way."""
    import numpy as np

    from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter

    rng = np.random.default_rng(0)
    states = [rng.normal(size=(15, 2)).cumsum(axis=0) for _ in range(5)]
    with LerobotWriter(tmp_path / "log", LerobotSpec(10.0, ("a", "b"), ("a", "b"))) as writer:
        for state in [*states, states[1]]:
            writer.add_episode(task="t", state=state, action=state)
        writer.write_sidecar('[joints.a]\nunit = "rad"\n[joints.b]\nunit = "rad"\n')
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "twin.toml").write_text('[capture]\nsource = "../log"\n[split]\nholdout_episodes = ["1"]\n')
    assert main(["run", str(folder)]) == 2
    message = capsys.readouterr().err
    assert "Episode '1' (holdout) and episode '5' (calibration) are the same evidence: exact copy" in message


def test_splitting_again_cannot_launder_used_episodes(
    run: Run, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After fitting, a new split that would hold out a used episode is refused, and the old roles stay."""
    used = _ids(run, Role.CALIBRATION)[1]
    _fit(run, _ids(run, Role.CALIBRATION))
    settings = project / "twin.toml"
    settings.write_text(settings.read_text() + f'\n[split]\nholdout_episodes = ["{used}"]\n')
    assert main(["run", str(project)]) == 2
    assert f"Episode {used!r} would become holdout" in capsys.readouterr().err


@pytest.mark.slow
def test_held_out_data_is_not_fit_data_to_the_type_checker(tmp_path: Path) -> None:
    """Passing held-out data where fitting data belongs does not type-check."""
    from mypy import api

    snippet = tmp_path / "leak.py"
    snippet.write_text(
        "from gemel.artifacts.held_out import HeldOutData\n"
        "from gemel.artifacts.split import FitData\n"
        "def fit(data: FitData) -> None: ...\n"
        "def leak(data: HeldOutData) -> None:\n"
        "    fit(data)\n"
    )
    config = Path(__file__).parents[1] / "pyproject.toml"
    report, _, code = api.run([str(snippet), "--config-file", str(config), "--no-incremental"])
    assert code == 1
    assert 'incompatible type "HeldOutData"; expected "FitData"' in report


def _cut_off(store: Store, number: int) -> None:
    """Take the ledger's end away and set its counter back, as somebody would who wants an opening unmade."""
    path = store.root / "ledger.sqlite"
    store.close()
    db = sqlite3.connect(path)
    db.executescript(
        f"DROP TRIGGER entry_no_delete; DELETE FROM entry WHERE number >= {number};"
        f"UPDATE sqlite_sequence SET seq = {number - 1} WHERE name = 'entry';"
    )
    db.commit()
    db.close()


def test_an_opening_that_was_cut_off_the_ledger_shows_by_its_evidence(run: Run) -> None:
    """The shorter ledger is whole, but Evidence of an opening that it does not know is still in the store."""
    twin = run.addresses["assemble"]
    first = sum(1 for _ in run.store.ledger.entries()) + 1
    opening = open_holdout(
        run.store.ledger, key="k", split_address=run.addresses["split"], twin_address=twin, is_again=False
    )  # fmt: skip
    provenance = Provenance("evaluate", {"assemble": twin}, {}, {}, "code", 0, "cpu")
    evidence = Evidence((), (), opening.split, opening.of_twin, {"assemble": twin})
    run.store.put(evidence, provenance, key="k", duration_s=0.0)
    assert audit(run.store, twin).is_clean
    _cut_off(run.store, first)
    store = Store.open(run.project.store_folder)
    assert store.ledger.first_break() is None
    verdict = audit(store, twin)
    assert any("opening 1 of the holdout" in o and "the ledger has 0" in o for o in verdict.offences)
    store.close()
