"""Back-to-front gradients of tiles on the CPU. One worker takes one tile at a time.

Per pixel, with u_i = sum_k (dL/dchannel_k) channel_ik, weight w_i = T_i alpha_i and R_i = sum_{j behind i} w_j u_j:
dL/dalpha_i = T_i u_i - R_i / (1 - alpha_i). The coverage image is one more channel of value one. Transmittance is
recovered by division from the last splat backwards, which keeps its relative accuracy.

Every (tile, splat) pair writes its sums into a slot of its own: no races. With s = alpha dL/dalpha the moments of s
are all that projection needs (cpu_project_math.covariance_gradient), so shape, position and opacity cost six sums.
"""

from typing import Any

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render import simd_operators
from gemel.services.render.cpu_compile import kernel, part
from gemel.services.render.cpu_exp import exp2_negative
from gemel.services.render.cpu_open import open_images, open_inputs, open_lists
from gemel.services.render.cpu_raster import row_range, row_span, tile_box
from gemel.services.render.simd import atomic_take, lane_numbers, lane_sum, load, select, splat, store
from gemel.services.render.simd_memory import counters, floats, octets

minimum = simd_operators.minimum
LANES, ROW, PLANE, RECORD = at.LANES, at.ROW, at.PLANE, at.RECORD
ONE, ZERO, HALF = np.float32(1.0), np.float32(0.0), np.float32(0.5)
P_T, P_STOP, P_REST = 0, PLANE, 2 * PLANE
P_ALPHA, P_RED, P_GREEN, P_BLUE, P_DEPTH, P_EXTRA = (k * PLANE for k in range(3, 9))


@part
def read_gradients(planes: Any, camera: int, box: Any, sizes: Any, images: Any, gradients: Any) -> None:
    """dL/dimage of one tile into planes; the expected depth D / alpha hands its share on to D and alpha."""
    left, top, right, bottom = box
    _, alpha, depth, _ = images
    g_colour, g_alpha, g_depth, g_extras = gradients
    for y in range(top, bottom):
        for x in range(left, right):
            p = (y - top) * ROW + x - left
            pixel = (camera * sizes.height + y) * sizes.width + x
            inverse = ONE / max(alpha[pixel], np.float32(1e-10))
            g_sum = g_depth[pixel] * inverse
            planes[P_RED + p] = g_colour[3 * pixel]
            planes[P_GREEN + p] = g_colour[3 * pixel + 1]
            planes[P_BLUE + p] = g_colour[3 * pixel + 2]
            planes[P_DEPTH + p] = g_sum
            planes[P_ALPHA + p] = g_alpha[pixel] - g_sum * depth[pixel]
            for k in range(sizes.extras):
                planes[P_EXTRA + k * PLANE + p] = g_extras[sizes.extras * pixel + k]


@part
def last_position(planes: Any, count: int) -> int:
    """One past the last list position that any pixel of the tile blended; restores the sign of transmittance."""
    last = 0
    for i in range(PLANE):
        t = planes[P_T + i]
        if t == ZERO:
            planes[P_STOP + i] = ZERO
        else:
            last = max(last, int(min(planes[P_STOP + i], np.float32(count))))
        planes[P_T + i] = abs(t)
        planes[P_REST + i] = ZERO
    return last


@part
def pixel_terms(planes: Any, p: int, q: Any, position: Any, values: Any, extra: Any) -> Any:
    """(s, weight) of eight pixels for one splat; updates transmittance and what lies behind."""
    raw = values[5] * exp2_negative(q)
    alpha = minimum(raw, at.ALPHA_MAX)
    is_hit = (alpha >= at.ALPHA_MIN) & (load(planes, P_STOP + p) > position)
    inverse = ONE / (ONE - alpha)
    after, rest = load(planes, P_T + p), load(planes, P_REST + p)
    before = after * inverse
    u = extra + load(planes, P_ALPHA + p)
    u = u + load(planes, P_RED + p) * values[0] + load(planes, P_GREEN + p) * values[1]
    u = u + load(planes, P_BLUE + p) * values[2] + load(planes, P_DEPTH + p) * values[3]
    zero = splat(ZERO)
    weight = select(is_hit, before * alpha, zero)
    s = select(is_hit & (raw <= at.ALPHA_MAX), alpha * (before * u - rest * inverse), zero)
    store(planes, P_T + p, select(is_hit, before, after))
    store(planes, P_REST + p, rest + weight * u)
    return s, weight


@part
def extra_terms(planes: Any, p: int, extras: Any, e: int, count: int) -> Any:
    """The extra channels' share of u."""
    u = splat(ZERO)
    for k in range(count):
        u = u + load(planes, P_EXTRA + k * PLANE + p) * extras[e + k]
    return u


@part
def read_values(records: Any, r: int) -> Any:
    """(red, green, blue, depth, -, opacity) of a splat."""
    return (
        records[r + at.RED],
        records[r + at.GREEN],
        records[r + at.BLUE],
        records[r + at.DEPTH],
        ZERO,
        records[r + at.OPACITY],
    )


@part
def splat_gradient(
    planes: Any, records: Any, r: int, box: Any, position: Any, extras: Any, e: int, count: int, out: Any, slot: int
) -> None:
    """One splat's sums over one tile into out[slot ...]."""
    left, top, right, bottom = box
    values = read_values(records, r)
    a, b, c = records[r + at.CONIC_A], records[r + at.CONIC_B], records[r + at.CONIC_C]
    mean_x, mean_y = records[r + at.MEAN_X], records[r + at.MEAN_Y]
    zero = splat(ZERO)
    s_1, s_x, s_y, s_xx, s_xy, s_yy = zero, zero, zero, zero, zero, zero
    w_red, w_green, w_blue, w_depth = zero, zero, zero, zero
    first_row, end_row = row_range(records, r, top, bottom)
    for y in range(first_row, end_row):
        dy = np.float32(y) + HALF - mean_y
        first, end = row_span(records, r, dy, left, right)
        p = (y - top) * ROW + first - left
        for x in range(first, end, LANES):
            dx = lane_numbers() + (np.float32(x) + HALF - mean_x)
            u = extra_terms(planes, p, extras, e, count)
            s, weight = pixel_terms(planes, p, (a * dx + b * dy) * dx + c * dy * dy, position, values, u)
            sx, sy = s * dx, s * dy
            s_1, s_x, s_y = s_1 + s, s_x + sx, s_y + sy
            s_xx, s_xy, s_yy = s_xx + sx * dx, s_xy + sx * dy, s_yy + sy * dy
            w_red = w_red + weight * load(planes, P_RED + p)
            w_green = w_green + weight * load(planes, P_GREEN + p)
            w_blue = w_blue + weight * load(planes, P_BLUE + p)
            w_depth = w_depth + weight * load(planes, P_DEPTH + p)
            for k in range(count):
                o = slot + at.MOMENTS + k
                out[o] = out[o] + lane_sum(weight * load(planes, P_EXTRA + k * PLANE + p))
            p += LANES
    out[slot + at.M_1], out[slot + at.M_X], out[slot + at.M_Y] = lane_sum(s_1), lane_sum(s_x), lane_sum(s_y)
    out[slot + at.M_XX], out[slot + at.M_XY], out[slot + at.M_YY] = lane_sum(s_xx), lane_sum(s_xy), lane_sum(s_yy)
    out[slot + at.M_DEPTH], out[slot + at.M_RED] = lane_sum(w_depth), lane_sum(w_red)
    out[slot + at.M_GREEN], out[slot + at.M_BLUE] = lane_sum(w_green), lane_sum(w_blue)


@part
def tile_gradient(planes: Any, tile: int, box: Any, sizes: Any, inputs: Any, lists: Any, slots: Any, hits: Any) -> None:
    """All splats of one tile, back to front; splats behind the last blended one are marked as not hit."""
    start, end = lists.tile_starts[tile], lists.tile_starts[tile + 1]
    last = last_position(planes, end - start)
    for i in range(start + last, end):
        hits[lists.entries[2 * i + 1]] = 0
    for i in range(start + last - 1, start - 1, -1):
        s, slot = lists.entries[2 * i], lists.entries[2 * i + 1]
        e, o = (s % sizes.gaussians) * sizes.extras, slot * sizes.slot
        for k in range(sizes.extras):
            slots[o + at.MOMENTS + k] = ZERO
        hits[slot] = 1
        position = np.float32(i - start)
        splat_gradient(planes, lists.records, s * RECORD, box, position, inputs.extras, e, sizes.extras, slots, o)


@kernel
def differentiate_tiles(
    counter: Any,
    planes: Any,
    states: Any,
    sizes: Any,
    inputs: Any,
    lists: Any,
    images: Any,
    gradients: Any,
    slots: Any,
    hits: Any,
) -> None:
    """One worker's share of the backward pass over tiles."""
    counter, planes, states = counters(counter), floats(planes), floats(states)
    inputs, lists, images, gradients = open_inputs(inputs), open_lists(lists), open_images(images), open_images(gradients)
    slots, hits = floats(slots), octets(hits)
    tile_count = sizes.cameras * sizes.tiles_x * sizes.tiles_y
    while True:
        taken = atomic_take(counter, 1)
        if taken >= tile_count:
            break
        tile = lists.tile_order[taken]
        camera, box = tile_box(tile, sizes)
        for i in range(0, 2 * PLANE, LANES):
            store(planes, i, load(states, tile * 2 * PLANE + i))
        for i in range(P_REST, P_EXTRA + sizes.extras * PLANE, LANES):
            store(planes, i, splat(ZERO))
        read_gradients(planes, camera, box, sizes, images, gradients)
        tile_gradient(planes, tile, box, sizes, inputs, lists, slots, hits)
