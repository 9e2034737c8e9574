"""Settings of the assemble stage: `[assemble]` in twin.toml."""

from dataclasses import dataclass

from gemel.errors import ConfigError


@dataclass(frozen=True)
class AssembleConfig:
    """How shapes become things that touch; nothing here is tuned to an object."""

    concavity: float = 0.05
    """Largest concavity that a convex piece may gloss over, CoACD's threshold (0.01 fine to 1 coarse)."""
    convex_gap_m: float = 0.002
    """An object whose convex hull is nowhere farther from its surface is taken as one piece [m]."""
    faces: int = 2000
    """Meshes are simplified to about so many faces before they are cut into pieces."""
    flat_m: float = 0.0015
    """Bottoms that are flat up to this are made flat, so that objects do not rock on the noise of their shape [m]."""
    lift_m: float = 0.01
    """Objects that are so near to the table, or to an object below them, are put on it [m]."""
    density_kg_m3: float = 700.0
    """Of objects whose mass the belief does not say [kg/m³]."""
    settle_s: float = 5.0
    """How long objects are watched lying on the table before the twin is accepted [s]."""
    drift_m: float = 0.001
    """An object that moves farther in that time does not rest, which is an error [m]."""
    has_bounce: bool = False
    """Whether contacts spring back with the believed restitution. For what is tossed; what is pushed would tremble."""
    is_gate_strict: bool = True
    """Whether errors that the gate finds stop the stage; if not, they are only reported."""

    def __post_init__(self) -> None:
        if not 0.01 <= self.concavity <= 1.0:
            raise ConfigError(
                f"concavity is {self.concavity}; CoACD takes 0.01 to 1.", remedy="correct it under [assemble]"
            )
        if min(self.density_kg_m3, self.settle_s, self.drift_m) <= 0.0 or self.faces < 100:
            raise ConfigError(
                f"density_kg_m3 is {self.density_kg_m3}, settle_s {self.settle_s}, drift_m {self.drift_m} and faces "
                f"{self.faces}; the first three have to be positive and faces at least 100.",
                remedy="correct them under [assemble]",
            )
