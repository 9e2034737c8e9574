"""Front-to-back blending of tiles on the CPU, forward. One worker draws one tile at a time.

For each splat of the tile (outer loop, nearest first) the rows that it touches, for each row the exact span of pixels
with alpha >= 1/255, in vectors of eight. The blending state of a tile (transmittance and channels) stays in the
first-level cache. A pixel that has met its last splat keeps its transmittance with a minus sign, so that one
comparison tells who is still open.

Conventions and thresholds are the reference's (reference.py).
"""

from math import ceil, floor
from typing import Any

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render import simd_operators
from gemel.services.render.cpu_compile import kernel, part
from gemel.services.render.cpu_exp import exp2_negative
from gemel.services.render.cpu_open import open_images, open_inputs, open_lists
from gemel.services.render.simd import (
    any_lane,
    atomic_take,
    lane_numbers,
    load,
    select,
    splat,
    square_root,
    store,
)
from gemel.services.render.simd_memory import counters, floats

minimum = simd_operators.minimum
LANES = at.LANES
ROW, PLANE, RECORD = at.ROW, at.PLANE, at.RECORD
ALPHA_MIN, ALPHA_MAX, TRANSMITTANCE_MIN = at.ALPHA_MIN, at.ALPHA_MAX, at.TRANSMITTANCE_MIN
P_T, P_STOP, P_RED, P_GREEN, P_BLUE, P_DEPTH, P_EXTRA = 0, PLANE, 2 * PLANE, 3 * PLANE, 4 * PLANE, 5 * PLANE, 6 * PLANE
NEVER = np.float32(16777216.0)  # no stop: 2^24, beyond any list position that float32 counts exactly
SPAN_SLACK = np.float32(1e-4)  # widens spans beyond rounding; the alpha test decides
CHECK_EVERY = 16  # splats between two looks whether the tile is full


@part
def row_range(records: Any, r: int, top: int, bottom: int) -> Any:
    """First row and end row (exclusive) that a splat touches within [top, bottom)."""
    mean_y, half = records[r + at.MEAN_Y], records[r + at.HALF_HEIGHT]
    first = max(top, int(ceil(max(mean_y - half - np.float32(0.5), np.float32(-1.0)))))
    end = min(bottom, int(floor(min(mean_y + half - np.float32(0.5), np.float32(1e6)))) + 1)
    return first, end


@part
def row_span(records: Any, r: int, dy: Any, left: int, right: int) -> Any:
    """First pixel and end pixel (exclusive) of a splat's span on the row at distance dy, within [left, right)."""
    room = (records[r + at.LIMIT] + SPAN_SLACK - records[r + at.ROW_C] * dy * dy) * records[r + at.INVERSE_A]
    half = square_root(max(room, np.float32(0.0)))
    centre = records[r + at.MEAN_X] + records[r + at.SLOPE] * dy - np.float32(0.5)
    first = max(left, int(ceil(max(centre - half, np.float32(-1.0)))))
    end = min(right, int(floor(min(centre + half, np.float32(1e6)))) + 1)
    return first, end


@part
def blend_block(planes: Any, p: int, q: Any, position: Any, colour: Any, limits: Any) -> Any:
    """Blend one splat into eight pixels whose state starts at p; returns the weights."""
    alpha = minimum(colour[4] * exp2_negative(q), ALPHA_MAX)
    before = load(planes, P_T + p)
    after = before * (np.float32(1.0) - alpha)
    is_hit = (alpha >= ALPHA_MIN) & (before > np.float32(0.0))
    is_open = after > TRANSMITTANCE_MIN
    weight = select(is_hit & is_open, before * alpha, splat(np.float32(0.0)))
    is_stop = is_hit & (~is_open)
    if any_lane(is_stop):
        store(planes, P_STOP + p, select(is_stop, splat(position), load(planes, P_STOP + p)))
    store(planes, P_T + p, select(is_hit, select(is_open, after, -before), before))
    store(planes, P_RED + p, load(planes, P_RED + p) + weight * colour[0])
    store(planes, P_GREEN + p, load(planes, P_GREEN + p) + weight * colour[1])
    store(planes, P_BLUE + p, load(planes, P_BLUE + p) + weight * colour[2])
    store(planes, P_DEPTH + p, load(planes, P_DEPTH + p) + weight * colour[3])
    return weight


@part
def blend_splat(planes: Any, records: Any, r: int, box: Any, position: Any, extras: Any, e: int, count: int) -> None:
    """Blend one splat into the tile whose pixel box is (left, top, right, bottom)."""
    left, top, right, bottom = box
    colour = (
        records[r + at.RED], records[r + at.GREEN], records[r + at.BLUE], records[r + at.DEPTH], records[r + at.OPACITY],
    )
    a, b, c = records[r + at.CONIC_A], records[r + at.CONIC_B], records[r + at.CONIC_C]
    mean_x, mean_y = records[r + at.MEAN_X], records[r + at.MEAN_Y]
    first_row, end_row = row_range(records, r, top, bottom)
    for y in range(first_row, end_row):
        dy = np.float32(y) + np.float32(0.5) - mean_y
        first, end = row_span(records, r, dy, left, right)
        p = (y - top) * ROW + first - left
        for x in range(first, end, LANES):
            dx = lane_numbers() + (np.float32(x) + np.float32(0.5) - mean_x)
            weight = blend_block(planes, p, (a * dx + b * dy) * dx + c * dy * dy, position, colour, 0)
            for k in range(count):
                store(planes, P_EXTRA + k * PLANE + p, load(planes, P_EXTRA + k * PLANE + p) + weight * extras[e + k])
            p += LANES


@part
def clear_planes(planes: Any, box: Any, count: int) -> None:
    """A fresh tile: everything zero, transmittance one inside the image and zero (closed) outside."""
    left, top, right, bottom = box
    for i in range(0, (6 + count) * PLANE, LANES):
        store(planes, i, splat(np.float32(0.0)))
    for y in range(bottom - top):
        for x in range(right - left):
            planes[P_T + y * ROW + x] = np.float32(1.0)
    for i in range(PLANE):
        planes[P_STOP + i] = NEVER


@part
def is_full(planes: Any) -> bool:
    """Whether no pixel of the tile is open any more."""
    for i in range(0, PLANE, LANES):
        if any_lane(load(planes, P_T + i) > np.float32(0.0)):
            return False
    return True


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
def blend_tile(planes: Any, tile: int, box: Any, sizes: Any, inputs: Any, lists: Any) -> None:
    """All splats of one tile, front to back, until every pixel is closed."""
    start, end = lists.tile_starts[tile], lists.tile_starts[tile + 1]
    for i in range(start, end):
        if (i - start) % CHECK_EVERY == 0 and is_full(planes):
            break
        s = lists.entries[2 * i]
        e = (s % sizes.gaussians) * sizes.extras
        blend_splat(planes, lists.records, s * RECORD, box, np.float32(i - start), inputs.extras, e, sizes.extras)


@part
def write_tile(planes: Any, camera: int, box: Any, sizes: Any, images: Any) -> None:
    """Copy a finished tile into the images; depth becomes the expected depth."""
    left, top, right, bottom = box
    colour, alpha, depth, extras = images
    for y in range(top, bottom):
        for x in range(left, right):
            p = (y - top) * ROW + x - left
            pixel = (camera * sizes.height + y) * sizes.width + x
            covered = np.float32(1.0) - abs(planes[P_T + p])
            colour[3 * pixel] = planes[P_RED + p]
            colour[3 * pixel + 1] = planes[P_GREEN + p]
            colour[3 * pixel + 2] = planes[P_BLUE + p]
            alpha[pixel] = covered
            depth[pixel] = planes[P_DEPTH + p] / max(covered, np.float32(1e-10))
            for k in range(sizes.extras):
                extras[sizes.extras * pixel + k] = planes[P_EXTRA + k * PLANE + p]


@kernel
def draw_tiles(counter: Any, planes: Any, states: Any, sizes: Any, inputs: Any, lists: Any, images: Any) -> None:
    """One worker's share of the forward pass: take the fullest tile that nobody has taken, draw it, repeat.

    `states` keeps transmittance and stop position of every tile for the backward pass.
    """
    counter, planes, states = counters(counter), floats(planes), floats(states)
    inputs, lists, images = open_inputs(inputs), open_lists(lists), open_images(images)
    tile_count = sizes.cameras * sizes.tiles_x * sizes.tiles_y
    while True:
        taken = atomic_take(counter, 1)
        if taken >= tile_count:
            break
        tile = lists.tile_order[taken]
        camera, box = tile_box(tile, sizes)
        clear_planes(planes, box, sizes.extras)
        blend_tile(planes, tile, box, sizes, inputs, lists)
        write_tile(planes, camera, box, sizes, images)
        for i in range(0, 2 * PLANE, LANES):
            store(states, tile * 2 * PLANE + i, load(planes, i))
