"""What a policy is: where it runs, what it sees and commands, what it was trained on."""

from collections.abc import Mapping
from dataclasses import dataclass

from gemel.artifacts.blob import BlobRef
from gemel.artifacts.task import Quantity


@dataclass(frozen=True)
class PolicyCard:
    """Everything that is needed to run a policy and to judge what it can know."""

    name: str
    task: str
    checkpoint: BlobRef | None
    """Weights in the store, or None for a policy behind a server."""
    server: str
    """`ws://…` or `tcp://…`, or empty."""
    observation: tuple[Quantity, ...]
    action: tuple[Quantity, ...]
    conditioned_on: tuple[str, ...]
    """Names of the physical parameters that the policy is told."""
    trained_on: Mapping[str, str]
    """Addresses of the twins and captures that it was trained on, by role."""
