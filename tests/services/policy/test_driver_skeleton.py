"""The skeleton that users copy runs as it stands."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "driver_skeleton.py"


def test_the_driver_skeleton_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """It waves for a second with a pretended arm and says so."""
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "10 steps in " in capsys.readouterr().out
