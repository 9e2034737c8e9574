"""The prompt page as a person uses it: `gemel prompt` serves a project, Chromium clicks and paints on it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gemel.project import open_project
from gemel.services.formats.image_file import decode_image

_DRIVER = Path(__file__).parents[1] / "browser"
_PLAN = {
    "object": "mug", "words": "red mug", "point_step": 3, "points": [["on", [12.5, 10.5]], ["off", [2.5, 3.5]]],
    "paint_step": 5, "brush": 2, "stroke": [[6.0, 8.0], [18.0, 8.0]], "erase": [18.0, 8.0],
}  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None or shutil.which("node") is None:
        pytest.skip("needs chromium and node (Debian: apt-get install chromium nodejs npm)")
    asked = subprocess.run(
        ["node", "-e", "require.resolve('playwright-core')"], env=_environment(), capture_output=True
    )
    if asked.returncode != 0:
        pytest.skip("needs playwright-core: `make browser` installs it into tests/browser")
    return found


def _environment() -> dict[str, str]:
    paths = [str(_DRIVER / "node_modules"), os.environ.get("NODE_PATH", "")]
    return {**os.environ, "NODE_PATH": os.pathsep.join(p for p in paths if p)}


@pytest.fixture
def address(project: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "gemel", "prompt", str(project), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "COLUMNS": "200"})  # fmt: skip
    assert server.stdout is not None
    said = []
    try:
        for line in server.stdout:
            said.append(line)
            if match := re.search(r"http://127\.0\.0\.1:\d+/", line):
                yield match.group()
                return
        pytest.fail("gemel prompt did not serve: " + "".join(said))
    finally:
        server.terminate()
        server.wait(timeout=10)


@pytest.mark.slow
def test_what_is_clicked_and_painted_is_on_disk(chromium: str, address: str, project: Path) -> None:
    """Points land in twin.toml where they were clicked, a stroke in the corrections where it was painted, less what was
    erased; the page raises no error and asks nobody outside."""
    driven = subprocess.run(
        ["node", str(_DRIVER / "drive_prompt_page.js"), address, chromium], input=json.dumps(_PLAN), text=True,
        capture_output=True, env=_environment(), timeout=60,
    )  # fmt: skip
    assert driven.returncode == 0, driven.stderr
    assert json.loads(driven.stdout)["wrong"] == []
    prompt = open_project(project).settings.objects["mug"]
    assert prompt.prompt == "red mug"
    assert {(p.step, p.is_object) for p in prompt.points} == {(3, True), (3, False)}
    assert np.allclose([p.xy for p in prompt.points], [[12.5, 10.5], [2.5, 3.5]], atol=0.1)
    (path,) = (project / "corrections").rglob("*.png")
    assert path.stem.lstrip("0") == "5"
    painted = decode_image(path.read_bytes(), grey=True) > 127
    y, x = np.mgrid[: painted.shape[0], : painted.shape[1]] + 0.5
    from_stroke = np.hypot(x - np.clip(x, 6.0, 18.0), y - 8.0)
    is_erased = np.hypot(x - 18.0, y - 8.0) <= 2.0
    assert painted[(from_stroke < 1.8) & ~is_erased].all()
    assert not painted[(from_stroke > 2.2) | is_erased].any()
