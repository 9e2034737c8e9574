"""Where an artifact came from; part of its content address, so lineage cannot be rewritten afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Provenance:
    """How one artifact was made. Times and durations are not here: they live in the ledger."""

    stage: str
    """Name of the stage that made it."""
    inputs: Mapping[str, str]
    """Addresses of the artifacts that it was made from, by argument name."""
    sources: Mapping[str, str]
    """Hashes of what came from outside the store, by argument name."""
    config: Mapping[str, Json]
    """The resolved configuration of the stage."""
    code: str
    """Hash of the stage's source files and of every Gemel module that they import."""
    seed: int
    """Seed of the stage's random generator."""
    device: str
    """`cpu`, or the name of the accelerator that was used."""
