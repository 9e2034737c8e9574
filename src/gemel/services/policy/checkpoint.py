"""A trained network as one small file: weights in half precision, and what it is and who made it as JSON.

| `meta` of every kind | |
|---|---|
| `task`, `seed`, `control_period_s` | what it was trained for |
| `conditioned_on` | `[{"name", "low", "high"}, …]`: parameters it is told or estimates, in the order of its columns |
| `made_by` | command, twin (an address or `nominal`), steps, version |

A `policy` has `variant` and `history` besides: how many steps of features it sees. `inputs`, `outputs`, `hidden` and
`activation` are written by themselves.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gemel.errors import ConfigError, SourceError
from gemel.services.formats.tensor_file import read_tensors, write_tensors
from gemel.services.policy.mlp import Mlp

KINDS = {
    "policy": ("task", "variant", "seed", "history", "conditioned_on", "control_period_s", "made_by"),
    "encoders": ("task", "seed", "conditioned_on", "control_period_s", "made_by"),
    "motion": ("task", "conditioned_on", "control_period_s", "made_by"),
}
"""Keys that `meta` needs, by kind."""
_TEXT = "gemel"
_KEPT_WHOLE = ("mean", "std")


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network that can be run, and what is known of it."""

    kind: str
    meta: Mapping[str, Any]
    layers: Mlp
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What else its kind needs, by name."""

    @property
    def conditioned_on(self) -> tuple[str, ...]:
        """Names of the parameters that it is told or estimates."""
        return tuple(entry["name"] for entry in self.meta["conditioned_on"])

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """Their ranges, in whose units it is told or answers."""
        return [(float(entry["low"]), float(entry["high"])) for entry in self.meta["conditioned_on"]]


def conditioned_meta(names: tuple[str, ...], ranges: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """The entry `conditioned_on` of `meta`."""
    return [{"name": name, "low": low, "high": high} for name, (low, high) in zip(names, ranges, strict=True)]


def save_network(
    path: Path, kind: str, meta: Mapping[str, Any], layers: Mlp, arrays: Mapping[str, np.ndarray] | None = None
) -> TrainedNetwork:
    """Write a network; returns it as a reader will get it."""
    _check_keys(kind, meta, path)
    layout = {
        "inputs": layers.inputs, "outputs": layers.outputs, "hidden": list(layers.hidden), "activation": "elu",
        "layers": len(layers.weights),
    }  # fmt: skip
    tensors: dict[str, np.ndarray] = {"mean": layers.mean, "std": layers.std}
    for i, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        tensors |= {f"weight{i}": weight, f"bias{i}": bias}
    tensors |= {f"extra/{name}": array for name, array in (arrays or {}).items()}
    small = {name: _half(name, array) for name, array in tensors.items()}
    write_tensors(path, small, {_TEXT: json.dumps({"kind": kind, **dict(meta), **layout})})
    return load_network(path, kind)


def load_network(path: Path, kind: str | None = None) -> TrainedNetwork:
    """Read a network, of the kind that is expected where one is given."""
    tensors, text = read_tensors(Path(path))
    if _TEXT not in text:
        raise ConfigError(
            f"{path} does not say what it is: it holds arrays {sorted(tensors)[:4]} and no `{_TEXT}` text.",
            remedy="give a network that `gemel train` wrote",
        )
    try:
        meta = json.loads(text[_TEXT])
    except ValueError as error:
        raise SourceError(f"The description in {path} is damaged: {error}.", remedy="copy the file again") from None
    found = str(meta.get("kind"))
    if found not in KINDS or (kind is not None and found != kind):
        raise ConfigError(
            f"{path} holds a network of kind {found!r}; {kind or sorted(KINDS)!r} was expected.",
            remedy="give another file",
        )
    _check_keys(found, meta, path)
    return TrainedNetwork(found, meta, _layers(tensors, meta, path), {
        name.removeprefix("extra/"): _single(array) for name, array in tensors.items() if name.startswith("extra/")
    })  # fmt: skip


def _layers(tensors: Mapping[str, np.ndarray], meta: Mapping[str, Any], path: Path) -> Mlp:
    count = int(meta.get("layers", 0))
    names = ["mean", "std", *(f"{part}{i}" for part in ("weight", "bias") for i in range(count))]
    missing = [name for name in names if name not in tensors]
    if missing or not count:
        raise ConfigError(f"{path} lacks {missing or 'its layers'}.", remedy="give a file that `gemel train` wrote")
    mlp = Mlp(
        tuple(_single(tensors[f"weight{i}"]) for i in range(count)),
        tuple(_single(tensors[f"bias{i}"]) for i in range(count)),
        _single(tensors["mean"]),
        _single(tensors["std"]),
    )
    if (mlp.inputs, mlp.outputs) != (meta.get("inputs"), meta.get("outputs")):
        raise ConfigError(
            f"{path} says that its network goes from {meta.get('inputs')} to {meta.get('outputs')} numbers; its layers "
            f"go from {mlp.inputs} to {mlp.outputs}.",
            remedy="give a file that `gemel train` wrote",
        )
    return mlp


def _check_keys(kind: str, meta: Mapping[str, Any], path: Path) -> None:
    missing = [key for key in KINDS[kind] if key not in meta]
    if missing:
        raise ConfigError(
            f"The description of {path} lacks {', '.join(missing)}.", remedy="give a file that `gemel train` wrote"
        )


def _half(name: str, array: np.ndarray) -> np.ndarray:
    """Weights in half precision; normalisation keeps all digits."""
    if array.dtype.kind != "f":
        return array
    return array.astype(np.float32 if name in _KEPT_WHOLE else np.float16)


def _single(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype.kind == "f" else array
