"""How much light falls on an object in each view: the arm shades it differently wherever it stands.

One view's light is exp(level + slopes · direction): a level and two slopes across the image. A camera on the arm
carries the arm's shade along, so between two of its views the light changes little by little and can be interpolated.
"""

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.stages.reconstruct.observations import Observations


def light_basis(intrinsics: Float[np.ndarray, "4"], shape: tuple[int, int]) -> Float32[np.ndarray, "h w 3"]:
    """1, x and y of each pixel's direction on the plane z = 1: what a view's level and slopes are multiplied with."""
    fx, fy, cx, cy = intrinsics
    x, y = (np.arange(shape[1]) + 0.5 - cx) / fx, (np.arange(shape[0]) + 0.5 - cy) / fy
    ones = np.ones(shape)
    return np.stack([ones, x[None, :] * ones, y[:, None] * ones], axis=-1).astype(np.float32)


def light_at(
    lights: Float[np.ndarray, "fitted 3"], rows: Int[np.ndarray, " fitted"], observations: Observations, v: int
) -> Float[np.ndarray, "3"]:
    """Light in any observation: between those of the fitted `rows` of the same camera and episode, by time."""
    is_alike: Bool[np.ndarray, " fitted"] = (observations.camera[rows] == observations.camera[v]) & (
        observations.episode[rows] == observations.episode[v]
    )
    if not is_alike.any():
        return np.zeros(3)
    times_s = observations.times_s[rows[is_alike]]
    order = np.argsort(times_s, kind="stable")
    known = lights[is_alike][order]
    return np.array([np.interp(observations.times_s[v], times_s[order], known[:, k]) for k in range(3)])
