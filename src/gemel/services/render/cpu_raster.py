"""Front-to-back blending of tiles on the CPU, forward. One worker draws one tile at a time.

For each splat of the tile (outer loop, nearest first) the rows that it touches, for each row the exact span of pixels
with alpha >= 1/255, in vectors of eight. The blending state of a tile (transmittance and channels) stays in the
first-level cache. A pixel that has met its last splat keeps its transmittance with a minus sign, so that one
comparison tells who is still open.

Conventions and thresholds are the reference's (reference.py).
"""

from typing import Any

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render import simd_operators
from gemel.services.render.cpu_compile import inlined, part
from gemel.services.render.cpu_exp import exp2_negative
from gemel.services.render.simd import (
    any_lane,
    lane_bits,
    lane_numbers,
    load,
    prefetch,
    select,
    splat,
    square_root,
    store,
    store_truncated,
)

minimum, maximum = simd_operators.minimum, simd_operators.maximum
LANES = at.LANES
ROW, PLANE, RECORD = at.ROW, at.PLANE, at.RECORD
ALPHA_MIN, ALPHA_MAX, TRANSMITTANCE_MIN = at.ALPHA_MIN, at.ALPHA_MAX, at.TRANSMITTANCE_MIN
P_T, P_STOP, P_RED, P_GREEN, P_BLUE, P_DEPTH, P_ALPHA, P_EXTRA = (k * PLANE for k in range(8))
NEVER = np.float32(16777216.0)  # no stop: 2^24, beyond any list position that float32 counts exactly
HALF, ZERO = np.float32(0.5), np.float32(0.0)
AHEAD = 8  # splats whose records are fetched ahead: half of them lie in another core's cache
CHECK_EVERY = 16  # splats between two looks whether the tile is full


@inlined
def row_range(records: Any, r: int, top: int, bottom: int) -> Any:
    """First row and end row (exclusive) that a splat touches within [top, bottom)."""
    centre, half = records[r + at.MEAN_Y] + HALF, records[r + at.HALF_HEIGHT]
    first = int(max(centre - half, np.float32(top)))
    end = int(min(max(centre + half, ZERO), np.float32(bottom)))
    return first, end


@inlined
def write_spans(spans: Any, records: Any, r: int, y: int, left: int, right: int) -> None:
    """Spans of the eight rows from y on: first pixels into spans[0:8], end pixels (exclusive) into spans[8:16].

    A span holds every pixel with alpha >= 1/255; `limit` is a little generous, the alpha test decides.
    """
    dy = lane_numbers() + (np.float32(y) + HALF - records[r + at.MEAN_Y])
    room = (records[r + at.LIMIT] - records[r + at.ROW_C] * dy * dy) * records[r + at.INVERSE_A]
    half = square_root(maximum(room, ZERO))
    centre = records[r + at.SLOPE] * dy + (records[r + at.MEAN_X] + HALF)
    store_truncated(spans, 0, maximum(centre - half, np.float32(left)))
    store_truncated(spans, LANES, minimum(maximum(centre + half, ZERO), np.float32(right)))


@inlined
def read_ink(records: Any, r: int, position: Any) -> Any:
    """(red, green, blue, depth, opacity, position in the tile's list) of a splat."""
    return (
        records[r + at.RED],
        records[r + at.GREEN],
        records[r + at.BLUE],
        records[r + at.DEPTH],
        records[r + at.OPACITY],
        position,
    )


@inlined
def blend_block(planes: Any, p: int, q: Any, ink: Any) -> Any:
    """Blend one splat into eight pixels whose state starts at p; returns the weights."""
    alpha = minimum(ink[4] * exp2_negative(q), ALPHA_MAX)
    before = load(planes, P_T + p)
    after = before * (np.float32(1.0) - alpha)
    is_hit = (alpha >= ALPHA_MIN) & (before > np.float32(0.0))
    is_open = after > TRANSMITTANCE_MIN
    weight = select(is_hit & is_open, before * alpha, splat(np.float32(0.0)))
    is_stop = is_hit & (~is_open)
    if any_lane(is_stop):
        store(planes, P_STOP + p, select(is_stop, splat(ink[5]), load(planes, P_STOP + p)))
    store(planes, P_T + p, select(is_hit, select(is_open, after, -before), before))
    store(planes, P_RED + p, load(planes, P_RED + p) + weight * ink[0])
    store(planes, P_GREEN + p, load(planes, P_GREEN + p) + weight * ink[1])
    store(planes, P_BLUE + p, load(planes, P_BLUE + p) + weight * ink[2])
    store(planes, P_DEPTH + p, load(planes, P_DEPTH + p) + weight * ink[3])
    store(planes, P_ALPHA + p, load(planes, P_ALPHA + p) + weight)
    return weight


@inlined
def blend_row(planes: Any, p: int, count: int, shape: Any, ink: Any, more: Any) -> None:
    """Blend one splat into `count` pixels of a row, from p on.

    shape = (a, dx of the first pixel, b dy, c dy^2); more = (extras, place of the splat's extras, how many).
    """
    a, dx_first, b_dy, c_dy_dy = shape
    extras, e, extra_count = more
    dx = lane_numbers() + dx_first
    for _ in range(0, count, LANES):
        weight = blend_block(planes, p, (a * dx + b_dy) * dx + c_dy_dy, ink)
        for k in range(extra_count):
            o = P_EXTRA + k * PLANE + p
            store(planes, o, load(planes, o) + weight * extras[e + k])
        dx = dx + np.float32(LANES)
        p += LANES


@inlined
def blend_splat(planes: Any, spans: Any, records: Any, r: int, box: Any, position: Any, more: Any) -> None:
    """Blend one splat into the tile whose pixel box is (left, top, right, bottom)."""
    left, top, right, bottom = box
    ink = read_ink(records, r, position)
    a, b, c = records[r + at.CONIC_A], records[r + at.CONIC_B], records[r + at.CONIC_C]
    first_row, end_row = row_range(records, r, top, bottom)
    for y in range(first_row, end_row):
        i = (y - first_row) % LANES
        if i == 0:
            write_spans(spans, records, r, y, left, right)
        first, count = spans[i], spans[i + LANES] - spans[i]
        dy = np.float32(y) + HALF - records[r + at.MEAN_Y]
        dx = np.float32(first) + HALF - records[r + at.MEAN_X]
        shape = (a, dx, b * dy, c * dy * dy)
        blend_row(planes, (y - top) * ROW + first - left, count, shape, ink, more)


@part
def clear_planes(planes: Any, box: Any, count: int) -> None:
    """A fresh tile: everything zero, transmittance one inside the image and zero (closed) outside."""
    left, top, right, bottom = box
    for i in range(0, (7 + count) * PLANE, LANES):
        store(planes, i, splat(np.float32(0.0)))
    for y in range(bottom - top):
        for x in range(right - left):
            planes[P_T + y * ROW + x] = np.float32(1.0)
    for i in range(PLANE):
        planes[P_STOP + i] = NEVER


@part
def is_full(planes: Any) -> bool:
    """Whether no pixel of the tile is open any more."""
    open_count = 0
    for i in range(0, PLANE, LANES):
        open_count += lane_bits(load(planes, P_T + i) > np.float32(0.0))
    return open_count == 0


@part
def tile_box(tile: int, sizes: Any) -> Any:
    """Camera and pixel box (left, top, right, bottom) of a tile, cut at the image's edges."""
    per_camera = sizes.tiles_x * sizes.tiles_y
    camera, rest = tile // per_camera, tile % per_camera
    left = (rest % sizes.tiles_x) * at.TILE_WIDTH
    top = (rest // sizes.tiles_x) * at.TILE_HEIGHT
    right, bottom = min(left + at.TILE_WIDTH, sizes.width), min(top + at.TILE_HEIGHT, sizes.height)
    return camera, (left, top, right, bottom)


@part
def blend_tile(planes: Any, spans: Any, tile: int, box: Any, scene: Any) -> None:
    """All splats of one tile, front to back, until every pixel is closed."""
    sizes, inputs, lists = scene
    start, end = lists.tile_starts[tile], lists.tile_starts[tile + 1]
    for i in range(start, end):
        if (i - start) % CHECK_EVERY == 0 and is_full(planes):
            break
        s = lists.entries[2 * i]
        prefetch(lists.records, lists.entries[2 * min(i + AHEAD, end - 1)] * RECORD, 0)
        e = (s % sizes.gaussians) * sizes.extras
        more = (inputs.extras, e, sizes.extras)
        blend_splat(planes, spans, lists.records, s * RECORD, box, np.float32(i - start), more)


@part
def write_tile(planes: Any, camera: int, box: Any, sizes: Any, images: Any) -> None:
    """Copy a finished tile into the images; depth becomes the expected depth."""
    left, top, right, bottom = box
    colour, alpha, depth, extras = images
    for y in range(top, bottom):
        for x in range(left, right):
            p = (y - top) * ROW + x - left
            pixel = (camera * sizes.height + y) * sizes.width + x
            covered = planes[P_ALPHA + p]
            colour[3 * pixel] = planes[P_RED + p]
            colour[3 * pixel + 1] = planes[P_GREEN + p]
            colour[3 * pixel + 2] = planes[P_BLUE + p]
            alpha[pixel] = covered
            depth[pixel] = planes[P_DEPTH + p] / max(covered, np.float32(1e-10))
            for k in range(sizes.extras):
                extras[sizes.extras * pixel + k] = planes[P_EXTRA + k * PLANE + p]


@part
def draw_task(task: int, spans: Any, planes: Any, states: Any, scene: Any, images: Any) -> None:
    """Draw one tile; `states` keeps its transmittance and stop positions for the backward pass."""
    sizes, lists = scene.sizes, scene.lists
    tile = lists.tile_order[task]
    camera, box = tile_box(tile, sizes)
    clear_planes(planes, box, sizes.extras)
    blend_tile(planes, spans, tile, box, scene)
    write_tile(planes, camera, box, sizes, images)
    for i in range(0, 2 * PLANE, LANES):
        store(states, tile * 2 * PLANE + i, load(planes, i))
