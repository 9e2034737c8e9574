"""The .splat file: 32 bytes per Gaussian, no header, constant colour only.

Layout (from its first viewer): position 3 x float32, linear scale 3 x float32, RGBA 4 x uint8, quaternion wxyz
4 x uint8 as 128 q + 128. Colour is the constant term 1/2 + C0 c; higher SH degrees, extras and the low-pass filter do
not fit and are left out, which the caller has to want (`allow_loss`). A file read and written again is the same file.
"""

from math import pi, sqrt
from pathlib import Path

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import ConfigError, SourceError

RECORD = np.dtype([("mean", "<f4", 3), ("scale", "<f4", 3), ("rgba", "u1", 4), ("quat", "u1", 4)])
C0 = 0.5 / sqrt(pi)
"""The constant spherical harmonic."""


def read_splat(path: Path) -> Gaussians:
    """Gaussians of a .splat file; degree 0."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.", remedy="check path and permissions") from error
    if len(data) % RECORD.itemsize:
        raise SourceError(
            f"{path} has {len(data)} bytes, not a multiple of {RECORD.itemsize}: not a .splat file or cut off.",
            remedy="copy or export the file again",
        )
    table = np.frombuffer(data, dtype=RECORD)
    colour = (table["rgba"][:, :3].astype(np.float64) / 255.0 - 0.5) / C0
    return Gaussians(
        means=table["mean"].astype(np.float32),
        rotations=((table["quat"].astype(np.float32) - 128.0) / 128.0).astype(np.float32),
        scales=table["scale"].astype(np.float32),
        opacities=(table["rgba"][:, 3] / np.float32(255.0)).astype(np.float32),
        sh=colour.astype(np.float32)[:, None, :],
    )


def write_splat(gaussians: Gaussians, path: Path, *, allow_loss: bool = False) -> None:
    """Write a .splat file; refuses to drop SH degrees or extras unless `allow_loss`."""
    if not allow_loss and (gaussians.sh_degree > 0 or gaussians.extras):
        raise ConfigError(
            f"A .splat file cannot hold SH degree {gaussians.sh_degree} or the extras {sorted(gaussians.extras)}.",
            remedy="write a .ply, or pass allow_loss=True to keep only the constant colour",
        )
    table = np.empty(len(gaussians), dtype=RECORD)
    table["mean"], table["scale"] = gaussians.means, gaussians.scales
    table["rgba"][:, :3] = _octets(255.0 * (0.5 + C0 * gaussians.sh[:, 0].astype(np.float64)))
    table["rgba"][:, 3] = _octets(255.0 * gaussians.opacities.astype(np.float64))
    table["quat"] = _octets(128.0 * _unit(gaussians.rotations) + 128.0)
    path.write_bytes(table.tobytes())


def _octets(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _unit(rotations: np.ndarray) -> np.ndarray:
    """Quaternions of unit length; those that came from bytes are left alone, the zero quaternion becomes identity."""
    q = rotations.astype(np.float64)
    is_from_bytes = (np.rint(128.0 * q) == 128.0 * q).all(axis=1, keepdims=True)
    norm = np.linalg.norm(q, axis=1, keepdims=True)
    unit = np.where(norm > 0.0, q / np.where(norm > 0.0, norm, 1.0), [1.0, 0.0, 0.0, 0.0])
    return np.where(is_from_bytes & (norm > 0.0), q, unit)
