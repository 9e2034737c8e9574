"""Everything that is wrong with a stand-in robot, each as one number with a default taken from real machines.

Defaults are typical of a careful lab with a mid-price arm and USB cameras. `Imperfections.none()` switches all of
them off; single ones are switched with `dataclasses.replace`, or `--imperfections.NAME VALUE` on the command line.
"""

from dataclasses import dataclass, fields

from gemel.errors import ConfigError


@dataclass(frozen=True)
class Imperfections:
    """What the robot, its cameras, its surroundings and its recorder do wrong."""

    encoder_noise_rad: float = 0.0003
    """Standard deviation of a joint reading [rad]: half a count of a 12-bit hobby servo is 0.0008, of a 14-bit
    magnetic encoder 0.0002."""
    encoder_offset_rad: float = 0.008
    """Standard deviation of the constant zero-point error of each joint [rad]: homing by eye or against a stop leaves
    about half a degree."""
    base_position_error_m: float = 0.003
    """Standard deviation, per axis, of where the arm is bolted down against where the lab thinks it is [m]."""
    base_yaw_error_rad: float = 0.005
    """Standard deviation of the arm's heading on the table [rad]."""
    camera_rotation_error_deg: tuple[float, float] = (1.0, 2.0)
    """Smallest and largest angle by which a camera guess is wrong [deg]: hand-eye calibration with a printed board."""
    camera_position_error_m: tuple[float, float] = (0.005, 0.010)
    """Smallest and largest distance by which a camera guess is wrong [m]."""
    camera_focal_error: float = 0.005
    """Standard deviation of the relative error of the focal length, from using the data sheet's value."""
    camera_delay_s: float = 0.030
    """How much older than its time stamp a frame is [s]: one exposure and one USB transfer at 30 Hz."""
    camera_delay_spread_s: float = 0.008
    """Standard deviation of that delay between cameras [s]; they hang on different ports."""
    camera_jitter_s: float = 0.003
    """Standard deviation of the delay from frame to frame [s]: scheduling of a computer without real time."""
    actuator_lag_s: float = 0.100
    """Time from a command to the first motion [s]: one control period of bus and filter, as on hobby servos and on
    arms behind a 10 Hz interface."""
    backlash_rad: float = 0.002
    """Play between motor and link [rad]: 0.1 degree, typical of planetary gears at 10 arc minutes."""
    speed_limit_rad_s: float = 2.5
    """Joint speed at which the drives saturate [rad/s]."""
    torque_limit: float = 1.0
    """Torque at which the drives saturate, as a part of the data sheet's."""
    friction_unevenness: float = 0.2
    """Standard deviation of table friction from place to place, relative to its mean: used plywood shows 10 to 30 %."""
    friction_patch_m: float = 0.08
    """Size of the patches over which table friction changes [m]."""
    placement_error_m: float = 0.002
    """Standard deviation, per axis, of a hand that puts an object on its mark [m]."""
    placement_yaw_error_rad: float = 0.02
    """Standard deviation of the object's angle on its mark [rad]."""
    object_spread: float = 1.0
    """How much of the task's range of mass, centre of mass and friction this world may draw from, 0 to 1."""
    tracker_noise_m: float = 0.001
    """Standard deviation of object positions where a tracker is asked for [m]: a motion-capture system at its best."""
    tracker_noise_rad: float = 0.005
    """Standard deviation of object angles where a tracker is asked for [rad]."""
    exposure_s: float = 0.016
    """Exposure time [s]: indoors without flicker. Whatever moves is blurred over it."""
    rolling_shutter_s: float = 0.010
    """Time from the first to the last row [s]; typical of small CMOS sensors at full resolution."""
    vignetting: float = 0.25
    """Part of the light that is missing in the corners of the image."""
    shot_noise: float = 0.012
    """Standard deviation of a white pixel from counting photons, relative to white; it falls with the root of the
    light. 0.012 means about 7000 electrons at white, a small sensor's well."""
    read_noise: float = 0.004
    """Standard deviation of a black pixel, relative to white: one level of 256."""
    dropped_frames: float = 0.01
    """Part of the samples that the recorder loses."""
    arm_occlusion: bool = True
    """Whether one fixed camera stands where the arm comes between it and the object, as it does in most labs."""
    hand_probability: float = 0.15
    """Part of the episodes in which somebody's hand passes through the picture."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low, high = (min(value), max(value)) if isinstance(value, tuple) else (value, value)
            if not (float(low) >= 0.0 and float(high) < float("inf")):
                raise ConfigError(
                    f"Imperfections.{field.name} is {value}; zero or a positive number was expected.",
                    remedy="give 0 to switch it off",
                )

    @staticmethod
    def none() -> "Imperfections":
        """A flawless robot in a flawless lab; objects still differ from world to world."""
        zeros: dict[str, float | tuple[float, float] | bool] = {
            field.name: (0.0, 0.0) if field.name.startswith(("camera_rotation", "camera_position")) else 0.0
            for field in fields(Imperfections)
        }
        unlimited = {
            "speed_limit_rad_s": 1e3,
            "torque_limit": 1e3,
            "friction_patch_m": 0.08,
            "object_spread": 1.0,
        }
        return Imperfections(**{**zeros, **unlimited, "arm_occlusion": False})  # type: ignore[arg-type]
