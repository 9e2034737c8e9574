"""What calibration leaves: the frame and the clock of a track are a little off the robot's.

An arm that is off by a millimetre looks like a centre of mass that is off by a millimetre. So a posterior that takes
both frames for one is too sure; here the difference is inferred along with physics and marginalised out in the end.
"""

from dataclasses import dataclass, replace

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource

TRACK_PARAMETERS = ("track/offset_x", "track/offset_y", "track/offset_yaw", "track/time_offset")
"""How the frame of the track sits in the frame of the robot [m, m, rad], and what is added to a frame's time [s]."""
_UNITS = ("m", "m", "rad", "s")
_DEVIATIONS = 3.75
"""Standard deviations in the range of each."""


@dataclass(frozen=True)
class FrameDoubt:
    """Standard deviations of what calibration leaves; zero leaves a parameter out."""

    position_m: float
    yaw_rad: float
    time_s: float

    @property
    def sigmas(self) -> dict[str, float]:
        """By parameter, those that are not zero."""
        values = (self.position_m, self.position_m, self.yaw_rad, self.time_s)
        return {name: value for name, value in zip(TRACK_PARAMETERS, values, strict=True) if value > 0.0}


def with_track_frame(belief: Belief, doubt: FrameDoubt) -> Belief:
    """The belief and normal, independent errors of the track's frame; those that it knows already stay as they are."""
    from scipy.special import ndtri

    sigmas = {name: sigma for name, sigma in doubt.sigmas.items() if name not in belief.names}
    if not sigmas:
        return belief
    units = dict(zip(TRACK_PARAMETERS, _UNITS, strict=True))
    added = tuple(
        Parameter(name, units[name], -_DEVIATIONS * sigma, _DEVIATIONS * sigma, "linear", ValueSource.RANDOMISED)
        for name, sigma in sigmas.items()
    )
    count = len(belief.samples)
    rng = np.random.default_rng([count, 4])  # decides only which error meets which sample; not as `flat_belief` does
    scores = np.clip(ndtri((np.arange(count) + 0.5) / count), -_DEVIATIONS, _DEVIATIONS)
    columns = [sigma * rng.permutation(scores) for sigma in sigmas.values()]
    samples = np.concatenate([belief.samples, np.stack(columns, axis=1)], axis=1)
    return replace(belief, parameters=(*belief.parameters, *added), samples=samples)
