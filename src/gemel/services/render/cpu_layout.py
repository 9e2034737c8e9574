"""Where every number lies in the buffers that the CPU kernels share. Plain numbers and named tuples, no code.

A *splat* is one Gaussian seen by one camera; its number is `camera * gaussian_count + gaussian`. Projection writes
one record of 16 float32 (one cache line) per splat. Rasterisation works on tiles: `TILE_WIDTH` x `TILE_HEIGHT`
pixels whose blending state lies in planes of one flat scratch array, rows padded by one vector so that a vector may
run over the tile's right edge.
"""

from typing import Any, NamedTuple

import numpy as np

TILE_WIDTH = 32
TILE_HEIGHT = 16
LANES = 8
ROW = TILE_WIDTH + LANES
"""Floats in one padded row of a tile's plane."""
PLANE = ROW * TILE_HEIGHT
"""Floats in one plane of a tile."""

SPANS = 16
"""Integers for the spans of eight rows: first pixels, then end pixels."""

RECORD = 16
"""Floats in one splat's record; the field numbers follow."""
MEAN_X, MEAN_Y = 0, 1  # pixels
CONIC_A, CONIC_B, CONIC_C = 2, 3, 4  # q = a dx^2 + b dx dy + c dy^2, alpha = opacity * 2^-q
OPACITY = 5  # after the anti-aliasing factor
LIMIT = 6  # q at which alpha falls to 1/255
SLOPE, ROW_C, INVERSE_A = 7, 8, 9  # a row's span: mean_x + slope dy +- sqrt((limit - row_c dy^2) * inverse_a)
HALF_HEIGHT = 10  # pixels
DEPTH = 11  # metres
RED, GREEN, BLUE = 12, 13, 14
COMPENSATION = 15  # the anti-aliasing factor

MOMENTS = 16
"""Floats in one gradient slot before the extra channels; the field numbers follow. s = alpha * dL/dalpha."""
M_1, M_X, M_Y, M_XX, M_XY, M_YY = 0, 1, 2, 3, 4, 5  # sums of s, s dx, s dy, s dx^2, s dx dy, s dy^2
M_DEPTH, M_RED, M_GREEN, M_BLUE = 6, 7, 8, 9  # sums of weight * dL/dchannel
M_HIT = 15  # 1 if the tile blended the splat. In the slot: flags of their own made threads fight for cache lines

CAMERA = 24
"""Floats of one camera: rotation (9, row-major), translation (3), fx fy cx cy, clamp limits (4), centre (3)."""
CAMERA_SUMS = 16
"""Gradient sums per camera: rotation (9), translation (3), centre (3), unused."""

CHUNK = 256
"""Gaussians that one worker takes at a time; fixed, so that sums do not depend on the number of threads."""

ALPHA_MIN = np.float32(1.0 / 255.0)
ALPHA_MAX = np.float32(0.999)
TRANSMITTANCE_MIN = np.float32(1e-4)


class Sizes(NamedTuple):
    """Counts of one call."""

    gaussians: int
    cameras: int
    coefficients: int  # SH coefficients per channel: 1, 4, 9 or 16
    extras: int  # extra channels
    width: int
    height: int
    tiles_x: int
    tiles_y: int
    slot: int  # floats per gradient slot
    workers: int
    has_covariances: int
    is_antialiased: int


class Inputs(NamedTuple):
    """What is drawn: addresses of contiguous float32 arrays (in kernels: pointers), and two settings."""

    means: int
    """(n, 3)"""
    quats: int
    """(n, 4)"""
    scales: int
    """(n, 3)"""
    covariances: int
    """(n, 3, 3)"""
    opacities: int
    """(n,)"""
    sh: int
    """(n, k, 3)"""
    extras: int
    """(n, e)"""
    cameras: int
    """(c, 24)"""
    dilation_px2: Any
    near_m: Any


class Lists(NamedTuple):
    """Which splats each tile meets, front to back; addresses (in kernels: pointers). s splats, t tiles, p entries."""

    records: int
    """float32 (s, 16)"""
    rects: int
    """int32 (s, 4): tiles x first, y first, x end, y end; all zero if not visible."""
    slot_starts: int
    """int32 (s + 1,): first gradient slot of each splat."""
    tile_starts: int
    """int32 (t + 1,): first entry of each tile."""
    entries: int
    """int32 (p, 2): splat, slot."""
    tile_order: int
    """int32 (t,): tiles, fullest first."""
    visible: int
    """int32 (c, 2, 2): per half (near, far) how many splats are visible, where their sorted keys begin."""
    keys: int
    """uint32 (2, s, 2): depth bits and splat, twice, to sort back and forth."""
    histograms: int
    """int32 (c, 2, t / c, padded): splats per tile of each half, then places where the half continues the list."""
    depth_bits: int
    """The records, seen as uint32."""


class Scene(NamedTuple):
    """What most kernel functions need to know."""

    sizes: Sizes
    inputs: Inputs
    lists: Lists


class Images(NamedTuple):
    """Images of all cameras, or gradients of them: addresses of contiguous float32 arrays (in kernels: pointers)."""

    colour: int
    """(c, h, w, 3)"""
    alpha: int
    """(c, h, w)"""
    depth: int
    """(c, h, w)"""
    extras: int
    """(c, h, w, e)"""


class Outputs(NamedTuple):
    """Gradients of the Gaussians: addresses of float32 arrays (in kernels: pointers); 0 where one does not apply."""

    means: int
    quats: int
    scales: int
    covariances: int
    opacities: int
    sh: int
    extras: int
