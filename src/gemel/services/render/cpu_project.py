"""Projection of Gaussians to splats on the CPU, forward: camera transform, EWA, low-pass filter, colour, tile box.

Eight Gaussians at a time; a worker takes chunks of `CHUNK` Gaussians of one camera. Fused into one kernel because
left to torch these steps cost 35-42 % of a frame in a prototype. Invisible splats get an empty tile box.
"""

from typing import Any

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render import cpu_project_math as ewa
from gemel.services.render import cpu_sh, simd_operators
from gemel.services.render.cpu_compile import part
from gemel.services.render.simd import any_lane, lane_bits, load, select, splat, split_power, square_root, store
from gemel.services.render.simd_fields import load_field, store_fields

minimum, maximum = simd_operators.minimum, simd_operators.maximum
LANES, RECORD, CAMERA, CHUNK = at.LANES, at.RECORD, at.CAMERA, at.CHUNK
TILE_WIDTH, TILE_HEIGHT = at.TILE_WIDTH, at.TILE_HEIGHT
ONE, HALF, ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)
# log2 on [1, 2), degree 4, error 0.9e-4, fitted for this file; the last one carries the surplus of 1e-3
LOG2_4, LOG2_3, LOG2_2 = np.float32(-0.08161733), np.float32(0.64515251), np.float32(-2.12070002)
LOG2_1, LOG2_0 = np.float32(4.07011731), np.float32(-2.51286498 + 1e-3)
HALF_LOG2E = np.float32(0.7213475204444817)  # alpha = opacity * exp(-d^2/2) = opacity * 2^-(HALF_LOG2E d^2)
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
    """A little more than log2 (by 0.8e-3 to 1.2e-3), for spans; the rasteriser's alpha test decides exactly."""
    m, e = split_power(value)
    p = ((LOG2_4 * m + LOG2_3) * m + LOG2_2) * m + LOG2_1
    return e + p * m + LOG2_0


@part
def shape_fields(mean: Any, cov: Any, inverse_det: Any, opacity: Any) -> Any:
    """The first eleven fields of eight records and the half width [px] of the visible ellipses."""
    xx, xy, yy = cov
    k = HALF_LOG2E * inverse_det
    limit = log2_above(maximum(opacity * np.float32(255.0), np.float32(1e-6)))
    area = maximum(limit * np.float32(1.0 / HALF_LOG2E), ZERO)
    a, inverse_yy = k * yy, ONE / yy
    low = (mean[0], mean[1], a, -(k + k) * xy, k * xx, opacity, limit, xy * inverse_yy)
    high = (HALF_LOG2E * inverse_yy, ONE / a, square_root(area * yy))
    return low, high, square_root(area * xx)


@part
def colour_fields(small: Any, camera: int, g: int, sizes: Any, inputs: Any, mean: Any) -> Any:
    """Eight Gaussians' colours as this camera sees them."""
    d = ewa.minus(mean, read_centre(inputs.cameras, camera))
    inverse = ONE / square_root(maximum(ewa.dot(d, d), np.float32(1e-24)))
    cpu_sh.write_basis(small, sizes.coefficients, ewa.scaled(inverse, d))
    r, gr, b = cpu_sh.colour(small, inputs.sh, g, sizes.gaussians, sizes.coefficients)
    return maximum(r, ZERO), maximum(gr, ZERO), maximum(b, ZERO)


@part
def write_rects(small: Any, scene: Any, camera: int, g: int, bits: int) -> None:
    """Turn eight pixel boxes into tile boxes (x first, y first, x end, y end); invisible ones become empty.

    Also counts the tiles of each splat into slot_starts, to be summed up later.
    """
    sizes, lists = scene.sizes, scene.lists
    rects, s, lanes = lists.rects, camera * sizes.gaussians + g, min(LANES, sizes.gaussians - g)
    for lane in range(lanes):
        o = 4 * (s + lane)
        x0, y0, x1, y1 = 0, 0, 0, 0
        if (bits >> lane) & 1:
            x0, y0 = int(small[BOXES + lane]) // TILE_WIDTH, int(small[BOXES + LANES + lane]) // TILE_HEIGHT
            x1 = int(small[BOXES + 2 * LANES + lane]) // TILE_WIDTH + 1
            y1 = int(small[BOXES + 3 * LANES + lane]) // TILE_HEIGHT + 1
        rects[o], rects[o + 1], rects[o + 2], rects[o + 3] = x0, y0, x1, y1
        lists.slot_starts[s + lane] = (x1 - x0) * (y1 - y0)


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
def project_block(small: Any, camera: int, g: int, scene: Any) -> None:
    """Project eight Gaussians, from number g on, into one camera."""
    sizes, inputs, lists = scene
    n = sizes.gaussians
    s, end = camera * n + g, (camera + 1) * n
    view = read_camera(inputs.cameras, camera)
    mean = read_vector(inputs.means, g, n)
    p = to_camera(view, mean)
    is_front = p[2] >= inputs.near_m
    inverse_z = ONE / select(is_front, p[2], splat(ONE))
    j0, j1, _, _ = ewa.world_jacobian(view, p, inverse_z)
    sharp = covariance_2d(inputs, g, n, sizes.has_covariances != 0, j0, j1)
    cov, _, after, factor = ewa.blurred(sharp, inputs.dilation_px2)
    if sizes.is_antialiased == 0:
        factor = splat(ONE)
    opacity = load_field(inputs.opacities, g, n, 1, 0) * factor
    is_visible = is_front & (after > ZERO) & (opacity >= at.ALPHA_MIN)
    if not any_lane(is_visible):
        write_rects(small, scene, camera, g, 0)
        return
    pixel = (view[2][0] * p[0] * inverse_z + view[2][2], view[2][1] * p[1] * inverse_z + view[2][3])
    low, high, half_width = shape_fields(pixel, cov, ONE / after, opacity)
    is_visible = is_visible & write_boxes(small, sizes, pixel, half_width, high[2])
    bits = lane_bits(is_visible)
    write_rects(small, scene, camera, g, bits)
    if bits != 0:
        colours = colour_fields(small, camera, g, sizes, inputs, mean)
        store_fields(lists.records, s, end, RECORD, 0, low)
        store_fields(lists.records, s, end, RECORD, LANES, (*high, p[2], *colours, factor))


@part
def flag(bad: Any, number: int, array: Any, start: int, end: int) -> None:
    """Raise flag `number` if a value in array[start:end] is not finite: zero times it is then not zero."""
    total = splat(ZERO)
    i = start
    while i + LANES <= end:
        total = total + load(array, i) * ZERO
        i += LANES
    if any_lane(~((total >= ZERO) & (total <= ZERO))):
        bad[number] = 1
    while i < end:
        if not np.isfinite(array[i]):
            bad[number] = 1
        i += 1


@part
def check_chunk(first: int, end: int, sizes: Any, inputs: Any, bad: Any) -> None:
    """Set a flag in bad[1..7] for each input that holds values which are not finite. Flags are only ever raised."""
    width = 3 * sizes.coefficients
    flag(bad, 1, inputs.means, 3 * first, 3 * end)
    if sizes.has_covariances != 0:
        flag(bad, 2, inputs.covariances, 9 * first, 9 * end)
    else:
        flag(bad, 3, inputs.quats, 4 * first, 4 * end)
        flag(bad, 4, inputs.scales, 3 * first, 3 * end)
    flag(bad, 5, inputs.opacities, first, end)
    flag(bad, 6, inputs.sh, width * first, width * end)
    flag(bad, 7, inputs.extras, sizes.extras * first, sizes.extras * end)


@part
def project_task(task: int, small: Any, bad: Any, scene: Any) -> None:
    """Project one chunk of Gaussians into one camera."""
    sizes, inputs = scene.sizes, scene.inputs
    n = sizes.gaussians
    chunks = (n + CHUNK - 1) // CHUNK
    camera, first = task // chunks, (task % chunks) * CHUNK
    end = min(first + CHUNK, n)
    if camera == 0:
        check_chunk(first, end, sizes, inputs, bad)
    for g in range(first, end, LANES):
        project_block(small, camera, g, scene)
