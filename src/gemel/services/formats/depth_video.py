"""Depth from the whole numbers of a depth video, as LeRobot quantises it: 12 bits, evenly in depth or in its log."""

import numpy as np
from jaxtyping import Float32, UInt16

from gemel.artifacts.capture import DepthCode

LARGEST_CODE = 4095


def decoded_depth(codes: UInt16[np.ndarray, "h w"], code: DepthCode) -> Float32[np.ndarray, "h w"]:
    """Depth [m]; 0 where the code is 0: nothing was measured, or it was too near to be told."""
    part = np.minimum(codes, LARGEST_CODE).astype(np.float64) / LARGEST_CODE
    if code.is_log:
        low, high = np.log(code.least_m + code.shift_m), np.log(code.most_m + code.shift_m)
        depth_m = np.exp(low + part * (high - low)) - code.shift_m
    else:
        depth_m = code.least_m + part * (code.most_m - code.least_m)
    return np.where(codes == 0, 0.0, np.clip(depth_m, code.least_m, code.most_m)).astype(np.float32)
