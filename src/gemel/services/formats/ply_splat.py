"""The 3D Gaussian splatting .ply: binary little-endian, one `vertex` element, float properties found by name.

Layout of Kerbl et al. (2023), as Inria, gsplat and 3dgrut write it. Values are stored *before* activation: opacity as
logit, scales as natural logarithms, rotations wxyz of any length; f_dc is the constant colour coefficient, f_rest the
higher ones channel by channel (all red, all green, all blue). Normals may be zero, anything or absent. Two scales mean
flat discs (2DGS): the third becomes zero. Properties that nobody knows become extra channels.

Reading and writing again gives the same Gaussians, bit for bit: the writer looks for the float32 whose activation is
exactly the given value. The low-pass filter travels in header comments (`comment gemel dilation_px2 0.3`).
"""

import re
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import SourceError
from gemel.services.formats.activation import exp32, log_for_exp32, logit_for_sigmoid32, sigmoid32
from gemel.services.formats.ply_header import PlyHeader, read_header

PLAIN = (
    "x",
    "y",
    "z",
    "opacity",
    "scale_0",
    "scale_1",
    "rot_0",
    "rot_1",
    "rot_2",
    "rot_3",
    "f_dc_0",
    "f_dc_1",
    "f_dc_2",
)
"""Properties without which there are no Gaussians."""
IGNORED = ("nx", "ny", "nz")
REST_COUNTS = {0: 1, 9: 4, 24: 9, 45: 16}
"""Number of f_rest properties -> SH coefficients per channel."""


def read_ply(path: Path) -> Gaussians:
    """Gaussians of a 3DGS .ply file."""
    header = read_header(path)
    table = _read_table(path, header)
    names = table.dtype.names or ()
    missing = [name for name in PLAIN if name not in names]
    if missing:
        raise SourceError(
            f"{path} is a .ply without the splat properties {missing}; it has {list(names)}.",
            remedy="give a 3D Gaussian splatting .ply; a point cloud or mesh has to be fitted first",
        )
    scales = [table["scale_0"], table["scale_1"]] + ([table["scale_2"]] if "scale_2" in names else [])
    sizes = np.zeros((len(table), 3), dtype=np.float32)
    sizes[:, : len(scales)] = exp32(np.stack(scales, axis=-1).astype(np.float32))
    return Gaussians(
        means=_columns(table, ("x", "y", "z")),
        rotations=_columns(table, ("rot_0", "rot_1", "rot_2", "rot_3")),
        scales=sizes,
        opacities=sigmoid32(table["opacity"].astype(np.float32)),
        sh=_read_sh(path, table),
        extras=MappingProxyType(_read_extras(table)),
        dilation_px2=float(header.comments.get("dilation_px2", "0.3")),
        is_antialiased=header.comments.get("is_antialiased", "0") == "1",
    )


def _read_table(path: Path, header: PlyHeader) -> np.ndarray:
    need = header.count * header.dtype.itemsize
    with path.open("rb") as file:
        file.seek(header.data_start)
        data = file.read(need)
    if len(data) < need:
        raise SourceError(
            f"{path} is cut off: its header promises {header.count} Gaussians of {header.dtype.itemsize} bytes,"
            f" but only {len(data)} of {need} bytes follow.",
            remedy="copy or export the file again",
        )
    return np.frombuffer(data, dtype=header.dtype)


def _columns(table: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    return np.stack([table[name].astype(np.float32) for name in names], axis=-1)


def _read_sh(path: Path, table: np.ndarray) -> np.ndarray:
    names = [name for name in (table.dtype.names or ()) if name.startswith("f_rest_")]
    if len(names) not in REST_COUNTS:
        raise SourceError(
            f"{path} has {len(names)} properties f_rest_*: expected 0, 9, 24 or 45 (SH degree 0 to 3).",
            remedy="export the splat again with whole SH degrees",
        )
    count = REST_COUNTS[len(names)]
    sh = np.empty((len(table), count, 3), dtype=np.float32)
    sh[:, 0] = _columns(table, ("f_dc_0", "f_dc_1", "f_dc_2"))
    if count > 1:
        rest = _columns(table, tuple(f"f_rest_{k}" for k in range(len(names))))
        sh[:, 1:] = rest.reshape(len(table), 3, count - 1).transpose(0, 2, 1)
    return sh


def _read_extras(table: np.ndarray) -> dict[str, np.ndarray]:
    """Unknown properties; `name_0`, `name_1`, ... become one extra of several channels."""
    known = {*PLAIN, *IGNORED, "scale_2"}
    names = [n for n in (table.dtype.names or ()) if n not in known and not n.startswith("f_rest_")]
    groups: dict[str, list[str]] = {}
    for name in names:
        match = re.fullmatch(r"(.+)_(\d+)", name)
        is_group = match is not None and f"{match[1]}_0" in names and f"{match[1]}_1" in names
        groups.setdefault(match[1] if match is not None and is_group else name, []).append(name)
    return {key: _columns(table, tuple(parts)) for key, parts in groups.items()}


def write_ply(gaussians: Gaussians, path: Path) -> None:
    """Write a 3DGS .ply that read_ply turns back into equal Gaussians."""
    columns = _named_columns(gaussians)
    table = np.empty(len(gaussians), dtype=[(name, "<f4") for name in columns])
    for name, values in columns.items():
        table[name] = values
    lines = [
        "ply",
        "format binary_little_endian 1.0",
        f"comment gemel dilation_px2 {gaussians.dilation_px2!r}",
        f"comment gemel is_antialiased {int(gaussians.is_antialiased)}",
        "comment gemel quaternions wxyz",
        "comment gemel unit m",
        f"element vertex {len(gaussians)}",
        *(f"property float {name}" for name in columns),
        "end_header",
    ]
    path.write_bytes(("\n".join(lines) + "\n").encode("ascii") + table.tobytes())


def _named_columns(gaussians: Gaussians) -> dict[str, np.ndarray]:
    """Property names and stored values in the customary order."""
    n = len(gaussians)
    columns = {name: gaussians.means[:, k] for k, name in enumerate(("x", "y", "z"))}
    columns |= {name: np.zeros(n, dtype=np.float32) for name in IGNORED}
    columns |= {f"f_dc_{k}": gaussians.sh[:, 0, k] for k in range(3)}
    rest = gaussians.sh[:, 1:].transpose(0, 2, 1).reshape(n, 3 * (gaussians.sh.shape[1] - 1))
    columns |= {f"f_rest_{k}": rest[:, k] for k in range(rest.shape[1])}
    columns["opacity"] = logit_for_sigmoid32(gaussians.opacities)
    logs = log_for_exp32(gaussians.scales)
    columns |= {f"scale_{k}": logs[:, k] for k in range(3)}
    columns |= {f"rot_{k}": gaussians.rotations[:, k] for k in range(4)}
    for name, values in gaussians.extras.items():
        channels = values.shape[1]
        columns |= {name if channels == 1 else f"{name}_{k}": values[:, k] for k in range(channels)}
    return columns
