"""What one camera saw at one frame, and what it would have seen without the object that is looked for."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32


@dataclass(frozen=True, eq=False)
class View:
    """One camera's image with where the camera was, and what may hide the object."""

    camera: str
    image: Float32[np.ndarray, "h w 3"]
    """RGB 0 to 1, of a pinhole camera."""
    T_camera_world: Float[np.ndarray, "4 4"]
    intrinsics: Float[np.ndarray, "4"]
    """fx, fy, cx, cy [px]."""
    delay_s: float
    """When the image was taken, after the frame's time [s]: cameras have clocks of their own."""
    surroundings: Float32[np.ndarray, "h w 3"]
    """The image as it would be without the object."""
    robot_depth: Float[np.ndarray, "h w"]
    """Distance of the robot along z [m]; infinite where it is not."""
    is_known: Bool[np.ndarray, "h w"]
    """Pixels that the camera saw: taking distortion out leaves some empty."""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width [px]."""
        return self.image.shape[0], self.image.shape[1]
