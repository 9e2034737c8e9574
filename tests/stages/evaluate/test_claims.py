"""Laws of what is claimed over episodes: differences between repeats, and between two ways to the tool."""

import math
from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Bool, Float, Int

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.evidence import Claim
from gemel.artifacts.track import Track
from gemel.geometry import SE3, SO3
from gemel.services.kinematics.arms import Arm
from gemel.stages.evaluate.claims import gap_claims, repeat_claims
from gemel.stages.evaluate.compare import Compared, Key
from gemel.stages.evaluate.divergence_time import FollowTime
from gemel.stages.evaluate.floor import is_repeat, repeat_curves
from gemel.stages.evaluate.follow_ratio import followings, ratio_claims
from gemel.stages.evaluate.joint_error import JointMeasure
from gemel.stages.evaluate.verdicts import not_shown, overconfident

_TIMES = np.arange(5) * 0.1
_SEEN = np.zeros(5, dtype=bool)


def _episode(name: str, times_s: Float[np.ndarray, " t"] = _TIMES) -> Episode:
    joints = 2.0 * times_s[:, None]
    return Episode(name, EpisodeKind.TASK, Domain.REAL, "", times_s, joints, np.zeros((len(times_s), 1)))


def _track(name: str, is_lost: Bool[np.ndarray, " t"], times_s: Float[np.ndarray, " t"] = _TIMES) -> Track:
    """A block that moves along x with 1 m/s."""
    xyz = np.zeros((len(times_s), 3))
    xyz[:, 0] = times_s
    return Track(name, "block", times_s, SE3(SO3.identity(len(times_s)), xyz), np.zeros((len(times_s), 6, 6)), is_lost)


@pytest.mark.parametrize("seen", [[], [2]])
def test_a_repeat_that_was_hardly_tracked_makes_no_floor(seen: list[int]) -> None:
    """Whichever of the two it is."""
    hardly = ~np.isin(np.arange(5), seen)
    for one, two in ((_SEEN, hardly), (hardly, _SEEN)):
        assert repeat_curves(_episode("a"), _episode("b"), [(_track("a", one), _track("b", two))], ()) == []


def test_repeats_are_compared_where_both_are_known() -> None:
    """No pose is made up before or after those of the other; without a common time nothing is claimed."""
    measure = JointMeasure(Arm("arm", (0,), (), "link", 0), np.ones(1), np.ones(1))
    first, is_late = _episode("a"), _TIMES < 0.25
    curves = repeat_curves(first, _episode("b"), [(_track("a", _SEEN), _track("b", is_late))], (measure,))
    assert [(c.subject, c.quantity, len(c.times_s)) for c in curves] == [
        ("all", "joints", 5), ("block", "position", 2), ("block", "orientation", 2),
    ]  # fmt: skip
    claims = repeat_claims(curves, (Domain.REAL,), 0.95, np.random.default_rng(0))
    assert [claim.estimate for claim in claims] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    early, late = _track("a", _TIMES > 0.15), _track("b", is_late)
    for pair in ((early, late), (late, early)):
        assert repeat_curves(first, _episode("b"), [pair], ()) == []
    for shift_s in (-9.0, 9.0):
        assert repeat_curves(first, _episode("b", _TIMES + shift_s), [], (measure,)) == []


def test_gaps_are_the_largest_in_metres_and_degrees_and_count_episodes() -> None:
    """However many replays each episode has; without a robot there are none."""
    one, two = (Compared(name, gaps=[(0.001, 0.02), (0.003, 0.01)] * 6) for name in "ab")
    distance, angle = gap_claims([one, two, Compared("c")], (Domain.TWIN,), 0.95)
    assert (distance.name, distance.unit, distance.estimate) == ("tool_denavit_hartenberg_gap", "m", 0.003)
    assert (angle.name, angle.unit) == ("tool_denavit_hartenberg_gap_angle", "deg")
    assert math.isclose(angle.estimate, math.degrees(0.02))
    assert (distance.n, angle.n) == (2, 2)
    assert gap_claims([Compared("c")], (Domain.TWIN,), 0.95) == []


@pytest.mark.parametrize("lost", [[20], [0], [69], [5, 40]])
def test_a_repeat_whose_recorder_lost_samples_is_one(lost: list[int]) -> None:
    """Actions are compared at common times; other actions, or half of them, are no repeat."""
    actions = np.random.default_rng(0).normal(size=(70, 2))
    times = np.arange(70) * 0.1

    def episode(rows: Int[np.ndarray, " t"], values: Float[np.ndarray, "n 2"] = actions) -> Episode:
        joints = np.zeros((len(rows), 1))
        return Episode("a", EpisodeKind.TASK, Domain.REAL, "", times[rows], joints, values[rows])

    whole, lossy = episode(np.arange(70)), episode(np.delete(np.arange(70), lost))
    for first, second in ((whole, lossy), (lossy, whole)):
        assert is_repeat(first, second, 0.05)
    assert not is_repeat(whole, episode(np.arange(35)), 0.05)
    assert not is_repeat(whole, episode(np.arange(70), actions[::-1]), 0.05)


def _followed(episode: str, ours: tuple[float, bool], theirs: tuple[float, bool]) -> Compared:
    """An episode in which the posterior and both others follow for so long, censored or not."""
    found = Compared(episode)
    for physics, (seconds, is_censored) in {"posterior": ours, "prior": theirs, "nominal": theirs}.items():
        found.follow_times["mug", physics, "logged"] = FollowTime(seconds, seconds, is_censored)
        found.values[Key("follow_time", "s", "mug", physics, "logged")] = seconds
    return found


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (True, False, "in 2 of 3 episodes (for the posterior in 2, for the nominal in 0): the ratio is at least this"),
        (False, True, "in 2 of 3 episodes (for the posterior in 0, for the nominal in 2): the ratio is at most this"),
        (True, True, "which way that moves the ratio is not known"),
    ],
)
def test_a_ratio_says_what_was_cut_short(ours: bool, theirs: bool, words: str) -> None:
    """How many episodes ended first, for whom, and which way that bounds the ratio."""
    results = [_followed(str(i), (2.0, ours and i < 2), (1.0, theirs and i < 2)) for i in range(3)]
    claim = next(iter(ratio_claims(results, (Domain.REAL,), 0.95, np.random.default_rng(0))))
    assert (claim.physics, claim.estimate) == ("posterior/nominal", 2.0)
    assert words in claim.note
    assert [f.is_censored for f in followings(results) if f.physics == "posterior"] == [ours, ours, False]


def test_a_ratio_of_nothing_is_undefined_and_not_infinite() -> None:
    """Neither follows at all: no number, with a note; only the twin does: infinite."""
    rng = np.random.default_rng(0)
    for ours, is_right in ((0.0, math.isnan), (1.0, math.isinf)):
        results = [_followed(str(i), (ours, False), (0.0, False)) for i in range(4)]
        claim = next(iter(ratio_claims(results, (Domain.REAL,), 0.95, rng)))
        assert all(map(is_right, (claim.estimate, claim.low, claim.high)))
        assert ("there is no ratio" in claim.note) == (ours == 0.0)
        assert bool(not_shown([claim])) == (ours == 0.0)


def test_what_is_not_shown_and_what_is_too_sure_are_found() -> None:
    """By intervals: a ratio's that includes one, and a share's that is all below the band's level."""
    common = {"confidence": 0.95, "n": 4, "domains": (), "subject": "mug", "drive": "logged"}
    ratio = Claim("follow_time_ratio", "", 1.14, 0.96, 2.0, physics="posterior/nominal", **common)
    (found,) = not_shown([ratio])
    assert found.code == "not-shown"
    assert "1.14 times as long, 95 % interval 0.96 to 2.00, n = 4 episodes" in found.message
    assert not_shown([replace(ratio, low=1.01)]) == []
    (alone,) = not_shown([replace(ratio, low=math.nan, high=math.nan, n=1)])
    assert "one episode has no interval" in alone.message
    share = Claim("inside_band_position_moving", "", 0.62, 0.5, 0.75, physics="posterior", **common)
    (found,) = overconfident([share, replace(share, name="inside_band_orientation_moving", estimate=0.9, high=0.96)])
    assert found.code == "overconfident"
    assert "holds 62 % of the position (50 to 75 %)." in found.message
    assert overconfident([replace(share, n=2), replace(share, physics="prior"), replace(share, high=0.91)]) == []
