"""Settings of the calibration."""

from dataclasses import dataclass, field

from gemel.stages.reconstruct.calibration.unknowns import PriorConfig


@dataclass(frozen=True)
class CalibrationConfig:
    """How cameras and robot are calibrated before anything is reconstructed."""

    prior: PriorConfig = field(default_factory=PriorConfig)
    """How far off the given calibration may be."""
    table_height_m: float = 0.0
    """Height of the table top in the world, where z is up [m]."""
    moving_views: int = 45
    """Views taken of each camera on the robot."""
    fixed_views: int = 16
    """Views taken of each fixed camera."""
    width_px: int = 160
    """Images are reduced to about this width: finer ones cost time and tell little more."""
