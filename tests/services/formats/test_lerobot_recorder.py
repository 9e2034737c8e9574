"""A disk that gives out in the middle is told in words, and nothing half-written stays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.errors import SourceError
from gemel.services.formats.lerobot_recorder import Recorder, RobotNotes

EPISODE = Episode(
    id="0", kind=EpisodeKind.TASK, domain=Domain.TWIN, task="push", times_s=np.arange(4) / 10.0,
    joint_positions=np.zeros((4, 1)), actions=np.zeros((4, 1)), is_success=True, object_poses={},
)  # fmt: skip


def _record(folder: Path) -> None:
    with Recorder(folder, RobotNotes(("a",), ("a",), "twin"), fps=10.0) as recorder:
        recorder.add(EPISODE)


@pytest.mark.parametrize("function", ["lerobot_writer.write_tasks", "lerobot_writer.DataWriter.add"])
def test_a_full_disk_is_told_in_words(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While episodes come, and at the end."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"gemel.services.formats.{function}", full)
    with pytest.raises(SourceError, match="cannot be written: No space left on device"):
        _record(tmp_path / "set")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    _record(tmp_path / "set")
    assert (tmp_path / "set" / "meta" / "info.json").exists()
