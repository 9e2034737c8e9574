from dataclasses import replace
from pathlib import Path

import pytest

from gemel.artifacts.blob import BlobRef
from gemel.artifacts.capture import Domain, EpisodeKind, EpisodeRecord
from gemel.artifacts.split import Role, Split
from gemel.errors import LeakageError
from gemel.store.ledger import Ledger
from gemel.store.seal import Grant, current_roles, open_holdout, record_roles


def _record(episode: str, fingerprint: str) -> EpisodeRecord:
    blob = BlobRef("00" * 32, 1)
    return EpisodeRecord(episode, EpisodeKind.TASK, Domain.REAL, "push", 3, 0.2, blob, fingerprint)


RECORDS = {name: _record(name, f"print-{name}") for name in ("cal", "val", "held")}
SPLIT = Split(
    by="episode",
    seed=0,
    role_from_episode={"cal": Role.CALIBRATION, "val": Role.VALIDATION, "held": Role.HOLDOUT},
    group_from_episode={"cal": 0, "val": 1, "held": 2},
    fingerprint_from_episode={name: record.fingerprint for name, record in RECORDS.items()},
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.sqlite")
    record_roles(book, split_address="s1", capture_address="c1", split=SPLIT)
    return book


@pytest.mark.parametrize("stage", ["segment", "reconstruct", "track", "identify", "train", "anything else"])
def test_a_fitting_stage_that_asks_for_a_holdout_episode_is_refused(ledger: Ledger, stage: str) -> None:
    """The error names stage, episode and role, and the refusal is written down."""
    grant = Grant(ledger, stage, "k")
    with pytest.raises(LeakageError, match=rf"Stage '{stage}' asked for episode 'held', whose role is holdout"):
        grant.read(RECORDS["held"], "images/front")
    refused = list(ledger.entries("refused"))
    assert [(e.body["stage"], e.body["episode"], e.body["role"]) for e in refused] == [(stage, "held", "holdout")]
    assert list(ledger.entries("read")) == []


def test_a_copy_of_a_holdout_episode_is_sealed_under_any_name(ledger: Ledger) -> None:
    """Even an episode whose own role is calibration is refused when its numbers are those of a sealed one."""
    copy = replace(RECORDS["cal"], fingerprint=RECORDS["held"].fingerprint)
    with pytest.raises(LeakageError, match="'cal', which is a copy of episode 'held'"):
        Grant(ledger, "reconstruct", "k").read(copy, "signals")


@pytest.mark.parametrize("episode", ["cal", "val"])
def test_fitting_data_is_granted_and_logged_once(ledger: Ledger, episode: str) -> None:
    """Every kind of read appears in the ledger, once, with the role that the episode had."""
    grant = Grant(ledger, "reconstruct", "k")
    for what in ("signals", "images/front", "signals"):
        grant.read(RECORDS[episode], what)
    logged = [(e.body["what"], e.body["role"]) for e in ledger.entries("read", key="k")]
    role = SPLIT.role_from_episode[episode].value
    assert logged == [("signals", role), ("images/front", role)]


def test_only_evaluate_opens_the_holdout(ledger: Ledger) -> None:
    """The opening is granted and stands in the ledger."""
    Grant(ledger, "evaluate", "k").read(RECORDS["held"], "images/front")
    assert [e.body["role"] for e in ledger.entries("read")] == ["holdout"]


def test_nothing_may_be_fitted_before_roles_exist(tmp_path: Path) -> None:
    """Without a recorded split, only ingest and split may read."""
    ledger = Ledger(tmp_path / "fresh.sqlite")
    Grant(ledger, "split", "k").read(RECORDS["cal"], "signals")
    with pytest.raises(LeakageError, match="no split has been recorded"):
        Grant(ledger, "reconstruct", "k").read(RECORDS["cal"], "signals")


def test_an_episode_without_a_role_is_refused(ledger: Ledger) -> None:
    """What the split did not see cannot be fitted to."""
    with pytest.raises(LeakageError, match="has no role"):
        Grant(ledger, "reconstruct", "k").read(_record("new", "print-new"), "signals")


def test_an_episode_that_was_fitted_to_can_never_become_holdout(ledger: Ledger) -> None:
    """Splitting again after fitting must not launder used data into the holdout."""
    Grant(ledger, "reconstruct", "k").read(RECORDS["cal"], "images/front")
    swapped = replace(SPLIT, role_from_episode={**SPLIT.role_from_episode, "cal": Role.HOLDOUT})
    with pytest.raises(LeakageError, match=r"'cal' would become holdout, but stage 'reconstruct' has already read it"):
        record_roles(ledger, split_address="s2", capture_address="c1", split=swapped)
    roles = current_roles(ledger)
    assert roles is not None
    assert roles.split == "s1"


def test_recording_the_same_roles_again_adds_nothing(ledger: Ledger) -> None:
    """A resumed run finds its roles in force."""
    record_roles(ledger, split_address="s1", capture_address="c1", split=SPLIT)
    assert len(list(ledger.entries("roles"))) == 1


def test_openings_are_counted_per_twin_and_per_holdout(ledger: Ledger) -> None:
    """Once per twin unless asked for again; work that goes on under the same key is one opening; all are counted."""

    def opened(key: str, twin: str, *, is_again: bool = False) -> tuple[int, int]:
        found = open_holdout(ledger, key=key, split_address="s1", twin_address=twin, is_again=is_again)
        return found.of_twin, found.of_holdout

    assert opened("k1", "twin1") == (1, 1)
    assert opened("k1", "twin1") == (1, 1)
    with pytest.raises(LeakageError, match="already been opened for this twin"):
        opened("k2", "twin1")
    assert len(list(ledger.entries("opened"))) == 1
    assert opened("k2", "twin1", is_again=True) == (2, 2)
    assert opened("k3", "twin2") == (1, 3)
    with pytest.raises(LeakageError, match="not the one in force"):
        open_holdout(ledger, key="k4", split_address="s0", twin_address="twin3", is_again=False)


def test_an_evaluation_is_no_fit(ledger: Ledger) -> None:
    """What evaluate has read may stay held out under a new split; what a fitting stage has read may not."""
    Grant(ledger, "evaluate", "k").read(RECORDS["held"], "signals")
    record_roles(ledger, split_address="s2", capture_address="c1", split=replace(SPLIT, seed=1))
    Grant(ledger, "track", "k").read(RECORDS["cal"], "signals")
    turned = {"cal": Role.HOLDOUT, "val": Role.VALIDATION, "held": Role.CALIBRATION}
    with pytest.raises(LeakageError, match="'cal' would become holdout"):
        record_roles(ledger, split_address="s3", capture_address="c1", split=replace(SPLIT, role_from_episode=turned))
