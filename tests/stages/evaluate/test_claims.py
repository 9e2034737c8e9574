"""Laws of what is claimed over episodes: differences between repeats, and between two ways to the tool."""

import math

import numpy as np
import pytest
from jaxtyping import Bool, Float

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.track import Track
from gemel.geometry import SE3, SO3
from gemel.services.kinematics.arms import Arm
from gemel.stages.evaluate.claims import gap_claims, repeat_claims
from gemel.stages.evaluate.compare import Compared
from gemel.stages.evaluate.floor import repeat_curves
from gemel.stages.evaluate.joint_error import JointMeasure

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
