"""Projection of Gaussians to splats on the CPU, forward: camera transform, EWA, low-pass filter, colour, tile box.

Eight Gaussians at a time; a worker takes chunks of `CHUNK` Gaussians of one camera. Fused into one kernel because
left to torch these steps cost 35-42 % of a frame in a prototype. Invisible splats get an empty tile box.
"""

from math import ceil, floor
from typing import Any

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render import cpu_project_math as ewa
from gemel.services.render import cpu_sh, simd_operators
from gemel.services.render.cpu_compile import kernel, part
from gemel.services.render.cpu_open import open_inputs, open_lists
from gemel.services.render.simd import (
    any_lane,
    atomic_take,
    lane_bits,
    load,
    load_field,
    select,
    splat,
    split_power,
    square_root,
    store,
    store_field,
)
from gemel.services.render.simd_memory import counters, floats

minimum, maximum = simd_operators.minimum, simd_operators.maximum
LANES, RECORD, CAMERA, CHUNK = at.LANES, at.RECORD, at.CAMERA, at.CHUNK
ONE, HALF, ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)
HALF_LOG2E = np.float32(0.7213475204444817)  # alpha = opacity * exp(-d^2/2) = opacity * 2^-(HALF_LOG2E d^2)
SMALL_SCRATCH = 64 * LANES
"""Floats of a worker's small scratch: basis (16 vectors), slopes (16), colour gradient (3), boxes (4), spare."""
BOXES = 40 * LANES


@part
def read_camera(cameras: Any, camera: int) -> Any:
    """((rotation rows), translation, (fx, fy, cx, cy), (limits)) of one camera."""
    o = camera * CAMERA
    rows = (
        (cameras[o], cameras[o + 1], cameras[o + 2]),
        (cameras[o + 3], cameras[o + 4], cameras[o + 5]),
        (cameras[o + 6], cameras[o + 7], cameras[o + 8]),
    )
    translation = (cameras[o + 9], cameras[o + 10], cameras[o + 11])
    intrinsics = (cameras[o + 12], cameras[o + 13], cameras[o + 14], cameras[o + 15])
    limits = (cameras[o + 16], cameras[o + 17], cameras[o + 18], cameras[o + 19])
    return rows, translation, intrinsics, limits


@part
def read_centre(cameras: Any, camera: int) -> Any:
    """The camera's centre in the world."""
    o = camera * CAMERA + 20
    return cameras[o], cameras[o + 1], cameras[o + 2]


@part
def read_vector(array: Any, g: int, n: int) -> Any:
    """Three fields of eight records of three."""
    return load_field(array, g, n, 3, 0), load_field(array, g, n, 3, 1), load_field(array, g, n, 3, 2)


@part
def to_camera(camera: Any, mean: Any) -> Any:
    """World point to camera frame."""
    rows, t = camera[0], camera[1]
    return ewa.dot(mean, rows[0]) + t[0], ewa.dot(mean, rows[1]) + t[1], ewa.dot(mean, rows[2]) + t[2]


@part
def read_factors(inputs: Any, g: int, n: int) -> Any:
    """Rotation columns, scales, unit quaternion and inverse length of eight Gaussians."""
    q = (
        load_field(inputs.quats, g, n, 4, 0),
        load_field(inputs.quats, g, n, 4, 1),
        load_field(inputs.quats, g, n, 4, 2),
        load_field(inputs.quats, g, n, 4, 3),
    )
    unit, inverse = ewa.unit_quaternion(q)
    return ewa.rotation_columns(unit), read_vector(inputs.scales, g, n), unit, inverse


@part
def read_matrix(inputs: Any, g: int, n: int) -> Any:
    """The symmetric part (xx, xy, xz, yy, yz, zz) of eight full covariances."""
    c = inputs.covariances
    return (
        load_field(c, g, n, 9, 0),
        HALF * (load_field(c, g, n, 9, 1) + load_field(c, g, n, 9, 3)),
        HALF * (load_field(c, g, n, 9, 2) + load_field(c, g, n, 9, 6)),
        load_field(c, g, n, 9, 4),
        HALF * (load_field(c, g, n, 9, 5) + load_field(c, g, n, 9, 7)),
        load_field(c, g, n, 9, 8),
    )


@part
def covariance_2d(inputs: Any, g: int, n: int, has_covariances: bool, j0: Any, j1: Any) -> Any:
    """cov_2d (xx, xy, yy) before the low-pass filter."""
    if has_covariances:
        matrix = read_matrix(inputs, g, n)
        m0, m1 = ewa.apply_symmetric(matrix, j0), ewa.apply_symmetric(matrix, j1)
        return ewa.dot(j0, m0), ewa.dot(j0, m1), ewa.dot(j1, m1)
    columns, scales, _, _ = read_factors(inputs, g, n)
    xx, xy, yy, _, _ = ewa.factor_covariance(columns, scales, j0, j1)
    return xx, xy, yy


@part
def log2_above(value: Any) -> Any:
    """A little more than log2 (by at most 2e-3), for spans; the alpha test of the rasteriser decides exactly."""
    m, e = split_power(value)
    p = ((np.float32(-0.081615808) * m + np.float32(0.64514236)) * m - np.float32(2.1206751)) * m + np.float32(4.0700908)
    return e + p * m + np.float32(-2.5128546 + 1e-3)


@part
def write_shape(records: Any, s: int, end: int, mean: Any, cov: Any, inverse_det: Any, opacity: Any) -> Any:
    """Fill the geometric fields of eight records; returns half width and half height [px] of the visible ellipse."""
    xx, xy, yy = cov
    k = HALF_LOG2E * inverse_det
    limit = log2_above(maximum(opacity * np.float32(255.0), np.float32(1e-6)))
    half_width = square_root(maximum(limit * xx * np.float32(1.0 / HALF_LOG2E), ZERO))
    half_height = square_root(maximum(limit * yy * np.float32(1.0 / HALF_LOG2E), ZERO))
    store_field(records, s, end, RECORD, at.MEAN_X, mean[0])
    store_field(records, s, end, RECORD, at.MEAN_Y, mean[1])
    store_field(records, s, end, RECORD, at.CONIC_A, k * yy)
    store_field(records, s, end, RECORD, at.CONIC_B, -(k + k) * xy)
    store_field(records, s, end, RECORD, at.CONIC_C, k * xx)
    store_field(records, s, end, RECORD, at.OPACITY, opacity)
    store_field(records, s, end, RECORD, at.LIMIT, limit)
    store_field(records, s, end, RECORD, at.SLOPE, xy / yy)
    store_field(records, s, end, RECORD, at.ROW_C, HALF_LOG2E / yy)
    store_field(records, s, end, RECORD, at.INVERSE_A, ONE / (k * yy))
    store_field(records, s, end, RECORD, at.HALF_HEIGHT, half_height)
    return half_width, half_height


@part
def write_colour(small: Any, records: Any, place: Any, sizes: Any, inputs: Any, mean: Any) -> None:
    """Evaluate eight Gaussians' colours as this camera sees them. place = (camera, first Gaussian, splat, end)."""
    camera, g, s, end = place
    d = ewa.minus(mean, read_centre(inputs.cameras, camera))
    inverse = ONE / square_root(maximum(ewa.dot(d, d), np.float32(1e-24)))
    cpu_sh.write_basis(small, sizes.coefficients, ewa.scaled(inverse, d))
    r, gr, b = cpu_sh.colour(small, inputs.sh, g, sizes.gaussians, sizes.coefficients)
    store_field(records, s, end, RECORD, at.RED, maximum(r, ZERO))
    store_field(records, s, end, RECORD, at.GREEN, maximum(gr, ZERO))
    store_field(records, s, end, RECORD, at.BLUE, maximum(b, ZERO))


@part
def write_rects(small: Any, rects: Any, counts: Any, s: int, lanes: int, bits: int) -> None:
    """Turn eight pixel boxes into tile boxes (x first, y first, x end, y end); invisible ones become empty."""
    for lane in range(lanes):
        o = 4 * (s + lane)
        if (bits >> lane) & 1:
            rects[o] = int(small[BOXES + lane]) // at.TILE_WIDTH
            rects[o + 1] = int(small[BOXES + LANES + lane]) // at.TILE_HEIGHT
            rects[o + 2] = int(small[BOXES + 2 * LANES + lane]) // at.TILE_WIDTH + 1
            rects[o + 3] = int(small[BOXES + 3 * LANES + lane]) // at.TILE_HEIGHT + 1
        else:
            rects[o], rects[o + 1], rects[o + 2], rects[o + 3] = 0, 0, 0, 0


@part
def write_boxes(small: Any, sizes: Any, mean: Any, half_width: Any, half_height: Any) -> Any:
    """Put the pixel boxes, cut at the image, into the small scratch; returns who touches the image."""
    first_x, last_x = mean[0] - half_width - HALF, mean[0] + half_width - HALF
    first_y, last_y = mean[1] - half_height - HALF, mean[1] + half_height - HALF
    right, bottom = np.float32(sizes.width - 1), np.float32(sizes.height - 1)
    store(small, BOXES, maximum(first_x, ZERO))
    store(small, BOXES + LANES, maximum(first_y, ZERO))
    store(small, BOXES + 2 * LANES, minimum(last_x, right))
    store(small, BOXES + 3 * LANES, minimum(last_y, bottom))
    return (last_x >= ZERO) & (first_x <= right) & (last_y >= ZERO) & (first_y <= bottom)


@part
def project_block(small: Any, camera: int, g: int, sizes: Any, inputs: Any, lists: Any) -> None:
    """Project eight Gaussians, from number g on, into one camera."""
    n = sizes.gaussians
    s, end = camera * n + g, (camera + 1) * n
    view = read_camera(inputs.cameras, camera)
    mean = read_vector(inputs.means, g, n)
    p = to_camera(view, mean)
    is_front = p[2] >= inputs.near_m
    inverse_z = ONE / select(is_front, p[2], splat(ONE))
    j0, j1, _, _ = ewa.world_jacobian(view, p, inverse_z)
    sharp = covariance_2d(inputs, g, n, sizes.has_covariances != 0, j0, j1)
    cov, before, after, factor = ewa.blurred(sharp, inputs.dilation_px2)
    if sizes.is_antialiased == 0:
        factor = splat(ONE)
    opacity = load_field(inputs.opacities, g, n, 1, 0) * factor
    is_visible = is_front & (after > ZERO) & (opacity >= at.ALPHA_MIN)
    if not any_lane(is_visible):
        write_rects(small, lists.rects, lists.rects, s, min(LANES, n - g), 0)
        return
    pixel = (view[2][0] * p[0] * inverse_z + view[2][2], view[2][1] * p[1] * inverse_z + view[2][3])
    half_width, half_height = write_shape(lists.records, s, end, pixel, cov, ONE / after, opacity)
    is_visible = is_visible & write_boxes(small, sizes, pixel, half_width, half_height)
    bits = lane_bits(is_visible)
    write_rects(small, lists.rects, lists.rects, s, min(LANES, n - g), bits)
    if bits != 0:
        store_field(lists.records, s, end, RECORD, at.DEPTH, p[2])
        store_field(lists.records, s, end, RECORD, at.COMPENSATION, factor)
        write_colour(small, lists.records, (camera, g, s, end), sizes, inputs, mean)


@part
def count_bad(array: Any, start: int, end: int) -> int:
    """1 if a value in array[start:end] is not finite, else 0: zero times it is then not zero."""
    total = splat(ZERO)
    i = start
    while i + LANES <= end:
        total = total + load(array, i) * ZERO
        i += LANES
    bad = 0
    if any_lane(~((total >= ZERO) & (total <= ZERO))):
        bad = 1
    while i < end:
        if not np.isfinite(array[i]):
            bad = 1
        i += 1
    return bad


@part
def check_chunk(first: int, end: int, sizes: Any, inputs: Any, bad: Any) -> None:
    """Note in bad[0..5] which of means, shape, opacities, SH, extras hold values that are not finite."""
    width = 3 * sizes.coefficients
    bad[0] = bad[0] | count_bad(inputs.means, 3 * first, 3 * end)
    if sizes.has_covariances != 0:
        bad[1] = bad[1] | count_bad(inputs.covariances, 9 * first, 9 * end)
    else:
        bad[2] = bad[2] | count_bad(inputs.quats, 4 * first, 4 * end)
        bad[3] = bad[3] | count_bad(inputs.scales, 3 * first, 3 * end)
    bad[4] = bad[4] | count_bad(inputs.opacities, first, end)
    bad[5] = bad[5] | count_bad(inputs.sh, width * first, width * end)
    bad[6] = bad[6] | count_bad(inputs.extras, sizes.extras * first, sizes.extras * end)


@kernel
def project_chunks(counter: Any, small: Any, bad: Any, sizes: Any, inputs: Any, lists: Any) -> None:
    """One worker's share of the projection: take a chunk of Gaussians of one camera, project it, repeat."""
    counter, small, bad = counters(counter), floats(small), counters(bad)
    inputs, lists = open_inputs(inputs), open_lists(lists)
    n = sizes.gaussians
    chunks = (n + CHUNK - 1) // CHUNK
    while True:
        taken = atomic_take(counter, 1)
        if taken >= chunks * sizes.cameras:
            break
        camera, first = taken // chunks, (taken % chunks) * CHUNK
        end = min(first + CHUNK, n)
        if camera == 0:
            check_chunk(first, end, sizes, inputs, bad)
        for g in range(first, end, LANES):
            project_block(small, camera, g, sizes, inputs, lists)
