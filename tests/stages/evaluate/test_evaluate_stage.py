"""The stage on episodes that a twin made itself, so that what the claims must say is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.belief import Belief
from gemel.artifacts.evidence import Evidence
from gemel.artifacts.held_out import HeldOutData, Opening
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, SourceError
from gemel.stages.evaluate.config import EvaluateConfig
from gemel.stages.evaluate.instruments import Instruments, make_instruments
from gemel.stages.evaluate.remarks import notes_on
from gemel.stages.evaluate.stage import evaluate
from gemel.store.store import Store
from services.sim.made_twin import belief
from stages.evaluate.made_record import COM, FRICTION, TRUTH, MemoryFrames, known_twin, recorded


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store") / "store")


@pytest.fixture(scope="module")
def twin(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Twin:
    return known_twin(store, tmp_path_factory.mktemp("robot"))


def _instruments(held_out: HeldOutData, twin: Twin, config: EvaluateConfig, store: Store) -> Instruments:
    return make_instruments(
        twin, config, joints=held_out.joints, action_names=held_out.action_names,
        action_units=held_out.action_units, blobs=store,
    )  # fmt: skip


def _evidence(twin: Twin, store: Store, *, prior: Belief, nominal: Belief, repeat: bool = False) -> Evidence:
    held_out, tracks, episodes = recorded(twin, store, repeat=repeat)
    config = EvaluateConfig(draws=19)
    evidence, _ = evaluate(
        held_out,
        twin,
        config,
        instruments=_instruments(held_out, twin, config, store),
        prior=prior,
        nominal=nominal,
        tracks=tracks,
        frames=MemoryFrames(episodes),
        blobs=store,
        rng=np.random.default_rng(0),
        opening=Opening("split", "twin", 1, 1),
        lineage={"assemble": "twin"},
        repeats=[("0", "4"), ("0", "1")] if repeat else [],
    )
    return evidence


def test_a_twins_own_episodes_have_no_error_and_wrong_friction_is_lost_sooner(twin: Twin, store: Store) -> None:
    """Truth follows to the end with errors of rounding; friction twice as high does not."""
    wrong = belief({COM: (TRUTH[COM],) * 2, FRICTION: (2.0 * TRUTH[FRICTION],) * 2})
    spread = belief({COM: (-0.01, 0.05), FRICTION: (0.15, 0.6)})
    evidence = _evidence(twin, store, prior=spread, nominal=wrong)
    for drive, most_m in (("actions", 1e-6), ("logged", 5e-3)):
        position = evidence.claim("position_error", subject="t_block", physics="posterior", drive=drive)
        joints = evidence.claim("joint_rmse", subject="all", physics="posterior", drive=drive)
        assert position is not None
        assert joints is not None
        assert position.estimate < most_m
        assert joints.estimate < 1e-3
        assert position.n == 4
        ratio = evidence.claim("follow_time_ratio", subject="t_block", physics="posterior/nominal", drive=drive)
        assert ratio is not None
        assert ratio.low > 1.0
        assert ratio.low <= ratio.estimate <= ratio.high
    whole = "Driven by the recorded actions, the posterior follows to the end in episodes 0, 1, 2, 3"
    assert any(note.startswith(whole) for note in evidence.notes)
    assert any("No real-vs-real floor" in note for note in evidence.notes)
    for gap in (evidence.claim(f"tool_denavit_hartenberg_gap{kind}", subject="all") for kind in ("", "_angle")):
        assert gap is not None
        assert gap.estimate < 1e-5
        assert gap.n == 4
    wide = next(c for c in evidence.curves if (c.physics, c.drive, c.quantity) == ("prior", "actions", "position"))
    assert wide.low is not None
    assert wide.high is not None
    assert np.all(wide.low <= wide.high)
    assert wide.high[-1] > 1e-3


def test_repeats_give_a_floor(twin: Twin, store: Store) -> None:
    """Of pairs with the same start, only the one with the same actions counts, and it differs by nothing."""
    known = twin.belief
    evidence = _evidence(twin, store, prior=known, nominal=known, repeat=True)
    floor = evidence.claim("position_error", subject="t_block", physics="repeat")
    assert floor is not None
    assert floor.n == 1
    assert floor.estimate < 1e-9
    assert {c.episode for c in evidence.curves if c.physics == "repeat"} == {"0 and 4"}


def test_without_holdout_nothing_is_claimed(twin: Twin, store: Store, tmp_path: Path) -> None:
    """An empty holdout is refused with what to do."""
    del tmp_path
    held_out, tracks, episodes = recorded(twin, store)
    instruments = _instruments(held_out, twin, EvaluateConfig(), store)
    with pytest.raises(SourceError, match="No episode is held out"):
        evaluate(
            HeldOutData(()), twin, EvaluateConfig(), instruments=instruments, prior=twin.belief,
            nominal=twin.belief, tracks=tracks, frames=MemoryFrames(episodes), blobs=store,
            rng=np.random.default_rng(0), opening=Opening("s", "t", 1, 1), lineage={},
        )  # fmt: skip


def test_actions_that_cannot_be_replayed_are_said_so(twin: Twin, store: Store) -> None:
    """With actions of unknown meaning only the logged path is replayed, and a note says it."""
    held_out, tracks, episodes = recorded(twin, store)
    strange, config = replace(held_out, action_names=("a", "b")), EvaluateConfig(draws=19)
    evidence, _ = evaluate(
        strange, twin, config, instruments=_instruments(strange, twin, config, store), prior=twin.belief,
        nominal=twin.belief, tracks=tracks, frames=MemoryFrames(episodes), blobs=store, rng=np.random.default_rng(0),
        opening=Opening("s", "t", 1, 1), lineage={},
    )  # fmt: skip
    assert {curve.drive for curve in evidence.curves} == {"logged"}
    assert any("not its actions: they are neither joint targets nor steps" in note for note in evidence.notes)


@pytest.mark.parametrize("table", ["weights", "scales"])
def test_weights_of_joints_that_are_not_compared_are_refused(twin: Twin, store: Store, table: str) -> None:
    """With the names that there are."""
    held_out, _, _ = recorded(twin, store)
    config = replace(EvaluateConfig(), **{table: {"pz": 2.0}})
    with pytest.raises(ConfigError, match=rf"\[evaluate.{table}\] 'pz' is unknown.*'px', 'py'"):
        _instruments(held_out, twin, config, store)


def test_steps_of_two_tools_and_actions_without_a_robot_say_why_they_are_left_out(twin: Twin, store: Store) -> None:
    """The reader knows, and the notes tell."""
    held_out, tracks, _ = recorded(twin, store)
    steps = replace(held_out, action_names=("tip_x", "tip_y"))
    arms = {"one": ("px",), "two": ("py",)}
    two = _instruments(steps, twin, EvaluateConfig(arms=arms), store)
    none = _instruments(held_out, replace(twin, robot=None, joints=()), EvaluateConfig(), store)
    for instruments, why in ((two, "which arm's tool they are steps of: one and two"), (none, "no robot model")):
        notes = notes_on([], tracks, instruments, twin.belief, (), 0)
        assert any("Only the log was replayed, not its actions" in note and why in note for note in notes)
