"""Small networks in numpy: running a trained policy or estimator needs no torch."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Float32

from gemel.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Mlp:
    """Linear layers with ELU between them, behind a fixed normalisation of the inputs.

    All arrays may have a first axis `member`: an ensemble, evaluated at once.
    """

    weights: tuple[Float32[np.ndarray, "*member _ _"], ...]
    biases: tuple[Float32[np.ndarray, "*member _"], ...]
    mean: Float32[np.ndarray, "*member in"]
    """Subtracted from the inputs."""
    std: Float32[np.ndarray, "*member in"]
    """The inputs are divided by this."""

    def __post_init__(self) -> None:
        ends = [(int(w.shape[-2]), int(w.shape[-1])) for w in self.weights]
        fits = (
            bool(ends)
            and len(self.biases) == len(ends)
            and all(a[1] == b[0] for a, b in pairwise(ends))
            and all(int(b.shape[-1]) == end[1] for b, end in zip(self.biases, ends, strict=True))
            and int(self.mean.shape[-1]) == int(self.std.shape[-1]) == ends[0][0]
        )
        if not fits:
            raise ConfigError(
                f"Layers of a network do not fit: weights {[w.shape for w in self.weights]}, biases "
                f"{[b.shape for b in self.biases]}, normalisation {self.mean.shape} and {self.std.shape}.",
                remedy="use the file as it was written",
            )

    @property
    def inputs(self) -> int:
        """Width of what goes in."""
        return int(self.weights[0].shape[-2])

    @property
    def outputs(self) -> int:
        """Width of what comes out."""
        return int(self.weights[-1].shape[-1])

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths between."""
        return tuple(int(w.shape[-1]) for w in self.weights[:-1])

    def __call__(self, x: Float[np.ndarray, "*n _"]) -> Float32[np.ndarray, "*m _"]:
        """Rows (n, in) to (n, out); for an ensemble to (member, n, out), from (n, in) or (member, n, in)."""
        if x.shape[-1] != self.inputs:
            raise ConfigError(
                f"The network takes {self.inputs} numbers and was given {x.shape[-1]}.",
                remedy="use a network that was trained on these observations",
            )
        y = (x.astype(np.float32) - self.mean[..., None, :]) / self.std[..., None, :]
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            y = np.matmul(y, weight) + bias[..., None, :]
            if i + 1 < len(self.weights):
                y = np.where(y > 0.0, y, np.expm1(np.minimum(y, 0.0)))
        return np.asarray(y, dtype=np.float32)
