import numpy as np
import pytest

from gemel.artifacts.inspection import UnitGuess
from gemel.artifacts.robot import RobotJoint
from gemel.services.formats.calibration import JointScale
from gemel.stages.ingest.units import JointRange, guess_unit


def _guess(
    low: float, high: float, *, name: str = "joint1", robot_type: str = "unknown", joint: RobotJoint | None = None
) -> UnitGuess:
    return guess_unit(name, low, high, robot_type=robot_type, declared=None, model_joint=joint)


@pytest.mark.parametrize(
    ("name", "low", "high", "unit"),
    [
        ("joint1", -1.5, 2.9, "rad"),
        ("joint1", -95.0, 110.0, "deg"),
        ("joint1", -100.0, 99.7, "span"),
        ("joint1", -40.0, 62.0, "deg"),
        ("gripper.pos", 0.5, 98.0, "percent"),
        ("gripper", 0.0, 0.041, "m"),
        ("left_finger", 0.001, 0.037, "m"),
    ],
)
def test_the_range_of_the_values_suggests_the_unit(name: str, low: float, high: float, unit: str) -> None:
    """Typical ranges of real arms give the expected guess, with the range as evidence, never as declared."""
    guess = _guess(low, high, name=name)
    assert guess.unit == unit
    assert not guess.is_declared
    assert f"[{low:.4g}, {high:.4g}]" in guess.evidence[0]


def test_disagreeing_evidence_is_said() -> None:
    """Values that look like radians from an arm that usually logs degrees are flagged as a contradiction."""
    guess = _guess(-1.745, 1.577, robot_type="so101_follower")
    assert guess.unit == "rad"
    assert any("usually log deg" in line for line in guess.evidence)
    assert any("disagree" in line for line in guess.evidence)


def test_limits_of_the_model_are_evidence() -> None:
    """Whether the values fit inside the model's limits is part of the reasons."""
    fits = _guess(-90.0, 90.0, joint=RobotJoint("j", "hinge", -1.6, 1.6))
    breaks = _guess(-170.0, 90.0, joint=RobotJoint("j", "hinge", -1.6, 1.6))
    assert any("they fit inside" in line for line in fits.evidence)
    assert any("do not fit inside" in line for line in breaks.evidence)


def test_what_the_source_declares_is_taken_as_said() -> None:
    """A declared unit needs no guess."""
    guess = guess_unit("j", -90.0, 90.0, robot_type="", declared=JointScale("mm"), model_joint=None)
    assert (guess.unit, guess.is_declared) == ("mm", True)


def test_ranges_widen_over_episodes_and_ignore_what_is_not_finite() -> None:
    """Extremes are over all episodes; NaN and infinity count for nothing; motion adds up."""
    ranges = JointRange.none(1)
    for values in ([[0.0], [1.0], [np.nan]], [[-2.0], [np.inf], [-1.0]]):
        ranges = ranges.with_episode(np.array(values))
    assert (ranges.low[0], ranges.high[0]) == (-2.0, 1.0)
    assert ranges.motion[0] == pytest.approx(1.0)
