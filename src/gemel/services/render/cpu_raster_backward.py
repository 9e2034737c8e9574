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
from gemel.services.render.cpu_compile import inlined, part
from gemel.services.render.cpu_exp import exp2_negative
from gemel.services.render.cpu_raster import AHEAD, read_ink, row_range, tile_box, write_spans
from gemel.services.render.simd import lane_numbers, lane_sum, lane_sums, load, prefetch, select, splat, store

minimum = simd_operators.minimum
LANES, ROW, PLANE, RECORD = at.LANES, at.ROW, at.PLANE, at.RECORD
ONE, ZERO, HALF = np.float32(1.0), np.float32(0.0), np.float32(0.5)
EIGHTH = np.float32(0.125)  # eight of them make the hit flag
P_T, P_STOP, P_REST = 0, PLANE, 2 * PLANE
P_ALPHA, P_RED, P_GREEN, P_BLUE, P_DEPTH, P_MEAN, P_EXTRA = (k * PLANE for k in range(3, 10))


@part
def read_gradients(planes: Any, camera: int, box: Any, sizes: Any, images: Any, gradients: Any) -> None:
    """dL/dimage of one tile into planes; the expected depth D / alpha moves by (z - depth) / alpha."""
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
            planes[P_ALPHA + p] = g_alpha[pixel]
            planes[P_MEAN + p] = depth[pixel]
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


@inlined
def extra_terms(planes: Any, p: int, more: Any) -> Any:
    """The extra channels' share of u. more = (extras, place of the splat's extras, how many, slots, slot)."""
    extras, e, count = more[0], more[1], more[2]
    u = splat(ZERO)
    for k in range(count):
        u = u + load(planes, P_EXTRA + k * PLANE + p) * extras[e + k]
    return u


@inlined
def add_extra_gradients(planes: Any, p: int, weight: Any, more: Any) -> None:
    """Add weight * dL/dchannel of the extra channels to the splat's slot."""
    count, slots, slot = more[2], more[3], more[4]
    for k in range(count):
        o = slot + at.MOMENTS + k
        slots[o] = slots[o] + lane_sum(weight * load(planes, P_EXTRA + k * PLANE + p))


@inlined
def block_terms(planes: Any, p: int, q: Any, ink: Any, more: Any) -> Any:
    """(s, weight * dL/d(red, green, blue, depth)) of eight pixels; updates transmittance and what lies behind."""
    raw = ink[4] * exp2_negative(q)
    alpha = minimum(raw, at.ALPHA_MAX)
    is_hit = (alpha >= at.ALPHA_MIN) & (load(planes, P_STOP + p) > ink[5])
    inverse = ONE / (ONE - alpha)
    after, rest = load(planes, P_T + p), load(planes, P_REST + p)
    before = after * inverse
    red, green, blue = load(planes, P_RED + p), load(planes, P_GREEN + p), load(planes, P_BLUE + p)
    depth = load(planes, P_DEPTH + p)
    u = load(planes, P_ALPHA + p) + depth * (ink[3] - load(planes, P_MEAN + p))
    u = u + red * ink[0] + green * ink[1] + blue * ink[2] + extra_terms(planes, p, more)
    zero = splat(ZERO)
    weight = select(is_hit, before * alpha, zero)
    s = select(is_hit & (raw <= at.ALPHA_MAX), alpha * (before * u - rest * inverse), zero)
    store(planes, P_T + p, select(is_hit, before, after))
    store(planes, P_REST + p, rest + weight * u)
    add_extra_gradients(planes, p, weight, more)
    return s, weight * red, weight * green, weight * blue, weight * depth


@inlined
def row_terms(planes: Any, p: int, count: int, shape: Any, ink: Any, more: Any, sums: Any) -> Any:
    """Add one row's terms to the running sums: s, s dx, s dx^2, red, green, blue, depth."""
    a, dx_first, b_dy, c_dy_dy = shape
    s_1, s_x, s_xx, red, green, blue, depth = sums
    dx = lane_numbers() + dx_first
    for _ in range(0, count, LANES):
        q = (a * dx + b_dy) * dx + c_dy_dy
        s, w_red, w_green, w_blue, w_depth = block_terms(planes, p, q, ink, more)
        sx = s * dx
        s_1, s_x, s_xx = s_1 + s, s_x + sx, s_xx + sx * dx
        red, green, blue, depth = red + w_red, green + w_green, blue + w_blue, depth + w_depth
        dx = dx + np.float32(LANES)
        p += LANES
    return s_1, s_x, s_xx, red, green, blue, depth


@inlined
def splat_gradient(planes: Any, spans: Any, records: Any, r: int, box: Any, position: Any, more: Any) -> None:
    """One splat's sums over one tile into its slot."""
    left, top, right, bottom = box
    ink = read_ink(records, r, position)
    a, b, c = records[r + at.CONIC_A], records[r + at.CONIC_B], records[r + at.CONIC_C]
    zero = splat(ZERO)
    s_1, s_x, s_xx, red, green, blue, depth = zero, zero, zero, zero, zero, zero, zero
    s_y, s_xy, s_yy = zero, zero, zero
    first_row, end_row = row_range(records, r, top, bottom)
    for y in range(first_row, end_row):
        i = (y - first_row) % LANES
        if i == 0:
            write_spans(spans, records, r, y, left, right)
        first, count = spans[i], spans[i + LANES] - spans[i]
        dy = np.float32(y) + HALF - records[r + at.MEAN_Y]
        shape = (a, np.float32(first) + HALF - records[r + at.MEAN_X], b * dy, c * dy * dy)
        sums = (zero, zero, s_xx, red, green, blue, depth)
        p = (y - top) * ROW + first - left
        t_1, t_x, s_xx, red, green, blue, depth = row_terms(planes, p, count, shape, ink, more, sums)
        s_1, s_x = s_1 + t_1, s_x + t_x
        s_y, s_xy, s_yy = s_y + t_1 * dy, s_xy + t_x * dy, s_yy + t_1 * (dy * dy)
    store(more[3], more[4], lane_sums((s_1, s_x, s_y, s_xx, s_xy, s_yy, depth, red)))
    store(more[3], more[4] + LANES, lane_sums((green, blue, zero, zero, zero, zero, zero, splat(EIGHTH))))


@part
def tile_gradient(planes: Any, spans: Any, tile: int, box: Any, scene: Any, slots: Any) -> None:
    """All splats of one tile, back to front; splats behind the last blended one are marked as not hit."""
    sizes, inputs, lists = scene
    start, end = lists.tile_starts[tile], lists.tile_starts[tile + 1]
    last = last_position(planes, end - start)
    for i in range(start + last, end):
        slots[lists.entries[2 * i + 1] * sizes.slot + at.M_HIT] = ZERO
    for i in range(start + last - 1, start - 1, -1):
        s, slot = lists.entries[2 * i], lists.entries[2 * i + 1]
        ahead = max(i - AHEAD, start)
        prefetch(lists.records, lists.entries[2 * ahead] * RECORD, 0)
        prefetch(slots, lists.entries[2 * ahead + 1] * sizes.slot, 1)
        e, o = (s % sizes.gaussians) * sizes.extras, slot * sizes.slot
        for k in range(sizes.extras):
            slots[o + at.MOMENTS + k] = ZERO
        position = np.float32(i - start)
        more = (inputs.extras, e, sizes.extras, slots, o)
        splat_gradient(planes, spans, lists.records, s * RECORD, box, position, more)


@part
def tile_task(
    task: int,
    spans: Any,
    planes: Any,
    states: Any,
    scene: Any,
    pictures: Any,
    slots: Any,
) -> None:
    """Gradients of one tile. pictures = (images, their gradients)."""
    sizes, lists = scene.sizes, scene.lists
    tile = lists.tile_order[task]
    camera, box = tile_box(tile, sizes)
    for i in range(0, 2 * PLANE, LANES):
        store(planes, i, load(states, tile * 2 * PLANE + i))
    for i in range(P_REST, P_EXTRA + sizes.extras * PLANE, LANES):
        store(planes, i, splat(ZERO))
    read_gradients(planes, camera, box, sizes, pictures[0], pictures[1])
    tile_gradient(planes, spans, tile, box, scene, slots)
