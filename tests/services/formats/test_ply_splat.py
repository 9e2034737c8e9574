"""The 3DGS .ply: what other tools write is read by name, survives a round trip bit for bit, and damage is told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import SourceError
from gemel.services.formats.activation import exp32, sigmoid32
from gemel.services.formats.ply_splat import read_ply, write_ply

N = 4000


def _inria_columns(degree: int = 3, normals: bool = True) -> dict[str, np.ndarray]:
    """Stored values as a training run leaves them: logits, logarithms, raw quaternions, in Inria's order."""
    rng = np.random.default_rng(0)
    rest = 3 * ((degree + 1) ** 2 - 1)
    names = ["x", "y", "z"] + (["nx", "ny", "nz"] if normals else []) + ["f_dc_0", "f_dc_1", "f_dc_2"]
    names += [f"f_rest_{k}" for k in range(rest)] + ["opacity", "scale_0", "scale_1", "scale_2"]
    names += ["rot_0", "rot_1", "rot_2", "rot_3"]
    columns = {name: rng.normal(size=N).astype(np.float32) for name in names}
    columns["opacity"] = (6.0 * columns["opacity"]).astype(np.float32)
    for k in range(3):
        columns[f"scale_{k}"] = (2.5 * columns[f"scale_{k}"] - 5.0).astype(np.float32)
    return columns


def _file(path: Path, columns: dict[str, np.ndarray], form: str = "binary_little_endian", count: int = N) -> Path:
    head = [
        "ply",
        f"format {form} 1.0",
        f"element vertex {count}",
        *(f"property float {n}" for n in columns),
        "end_header",
    ]
    table = np.stack(list(columns.values()), axis=-1).astype("<f4")
    path.write_bytes(("\n".join(head) + "\n").encode() + table.tobytes())
    return path


def _assert_equal(a: Gaussians, b: Gaussians) -> None:
    for name in ("means", "rotations", "scales", "opacities", "sh"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert set(a.extras) == set(b.extras)
    assert all(np.array_equal(a.extras[name], b.extras[name]) for name in a.extras)
    assert (a.dilation_px2, a.is_antialiased) == (b.dilation_px2, b.is_antialiased)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_import_export_import_is_exact(degree: int, tmp_path: Path) -> None:
    """A file in Inria's layout gives the same Gaussians, bit for bit, after export and import; then equal files."""
    first = read_ply(_file(tmp_path / "a.ply", _inria_columns(degree)))
    write_ply(first, tmp_path / "b.ply")
    second = read_ply(tmp_path / "b.ply")
    _assert_equal(first, second)
    write_ply(second, tmp_path / "c.ply")
    assert (tmp_path / "b.ply").read_bytes() == (tmp_path / "c.ply").read_bytes()


def test_values_are_activated_and_sh_is_channel_major(tmp_path: Path) -> None:
    """Opacity goes through the sigmoid, scales through exp, and f_rest holds all red, then green, then blue."""
    columns = _inria_columns(degree=1)
    g = read_ply(_file(tmp_path / "a.ply", columns))
    assert np.array_equal(g.opacities, sigmoid32(columns["opacity"]))
    assert np.array_equal(g.scales[:, 1], exp32(columns["scale_1"]))
    assert np.array_equal(g.sh[:, 2, 1], columns["f_rest_4"])
    assert np.array_equal(g.sh[:, 0, 2], columns["f_dc_2"])


def test_order_normals_and_third_scale_do_not_matter(tmp_path: Path) -> None:
    """Properties are found by name; files without normals and flat discs with two scales are read."""
    columns = _inria_columns(degree=0, normals=False)
    backwards = read_ply(_file(tmp_path / "b.ply", dict(reversed(columns.items()))))
    _assert_equal(backwards, read_ply(_file(tmp_path / "a.ply", columns)))
    del columns["scale_2"]
    assert (read_ply(_file(tmp_path / "c.ply", columns)).scales[:, 2] == 0.0).all()


def test_extras_settings_and_extreme_values_survive(tmp_path: Path) -> None:
    """Extra channels, low-pass filter, opacity 0 and 1 and zero scales come back as they went."""
    base = read_ply(_file(tmp_path / "a.ply", _inria_columns(degree=1)))
    opacities, scales = base.opacities.copy(), base.scales.copy()
    opacities[:2], scales[0] = (0.0, 1.0), 0.0
    extras = {"object": np.arange(N, dtype=np.float32)[:, None], "normal": base.means.copy()}
    given = Gaussians(base.means, base.rotations, scales, opacities, base.sh, extras, 0.02, True)
    write_ply(given, tmp_path / "b.ply")
    _assert_equal(given, read_ply(tmp_path / "b.ply"))


def test_no_gaussians_is_a_valid_file(tmp_path: Path) -> None:
    """An empty splat can be written and read."""
    write_ply(
        read_ply(_file(tmp_path / "a.ply", {k: v[:0] for k, v in _inria_columns().items()}, count=0)),
        tmp_path / "b.ply",
    )
    assert len(read_ply(tmp_path / "b.ply")) == 0


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-5])
    return path


def _without(name: str) -> dict[str, np.ndarray]:
    return {key: values for key, values in _inria_columns().items() if key != name}


FACES_FIRST = "ply\nformat binary_little_endian 1.0\nelement face 1\nend_header\n"
DAMAGE: dict[str, tuple[Any, str]] = {
    "ascii": (lambda p: _file(p, _inria_columns(), form="ascii"), r"format \['ascii'\]: expected binary_little_endian"),
    "truncated": (lambda p: _cut(_file(p, _inria_columns())), "is cut off"),
    "no opacity": (lambda p: _file(p, _without("opacity")), r"without .*\['opacity'\]"),
    "half a degree": (lambda p: _file(p, _without("f_rest_44")), "44 properties f_rest"),
    "not a ply": (lambda p: (p.write_text("hello"), p)[1], "not a .ply file"),
    "missing": (lambda p: p, "cannot be read"),
    "faces first": (lambda p: (p.write_text(FACES_FIRST), p)[1], "no element `vertex`"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_files_are_told_clearly(case: str, tmp_path: Path) -> None:
    """ASCII, cut-off, incomplete and foreign files raise a SourceError that says what to do."""
    make, message = DAMAGE[case]
    with pytest.raises(SourceError, match=message) as caught:
        read_ply(make(tmp_path / "bad.ply"))
    assert "What to do" in str(caught.value)


def test_activations_invert_exactly_for_every_stored_value() -> None:
    """For any stored float the way back finds a float with the same activation, over the whole useful range."""
    from gemel.services.formats.activation import log_for_exp32, logit_for_sigmoid32

    x = np.random.default_rng(1).uniform(-30, 30, 200_000).astype(np.float32)
    assert np.array_equal(sigmoid32(logit_for_sigmoid32(sigmoid32(x))), sigmoid32(x))
    assert np.array_equal(exp32(log_for_exp32(exp32(x))), exp32(x))
