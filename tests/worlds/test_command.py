"""`gemel world` on the command line: what it understands, what it refuses, what it says."""

from pathlib import Path

import pytest

from gemel.commands.world import World, parse_size
from gemel.errors import ConfigError
from gemel.services.formats.source import open_source
from gemel.worlds.truth import truth_folder

pytestmark = pytest.mark.slow  # it records: seconds for every capture


def test_sizes_are_two_even_numbers() -> None:
    """`WxH`, even and not tiny; anything else is refused with an example."""
    assert parse_size("160x120") == (160, 120)
    for text in ("160", "160x", "161x120", "8x6", "axb"):
        with pytest.raises(ConfigError, match="such as 160x120"):
            parse_size(text)


def test_the_command_records_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One scan of a ring: a readable set, its truth beside it, and both named on the screen."""
    folder = tmp_path / "set"
    command = World("scan", folder, object="ring", size="32x24", seconds=0.3, samples=2, workers=1, quiet=True)
    assert command.run() == 0
    assert open_source(folder).episode_count() == 1
    said = "".join(capsys.readouterr().out.split())
    assert str(folder) in said
    assert str(truth_folder(folder)) in said
