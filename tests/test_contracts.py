"""The import contracts catch what they are there to catch."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("stages/ingest/clock.py", "from gemel.artifacts.held_out import HeldOutData", "held-out"),
        ("stages/split/groups.py", "from gemel.stages.ingest.clock import episode_clock", "Stages are independent"),
        ("stages/evaluate/floor.py", "from gemel.stages.track.config import TrackConfig", "Stages are independent"),
        ("stages/identify/suggest.py", "from gemel.artifacts.held_out import HeldOutData", "held-out"),
        ("services/formats/video.py", "from gemel.worlds.waving_arm import WavingArm", "Truth must not leak"),
        ("outputs/pictures/sheet.py", "from gemel.stages.ingest.clock import episode_clock", "Rooms are layered"),
        ("geometry/so3.py", "from gemel.store.address import short", "Rooms are layered"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(tmp_path: Path, file: str, line: str, contract: str) -> None:
    """Adding one import of the wrong kind makes `make check` fail, naming the contract."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "samples"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    source = tmp_path / "src" / "gemel" / file
    source.write_text(source.read_text() + f"\n{line}\n")
    code = "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports_command as c; c()"
    result = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    broken = [text for text in result.stdout.splitlines() if text.endswith("BROKEN")]
    assert any(contract in text for text in broken)
