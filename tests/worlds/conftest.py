"""Small recordings that several tests read."""

import pytest

from recorded_worlds import Recorded, record


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """World 11, recorded by two workers; read only."""
    return record(tmp_path_factory.mktemp("world") / "push", seed=11, workers=2)


@pytest.fixture(scope="session")
def recorded_again(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """World 11 once more, by one worker."""
    return record(tmp_path_factory.mktemp("world") / "push", seed=11, workers=1)


@pytest.fixture(scope="session")
def recorded_other(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """World 12."""
    return record(tmp_path_factory.mktemp("world") / "push", seed=12, workers=1)
