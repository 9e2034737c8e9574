"""From where an object was looked at, and from where it was not: what to capture next."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Sectors:
    """Directions from an object to its cameras."""

    widest_gap_deg: float
    """Largest angle about the vertical without a camera."""
    gap_from_deg: float
    """Where that gap starts, anticlockwise from world x, seen from above."""
    gap_to_deg: float
    lowest_deg: float
    """Elevation of the lowest camera."""
    highest_deg: float

    @property
    def advice(self) -> str:
        """Where to look from next."""
        parts = []
        if self.widest_gap_deg > 60.0:
            middle = (self.gap_from_deg + 0.5 * self.widest_gap_deg) % 360.0
            parts.append(
                f"from azimuth {round(self.gap_from_deg) % 360} to {round(self.gap_to_deg) % 360} degrees "
                f"(say {middle:.0f}; "
                "0 is world x, anticlockwise from above)"
            )
        if self.lowest_deg > 35.0:
            parts.append(f"lower than {self.lowest_deg:.0f} degrees of elevation, for its sides")
        if self.highest_deg < 50.0:
            parts.append(f"higher than {self.highest_deg:.0f} degrees of elevation, for its top")
        return "add views " + " and ".join(parts) if parts else "add views nearer to it"


def view_sectors(eyes: Float[np.ndarray, "v 3"], middle: Float[np.ndarray, "3"]) -> Sectors:
    """Azimuth and elevation of cameras about an object; z is up."""
    towards = eyes - middle
    flat = np.linalg.norm(towards[:, :2], axis=1)
    elevation = np.degrees(np.arctan2(towards[:, 2], flat))
    # From straight above, an object is seen from no side in particular.
    sideways = towards[elevation < 80.0]
    azimuth = np.sort(np.degrees(np.arctan2(sideways[:, 1], sideways[:, 0])) % 360.0)
    if len(azimuth) == 0:
        return Sectors(360.0, 0.0, 360.0, float(elevation.min()), float(elevation.max()))
    gaps = np.diff([*azimuth, azimuth[0] + 360.0])
    widest = int(np.argmax(gaps))
    start = float(azimuth[widest])
    gap = float(gaps[widest])
    return Sectors(gap, start, (start + gap) % 360.0, float(elevation.min()), float(elevation.max()))
