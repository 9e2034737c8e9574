"""Settings of the ingest stage: what the log itself cannot say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gemel.artifacts.capture import Domain
from gemel.services.formats.calibration import JointScale


@dataclass(frozen=True)
class IngestConfig:
    """What `twin.toml` adds to the log."""

    joints: Mapping[str, JointScale] = field(default_factory=dict)
    """Unit of each joint, by its name in the log."""
    actions: Mapping[str, JointScale] = field(default_factory=dict)
    """Unit of each action; actions named like joints share the joint's unit."""
    cameras: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Camera tables that add to or replace what the source says."""
    scan_episodes: tuple[str, ...] = ()
    """Episodes that only look at the scene."""
    object_from_episode: Mapping[str, str] = field(default_factory=dict)
    """Which object each episode handles."""
    domain: Domain = Domain.REAL
    """Which side of the comparison this log is from."""
