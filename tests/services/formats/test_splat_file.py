"""The .splat file: 32 bytes per Gaussian, exact for what it can hold, honest about what it cannot."""

from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import ConfigError, SourceError
from gemel.services.formats.splat_file import RECORD, read_splat, write_splat


def _random_file(path: Path, n: int = 5000) -> Path:
    rng = np.random.default_rng(0)
    table = np.zeros(n, dtype=RECORD)
    table["mean"], table["scale"] = rng.normal(size=(n, 3)), rng.exponential(size=(n, 3))
    table["rgba"] = rng.integers(0, 256, (n, 4))
    q = rng.normal(size=(n, 4))
    table["quat"] = np.clip(np.rint(128 * q / np.linalg.norm(q, axis=1, keepdims=True) + 128), 0, 255)
    path.write_bytes(table.tobytes())
    return path


def test_file_read_and_written_is_the_same_file(tmp_path: Path) -> None:
    """Every byte of a .splat file survives import and export."""
    path = _random_file(tmp_path / "a.splat")
    write_splat(read_splat(path), tmp_path / "b.splat")
    assert path.read_bytes() == (tmp_path / "b.splat").read_bytes()


def test_known_record_is_read_as_documented(tmp_path: Path) -> None:
    """White, half transparent, identity rotation."""
    table = np.zeros(1, dtype=RECORD)
    table["mean"], table["scale"] = (1, 2, 3), (0.1, 0.2, 0.3)
    table["rgba"], table["quat"] = (255, 255, 255, 51), (255, 128, 128, 128)
    (tmp_path / "a.splat").write_bytes(table.tobytes())
    g = read_splat(tmp_path / "a.splat")
    assert g.opacities[0] == pytest.approx(0.2)
    assert 0.5 + 0.28209479 * g.sh[0, 0] == pytest.approx([1.0, 1.0, 1.0], abs=1e-6)
    assert g.rotations[0] == pytest.approx([127 / 128, 0, 0, 0])


def test_loss_has_to_be_asked_for(tmp_path: Path) -> None:
    """SH of degree 1 does not fit: refused, or dropped on request."""
    one = np.ones((1, 3), np.float32)
    g = Gaussians(one, np.ones((1, 4), np.float32), one, np.ones(1, np.float32), np.zeros((1, 4, 3), np.float32))
    with pytest.raises(ConfigError, match="cannot hold SH degree 1"):
        write_splat(g, tmp_path / "a.splat")
    write_splat(g, tmp_path / "a.splat", allow_loss=True)
    assert len(read_splat(tmp_path / "a.splat")) == 1


def test_cut_off_file_is_told(tmp_path: Path) -> None:
    """A length that is no multiple of 32 bytes is an error."""
    path = _random_file(tmp_path / "a.splat")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SourceError, match="not a multiple of 32"):
        read_splat(path)
