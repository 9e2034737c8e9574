"""`meta/gemel.toml`: what the LeRobot format cannot say: units, cameras, robot model, scan episodes, objects."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gemel.services.formats.paths import inside
from gemel.services.formats.toml_table import from_table, read_toml

SIDECAR_FILE = "meta/gemel.toml"


@dataclass(frozen=True)
class RobotTable:
    """`[robot]`."""

    model: str = ""
    """Path of an MJCF or URDF file inside the dataset."""


@dataclass(frozen=True)
class EpisodesTable:
    """`[episodes]`: episodes by their index."""

    scan: tuple[int, ...] = ()
    """Episodes that only look at the scene."""
    object: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Episodes by the object that they handle."""

    def object_of(self, index: int) -> str:
        """Name of the object that an episode handles, or empty."""
        return next((name for name, episodes in self.object.items() if index in episodes), "")


@dataclass(frozen=True)
class Sidecar:
    """All of `meta/gemel.toml`; every table may be left out."""

    joints: dict[str, Any] = field(default_factory=dict)
    actions: dict[str, Any] = field(default_factory=dict)
    cameras: dict[str, Any] = field(default_factory=dict)
    robot: RobotTable = field(default_factory=RobotTable)
    episodes: EpisodesTable = field(default_factory=EpisodesTable)


def read_sidecar(root: Path) -> Sidecar:
    """The side-car of a dataset, empty where there is none."""
    path = inside(root, SIDECAR_FILE)
    if not path.exists():
        return Sidecar()
    sidecar = from_table(Sidecar, read_toml(path), where=SIDECAR_FILE)
    if sidecar.robot.model:
        inside(root, sidecar.robot.model)
    return sidecar
