"""USD: one prim of type ParticleField3DGaussianSplat (OpenUSD 26.03 or newer) at /World/Gaussians/gaussians.

The schema stores activated values: linear scales, opacities 0 to 1, quaternions with the real part first, SH
coefficients per particle, constant term first. What it has no place for (low-pass filter, extra channels) goes into
attributes `gemel:*`. Values survive writing and reading bit for bit, in .usdc and .usda.
"""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gemel.artifacts.gaussians import SH_COUNTS, Gaussians
from gemel.errors import MissingExtraError, SourceError

PRIM_TYPE = "ParticleField3DGaussianSplat"
PRIM_PATH = "/World/Gaussians/gaussians"
COEFFICIENTS = "radiance:sphericalHarmonicsCoefficients"
DEGREE = "radiance:sphericalHarmonicsDegree"
EXTRA_PREFIX = "gemel:extras:"


def _pxr() -> Any:
    """The USD modules, imported on first use."""
    try:
        from pxr import Sdf, Tf, Usd, UsdGeom, Vt
    except ImportError as error:
        raise MissingExtraError("usd-core", extra="usd", needed_for="Reading and writing USD") from error
    return Sdf, Tf, Usd, UsdGeom, Vt


def write_usd(gaussians: Gaussians, path: Path) -> None:
    """Write a stage in metres, z up, with the Gaussians as its only content."""
    _, _, Usd, UsdGeom, _ = _pxr()
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    stage.SetDefaultPrim(stage.DefinePrim("/World", "Xform"))
    stage.DefinePrim("/World/Gaussians", "Scope")
    define_splat(stage, PRIM_PATH, gaussians)
    stage.GetRootLayer().Export(str(path))


def define_splat(stage: Any, prim_path: str, gaussians: Gaussians) -> Any:
    """Add the Gaussians to a stage as one prim, in the frame of the prim above it."""
    Sdf, _, _, _, Vt = _pxr()
    prim = stage.DefinePrim(prim_path, PRIM_TYPE)
    prim.SetCustomDataByKey("quat_convention", "wxyz")
    wxyz = gaussians.rotations.astype(np.float32)
    values = {
        "positions": (Sdf.ValueTypeNames.Point3fArray, Vt.Vec3fArray.FromNumpy(_rows(gaussians.means, 3))),
        "orientations": (
            Sdf.ValueTypeNames.QuatfArray,
            Vt.QuatfArray.FromNumpy(_rows(wxyz[:, [1, 2, 3, 0]], 4)),
        ),
        "scales": (Sdf.ValueTypeNames.Float3Array, Vt.Vec3fArray.FromNumpy(_rows(gaussians.scales, 3))),
        "opacities": (Sdf.ValueTypeNames.FloatArray, _float_array(Vt, gaussians.opacities)),
        COEFFICIENTS: (Sdf.ValueTypeNames.Float3Array, Vt.Vec3fArray.FromNumpy(_rows(gaussians.sh, 3))),
        DEGREE: (Sdf.ValueTypeNames.Int, gaussians.sh_degree),
        "extent": (Sdf.ValueTypeNames.Float3Array, Vt.Vec3fArray.FromNumpy(_extent(gaussians))),
        "gemel:dilation_px2": (Sdf.ValueTypeNames.Double, float(gaussians.dilation_px2)),
        "gemel:is_antialiased": (Sdf.ValueTypeNames.Bool, bool(gaussians.is_antialiased)),
    }
    for name, (kind, value) in values.items():
        prim.CreateAttribute(name, kind, custom=name.startswith("gemel:")).Set(value)
    prim.GetAttribute(COEFFICIENTS).SetMetadata("elementSize", int(gaussians.sh.shape[1]))
    for name, channels in gaussians.extras.items():
        attribute = prim.CreateAttribute(EXTRA_PREFIX + name, Sdf.ValueTypeNames.FloatArray, custom=True)
        attribute.Set(_float_array(Vt, channels))
        attribute.SetMetadata("elementSize", int(channels.shape[1]))
    return prim


def _rows(values: np.ndarray, width: int) -> np.ndarray:
    return np.ascontiguousarray(values.reshape(-1, width), dtype=np.float32)


def _float_array(Vt: Any, values: np.ndarray) -> Any:
    return Vt.FloatArray.FromNumpy(np.ascontiguousarray(values.reshape(-1), dtype=np.float32))


def _extent(gaussians: Gaussians) -> np.ndarray:
    """Two corners of a box around all Gaussians, three standard deviations wide."""
    if len(gaussians) == 0:
        return np.zeros((2, 3), dtype=np.float32)
    reach = 3.0 * gaussians.scales.max(axis=1, keepdims=True)
    low, high = (gaussians.means - reach).min(axis=0), (gaussians.means + reach).max(axis=0)
    return np.stack([low, high]).astype(np.float32)


def read_usd(path: Path) -> Gaussians:
    """The Gaussians of the first ParticleField3DGaussianSplat prim of a stage."""
    _, Tf, Usd, _, _ = _pxr()
    try:
        stage = Usd.Stage.Open(str(path))
    except Tf.ErrorException as error:
        raise SourceError(f"{path} cannot be opened as USD.", remedy="check the path and the file") from error
    prims = [prim for prim in stage.Traverse() if prim.GetTypeName() == PRIM_TYPE]
    if not prims:
        raise SourceError(
            f"{path} holds no prim of type {PRIM_TYPE}.",
            remedy="export the splat with a tool that writes the OpenUSD 26.03 schema (older NuRec files differ)",
        )
    return read_splat(path, prims[0])


def read_splat(path: Path, prim: Any) -> Gaussians:
    """The Gaussians of one prim; `path` is the file, for errors."""
    means = _array(prim, "positions", 3)
    count = SH_COUNTS[int(prim.GetAttribute(DEGREE).Get() or 0)]
    sh = _array(prim, COEFFICIENTS, 3)
    if len(sh) != count * len(means):
        raise SourceError(
            f"{path}: {len(sh)} SH coefficients for {len(means)} Gaussians, expected {count} each.",
            remedy="export the splat again; its SH degree and coefficients contradict each other",
        )
    xyzw = _array(prim, "orientations", 4)
    dilation, antialiased = (
        prim.GetAttribute("gemel:dilation_px2").Get(),
        prim.GetAttribute("gemel:is_antialiased").Get(),
    )
    return Gaussians(
        means=means,
        rotations=np.ascontiguousarray(xyzw[:, [3, 0, 1, 2]]),
        scales=_array(prim, "scales", 3),
        opacities=_array(prim, "opacities", 1)[:, 0],
        sh=sh.reshape(len(means), count, 3),
        extras=MappingProxyType(_read_extras(prim)),
        dilation_px2=0.3 if dilation is None else float(dilation),
        is_antialiased=bool(antialiased),
    )


def _array(prim: Any, name: str, width: int) -> np.ndarray:
    """A float attribute as (n, width), from its half-precision twin (suffix h) if only that is given."""
    value = prim.GetAttribute(name).Get()
    if value is None and prim.HasAttribute(name + "h"):
        value = prim.GetAttribute(name + "h").Get()
    if value is None:
        return np.zeros((0, width), dtype=np.float32)
    return np.array(value, dtype=np.float32).reshape(-1, width)


def _read_extras(prim: Any) -> dict[str, np.ndarray]:
    attributes = [a for a in prim.GetAttributes() if a.GetName().startswith(EXTRA_PREFIX)]
    return {
        a.GetName().removeprefix(EXTRA_PREFIX): np.array(a.Get(), dtype=np.float32).reshape(
            -1, int(a.GetMetadata("elementSize") or 1)
        )
        for a in attributes
    }
