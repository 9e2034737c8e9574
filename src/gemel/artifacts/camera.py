"""A camera as the twin knows it: optics, mounting and clock, each with its uncertainty."""

from dataclasses import dataclass

from gemel.geometry import SE3, CameraModel

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Camera:
    """One camera. What is not known yet is None; guesses carry their standard deviations.

    Camera axes are x right, y down, z forward; pixel centres lie at +0.5.
    """

    name: str
    width: int
    """Image width [px]."""
    height: int
    """Image height [px]."""
    model: CameraModel | None = None
    """Intrinsics, or None when the log has none."""
    parent: str = WORLD
    """Frame that the camera is mounted on: `world` or a robot link."""
    T_parent_camera: SE3 | None = None
    """Mounting pose, or None when unknown (or given per frame by the episode)."""
    time_offset_s: float = 0.0
    """Add this to a frame's time stamp to get the robot's clock [s]."""
    focal_sigma_px: float | None = None
    """Standard deviation of the focal length [px]."""
    rotation_sigma_rad: float | None = None
    """Standard deviation of the mounting rotation about each axis [rad]."""
    translation_sigma_m: float | None = None
    """Standard deviation of the mounting position along each axis [m]."""
    time_offset_sigma_s: float | None = None
    """Standard deviation of the time offset [s]."""
    has_pose_per_frame: bool = False
    """True when each frame brings its own `T_world_camera` (scans with known poses)."""

    @property
    def is_calibrated(self) -> bool:
        """Whether both optics and mounting are known at least as a guess."""
        return self.model is not None and (self.T_parent_camera is not None or self.has_pose_per_frame)
