"""USD ParticleField3DGaussianSplat: exact round trip, schema-conform attributes, clear errors."""

from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import SourceError
from gemel.services.formats.usd_splat import PRIM_PATH, read_usd, write_usd

pxr = pytest.importorskip("pxr", reason="needs usd-core")


def _gaussians(count: int = 16, n: int = 300) -> Gaussians:
    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    opacities = rng.uniform(size=n).astype(np.float32)
    extras = {"object": random(n, 1), "normal": random(n, 3)}
    return Gaussians(
        random(n, 3), random(n, 4), np.abs(random(n, 3)), opacities, random(n, count, 3), extras, 0.02, True
    )


@pytest.mark.parametrize("suffix", ["usda", "usdc"])
@pytest.mark.parametrize("count", [1, 4, 9, 16])
def test_round_trip_is_exact(count: int, suffix: str, tmp_path: Path) -> None:
    """Text and binary stages give back every value bit for bit, extras and low-pass filter included."""
    given, path = _gaussians(count), tmp_path / f"a.{suffix}"
    write_usd(given, path)
    back = read_usd(path)
    for name in ("means", "rotations", "scales", "opacities", "sh"):
        assert np.array_equal(getattr(given, name), getattr(back, name)), name
    assert all(np.array_equal(given.extras[k], back.extras[k]) for k in given.extras)
    assert (back.dilation_px2, back.is_antialiased) == (0.02, True)


def test_stage_says_units_axis_and_quaternion_order(tmp_path: Path) -> None:
    """Metres, z up, default prim, real part first, and an explicit note of the quaternion convention."""
    from pxr import Usd, UsdGeom

    given = _gaussians()
    write_usd(given, tmp_path / "a.usda")
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    prim = stage.GetPrimAtPath(PRIM_PATH)
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert stage.GetDefaultPrim().GetPath() == "/World"
    assert prim.GetCustomDataByKey("quat_convention") == "wxyz"
    assert prim.GetAttribute("orientations").Get()[0].GetReal() == given.rotations[0, 0]
    assert not prim.GetAttribute("opacities").IsCustom()


def test_stage_without_splats_is_told(tmp_path: Path) -> None:
    """A stage without the prim, and no stage at all, raise a SourceError."""
    from pxr import Usd

    Usd.Stage.CreateNew(str(tmp_path / "a.usda")).Save()
    with pytest.raises(SourceError, match="holds no prim"):
        read_usd(tmp_path / "a.usda")
    with pytest.raises(SourceError, match="cannot be opened"):
        read_usd(tmp_path / "missing.usda")
