"""What kinds of policies there are: what each is told of physics, and how much of the past it sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gemel.services.policy.features import WIDTH

HISTORY = 10
"""Steps that a policy with history sees."""


@dataclass(frozen=True)
class Variant:
    """One kind of policy."""

    name: str
    told: Literal["nothing", "truth", "estimate"]
    """`estimate`: the truth with an error that lasts an episode, and how large such an error may be."""
    history: int = 1
    """Steps whose features it sees, the present one included."""

    def width(self, told_count: int) -> int:
        """Numbers that the policy sees, where so many parameters could be told."""
        return self.history * WIDTH + (0 if self.told == "nothing" else 2 * told_count)


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("privileged", "truth"),
        Variant("noise_trained", "estimate"),
        Variant("randomised", "nothing"),
        Variant("randomised_history", "nothing", HISTORY),
    )
}


@dataclass(frozen=True)
class Agent:
    """One policy to be trained."""

    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        """As its files are called."""
        return f"{self.variant.name}-{self.seed}"


def agents_of(names: Sequence[str], seeds: int, first_seed: int = 0) -> tuple[Agent, ...]:
    """All seeds of all variants."""
    return tuple(Agent(VARIANTS[name], first_seed + seed) for name in names for seed in range(seeds))
