"""One trial in memory, the same type for robot, stand-in and twin, and the reader that hands it out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, UInt8

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.geometry import SE3


@dataclass(frozen=True, eq=False)
class Episode:
    """The numbers of one trial in SI units; images are read one by one through `Frames`."""

    id: str
    kind: EpisodeKind
    domain: Domain
    task: str
    times_s: Float[np.ndarray, " t"]
    """Time from the start of the episode [s]."""
    joint_positions: Float[np.ndarray, "t joint"]
    """[rad], [m] or fraction, per joint as the capture's `joints` say."""
    actions: Float[np.ndarray, "t action"]
    is_success: bool | None = None
    object_poses: Mapping[str, SE3] = field(default_factory=dict)
    """`Ts_world_object` over time, by object, where known."""
    camera_poses: Mapping[str, SE3] = field(default_factory=dict)
    """`Ts_world_camera` over time, by camera, where the log brings one per frame."""
    camera_intrinsics: Mapping[str, Float[np.ndarray, "t 4"]] = field(default_factory=dict)
    """fx, fy, cx, cy [px] over time, by camera, where the log brings them per frame."""
    extras: Mapping[str, Float[np.ndarray, "t _"]] = field(default_factory=dict)
    """Further logged numbers, as logged."""


@runtime_checkable
class Frames(Protocol):
    """The only way by which a stage reads an episode. Each call is checked against the seal and logged."""

    def episode(self, episode_id: str) -> Episode:
        """The numbers of one episode."""
        ...

    def image(self, episode_id: str, camera: str, step: int) -> UInt8[np.ndarray, "h w 3"]:
        """One frame, decoded by seeking."""
        ...

    def images(self, episode_id: str, camera: str, steps: Sequence[int]) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
        """Frames in the given (ascending) order, one in memory at a time."""
        ...

    def mask(self, episode_id: str, camera: str, step: int) -> UInt8[np.ndarray, "h w"] | None:
        """The logged object mask of a frame (0 = ignore), or None when the log has none."""
        ...

    def depth(self, episode_id: str, camera: str, step: int) -> Float32[np.ndarray, "h w"] | None:
        """The logged depth of a frame along the camera's z [m], 0 where nothing was measured; None without any."""
        ...
