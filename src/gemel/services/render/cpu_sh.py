"""Real spherical harmonics up to degree 3 and their derivatives, for eight directions at once.

Same functions, order and signs as spherical_harmonics.py, which says where they come from. The values pass through a
small scratch array (coefficient-major, eight lanes each), so that the loops over coefficients need no unrolling.
"""

from typing import Any

import numpy as np

from gemel.services.render import spherical_harmonics as sh
from gemel.services.render.cpu_compile import part
from gemel.services.render.simd import load, splat, store
from gemel.services.render.simd_fields import load_field, load_fields, store_field, store_fields

LANES = 8
STAGED = 64 * LANES  # place of a block's coefficients in the small scratch
SUMMED = 112 * LANES  # place of their gradients
C0 = np.float32(sh.C0)
C1 = np.float32(sh.C1)
C20, C21, C22, C23, C24 = (np.float32(c) for c in sh.C2)
C30, C31, C32, C33, C34, C35, C36 = (np.float32(c) for c in sh.C3)
TWO, THREE, FOUR = np.float32(2.0), np.float32(3.0), np.float32(4.0)
ZERO = np.float32(0.0)


@part
def write_basis(out: Any, count: int, d: Any) -> None:
    """Y_k of the unit direction d for k < count into out[8 k ...]."""
    x, y, z = d
    store(out, 0, splat(C0))
    if count > 1:
        store(out, 1 * LANES, -C1 * y)
        store(out, 2 * LANES, C1 * z)
        store(out, 3 * LANES, -C1 * x)
    if count > 4:
        store(out, 4 * LANES, C20 * (x * y))
        store(out, 5 * LANES, C21 * (y * z))
        store(out, 6 * LANES, C22 * (TWO * z * z - x * x - y * y))
        store(out, 7 * LANES, C23 * (x * z))
        store(out, 8 * LANES, C24 * (x * x - y * y))
    if count > 9:
        store(out, 9 * LANES, C30 * y * (THREE * x * x - y * y))
        store(out, 10 * LANES, C31 * (x * y) * z)
        store(out, 11 * LANES, C32 * y * (FOUR * z * z - x * x - y * y))
        store(out, 12 * LANES, C33 * z * (TWO * z * z - THREE * x * x - THREE * y * y))
        store(out, 13 * LANES, C34 * x * (FOUR * z * z - x * x - y * y))
        store(out, 14 * LANES, C35 * z * (x * x - y * y))
        store(out, 15 * LANES, C36 * x * (x * x - THREE * y * y))


@part
def stage(small: Any, place: int, array: Any, first: int, n: int, fields: int) -> None:
    """Copy eight Gaussians' fields into small[place + 8 field ...], eight fields at a time."""
    whole = fields // LANES * LANES
    for f in range(0, whole, LANES):
        values = load_fields(array, first, n, fields, f)
        for k in range(LANES):
            store(small, place + (f + k) * LANES, values[k])
    for f in range(whole, fields):
        store(small, place + f * LANES, load_field(array, first, n, fields, f))


@part
def unstage(small: Any, place: int, array: Any, first: int, n: int, fields: int) -> None:
    """Copy eight Gaussians' fields from small[place + 8 field ...] into their array."""
    whole = fields // LANES * LANES
    for f in range(0, whole, LANES):
        o = place + f * LANES
        low = (load(small, o), load(small, o + LANES), load(small, o + 2 * LANES), load(small, o + 3 * LANES))
        o += 4 * LANES
        high = (
            load(small, o),
            load(small, o + LANES),
            load(small, o + 2 * LANES),
            load(small, o + 3 * LANES),
        )
        store_fields(array, first, n, fields, f, low + high)
    for f in range(whole, fields):
        store_field(array, first, n, fields, f, load(small, place + f * LANES))


@part
def colour(small: Any, coefficients: Any, first: int, n: int, count: int) -> Any:
    """1/2 + sum_k Y_k c_k for eight Gaussians, before the clamp at zero; Y_k is read from small[8 k ...]."""
    stage(small, STAGED, coefficients, first, n, 3 * count)
    r, g, b = splat(np.float32(0.5)), splat(np.float32(0.5)), splat(np.float32(0.5))
    for k in range(count):
        value, o = load(small, k * LANES), STAGED + 3 * k * LANES
        r = r + value * load(small, o)
        g = g + value * load(small, o + LANES)
        b = b + value * load(small, o + 2 * LANES)
    return r, g, b


@part
def direction_gradient_low(small: Any, slopes: int, d: Any, count: int) -> Any:
    """sum_k (dL/dY_k) dY_k/d(direction) over degrees 1 and 2; small[slopes + 8 k ...] holds dL/dY_k."""
    x, y, z = d
    zero = splat(ZERO)
    gx, gy, gz = zero, zero, zero
    if count > 1:
        gx, gy, gz = (
            -C1 * load(small, slopes + 3 * LANES),
            -C1 * load(small, slopes + 1 * LANES),
            C1 * load(small, slopes + 2 * LANES),
        )
    if count > 4:
        s4, s5, s6 = (
            C20 * load(small, slopes + 4 * LANES),
            C21 * load(small, slopes + 5 * LANES),
            C22 * load(small, slopes + 6 * LANES),
        )
        s7, s8 = C23 * load(small, slopes + 7 * LANES), C24 * load(small, slopes + 8 * LANES)
        gx = gx + s4 * y + s7 * z + TWO * x * (s8 - s6)
        gy = gy + s4 * x + s5 * z - TWO * y * (s8 + s6)
        gz = gz + s5 * y + s7 * x + FOUR * z * s6
    return gx, gy, gz


@part
def direction_gradient(small: Any, slopes: int, d: Any, count: int) -> Any:
    """dL/d(direction), all degrees, from dL/dY_k in small[slopes + 8 k ...]."""
    x, y, z = d
    gx, gy, gz = direction_gradient_low(small, slopes, d, count)
    if count > 9:
        xx, yy, zz = x * x, y * y, z * z
        s9, s10, s11 = (
            C30 * load(small, slopes + 9 * LANES),
            C31 * load(small, slopes + 10 * LANES),
            C32 * load(small, slopes + 11 * LANES),
        )
        s12, s13 = C33 * load(small, slopes + 12 * LANES), C34 * load(small, slopes + 13 * LANES)
        s14, s15 = C35 * load(small, slopes + 14 * LANES), C36 * load(small, slopes + 15 * LANES)
        inner = FOUR * zz - xx - yy
        gx = gx + TWO * x * (THREE * y * s9 - y * s11 - THREE * z * s12 + z * s14) + y * z * s10
        gx = gx + s13 * (inner - TWO * xx) + THREE * s15 * (xx - yy)
        gy = gy + THREE * s9 * (xx - yy) + x * z * s10 + s11 * (inner - TWO * yy)
        gy = gy - TWO * y * (THREE * z * s12 + x * s13 + z * s14 + THREE * x * s15)
        gz = gz + x * y * s10 + TWO * FOUR * z * (y * s11 + x * s13)
        gz = gz + THREE * s12 * (TWO * zz - xx - yy) + s14 * (xx - yy)
    return gx, gy, gz


@part
def coefficient_gradient(small: Any, slopes: int, place: Any, coefficients: Any, out: Any, is_first: bool) -> None:
    """Write (first camera) or add (later ones) dL/dc_k = Y_k g, and put dL/dY_k = c_k . g into small[slopes ...].

    place = (first Gaussian, Gaussian count, coefficient count); Y_k is read from small[8 k ...] and the colour gradient
    g from the three vectors that follow the sixteen slopes.
    """
    first, n, count = place
    stage(small, STAGED, coefficients, first, n, 3 * count)
    if not is_first:
        stage(small, SUMMED, out, first, n, 3 * count)
    o = slopes + 16 * LANES
    g = (load(small, o), load(small, o + LANES), load(small, o + 2 * LANES))
    for k in range(count):
        value, slope = load(small, k * LANES), splat(ZERO)
        for channel in range(3):
            o = (3 * k + channel) * LANES
            slope = slope + g[channel] * load(small, STAGED + o)
            before = splat(ZERO) if is_first else load(small, SUMMED + o)
            store(small, SUMMED + o, before + value * g[channel])
        store(small, slopes + k * LANES, slope)
    unstage(small, SUMMED, out, first, n, 3 * count)
