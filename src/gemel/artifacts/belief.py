"""What is believed about physical parameters. Prior and posterior are the same type."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import BlobRef
from gemel.errors import ConfigError


class ValueSource(StrEnum):
    """Where a parameter's value comes from."""

    MEASURED = "measured"
    INFERRED = "inferred"
    GENERATED = "generated"
    RANDOMISED = "randomised"


@dataclass(frozen=True)
class Parameter:
    """One physical parameter: its name, unit, bounds and the scale on which it is inferred."""

    name: str
    """Such as `object/t_block/com_x` or `contact/t_block-table/friction`."""
    unit: str
    low: float
    high: float
    transform: str
    """`linear` or `log`: the scale on which steps are taken."""
    source: ValueSource
    episodes: tuple[str, ...] = ()
    """Episodes that the value was learnt from."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Weighted samples over named parameters."""

    parameters: tuple[Parameter, ...]
    samples: Float[np.ndarray, "sample parameter"]
    weights: Float[np.ndarray, " weight"]
    """One for each sample; not negative, sum to one."""
    record: BlobRef | None = None
    """How each value came to be, as JSON: what every source said, raw answers of models; None when not recorded."""

    def __post_init__(self) -> None:
        if len(self.samples) != len(self.weights):
            raise ConfigError(
                f"Belief has {len(self.samples)} samples and {len(self.weights)} weights.",
                remedy="give one weight for each sample",
            )
        total = float(self.weights.sum())
        if (self.weights < 0).any() or not np.isclose(total, 1.0, atol=1e-9):
            raise ConfigError(
                f"Belief weights must be non-negative and sum to one; they sum to {total:.6g}.",
                remedy="divide the weights by their sum",
            )
        if self.samples.shape[1] != len(self.parameters):
            raise ConfigError(
                f"Belief has {self.samples.shape[1]} columns of samples for {len(self.parameters)} parameters.",
                remedy="give one column per parameter",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in column order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def mean(self) -> Float[np.ndarray, " parameter"]:
        """Weighted means, each on the scale on which its parameter is inferred: geometric ones of masses, so that a few
        heavy draws do not make the twin heavier than nearly all of them."""
        is_log = np.array([parameter.transform == "log" for parameter in self.parameters], dtype=bool)
        with np.errstate(divide="ignore"):
            scaled = np.where(is_log, np.log(np.where(is_log, self.samples, 1.0)), self.samples)
        means = self.weights @ scaled
        return np.where(is_log, np.exp(np.where(is_log, means, 0.0)), means)

    def only(self, names: Collection[str]) -> "Belief":
        """The same belief of some parameters alone, in their order here; others are marginalised out."""
        columns = [column for column, name in enumerate(self.names) if name in names]
        parameters = tuple(self.parameters[column] for column in columns)
        return replace(self, parameters=parameters, samples=self.samples[:, columns])
