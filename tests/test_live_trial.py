"""Which trial of a log `gemel live` follows, and what it says when it cannot."""

from dataclasses import replace

import pytest

from gemel.artifacts.capture import Capture, EpisodeKind
from gemel.artifacts.split import Role, Split
from gemel.errors import ConfigError
from gemel.live_trial import _trial
from sample_artifacts import samples


@pytest.fixture
def log() -> tuple[Capture, Split]:
    """A scan `0` and the trials 1 to 12, of which 3 is held out and 11 for validation."""
    capture = next(item for item in samples() if isinstance(item, Capture))
    split = next(item for item in samples() if isinstance(item, Split))
    names = [str(number) for number in range(13)]
    kinds = [EpisodeKind.SCAN, *[EpisodeKind.TASK] * 12]
    records = tuple(replace(capture.episodes[0], id=n, kind=k) for n, k in zip(names, kinds, strict=True))
    roles = dict.fromkeys(names, Role.CALIBRATION) | {"3": Role.HOLDOUT, "11": Role.VALIDATION}
    return replace(capture, episodes=records), replace(split, role_from_episode=roles)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("0", "Episode '0' is a scan, no trial."),
        ("77", "There is no trial '77'."),
        ("3", "Trial '3' is held out"),
    ],
)
def test_what_is_no_trial_to_follow_says_why_and_lists_those_that_are(
    asked: str, problem: str, log: tuple[Capture, Split]
) -> None:
    """In the order of their numbers, without the scan and without what is held out."""
    with pytest.raises(ConfigError) as caught:
        _trial(*log, asked)
    assert problem in caught.value.problem
    assert caught.value.remedy == "follow one of 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12"


def test_validation_comes_first(log: tuple[Capture, Split]) -> None:
    assert _trial(*log, "").id == "11"
    assert _trial(*log, "5").id == "5"
