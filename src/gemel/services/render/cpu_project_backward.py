"""Gradients of the projection on the CPU: from the tiles' sums to Gaussians, camera poses and intrinsics.

Eight Gaussians at a time, all cameras one after the other, so that every Gaussian's gradient is added up by one worker
in one order. Camera gradients are summed per chunk of Gaussians; Python adds the chunks in order. The sums therefore
do not depend on how many threads took part.

Intrinsics need no sums of their own. Changing fx or cx is the same as scaling or shearing the camera frame
(x' = fx/fx0 x + (cx - cx0)/fx0 z), so their gradients follow from those of the rotation's rows (cpu_cameras.py).
"""

from typing import Any

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render import cpu_project_math as ewa
from gemel.services.render import cpu_sh, simd_operators
from gemel.services.render.cpu_compile import part
from gemel.services.render.cpu_project import (
    read_camera,
    read_centre,
    read_factors,
    read_matrix,
    read_vector,
    to_camera,
)
from gemel.services.render.simd import lane_sum, load, select, splat, square_root, store
from gemel.services.render.simd_fields import load_field, load_fields, store_field

maximum = simd_operators.maximum
LANES, RECORD, CHUNK, MOMENTS = at.LANES, at.RECORD, at.CHUNK, at.MOMENTS
ONE, ZERO = np.float32(1.0), np.float32(0.0)
SLOPES = 16 * LANES  # small scratch: SH basis, then slopes and colour gradient, then the block's moments
STAGE = 48 * LANES


@part
def stage_moments(small: Any, camera: int, g: int, scene: Any, slots: Any, out: Any) -> bool:
    """Add up the slots of eight splats into the small scratch (16 floats each); False if none was hit.

    out takes the extra channels' sums.
    """
    sizes, _, lists = scene
    s, lanes = camera * sizes.gaussians + g, min(LANES, sizes.gaussians - g)
    is_any = False
    for lane in range(LANES):
        low, high = splat(ZERO), splat(ZERO)
        if lane < lanes:
            for slot in range(lists.slot_starts[s + lane], lists.slot_starts[s + lane + 1]):
                if slots[slot * sizes.slot + at.M_HIT] != ZERO:
                    is_any = True
                    low = low + load(slots, slot * sizes.slot)
                    high = high + load(slots, slot * sizes.slot + LANES)
                    for k in range(sizes.extras):
                        o = (g + lane) * sizes.extras + k
                        out[o] = out[o] + slots[slot * sizes.slot + MOMENTS + k]
        store(small, STAGE + lane * MOMENTS, low)
        store(small, STAGE + lane * MOMENTS + LANES, high)
    return is_any


@part
def read_moments(small: Any) -> Any:
    """The staged sums of eight splats: fields 0 to 7 and 8 to 15 of cpu_layout's moments."""
    first, end = STAGE // MOMENTS, STAGE // MOMENTS + LANES
    return load_fields(small, first, end, MOMENTS, 0), load_fields(small, first, end, MOMENTS, LANES)


@part
def colour_gradient(small: Any, place: Any, scene: Any, mean: Any, slopes: Any, out: Any) -> Any:
    """Gradients of the SH coefficients (into out) and of the view direction's end points; returns dL/dmean.

    place = (camera, first Gaussian, whether this is the first camera that hit); slopes = dL/d(red, green, blue).
    """
    sizes, inputs, lists = scene
    n, (camera, g, is_first) = sizes.gaussians, place
    s, end = camera * n + g, (camera + 1) * n
    for channel in range(3):
        is_lit = load_field(lists.records, s, end, RECORD, at.RED + channel) > ZERO
        store(small, SLOPES + (16 + channel) * LANES, select(is_lit, slopes[channel], splat(ZERO)))
    d = ewa.minus(mean, read_centre(inputs.cameras, camera))
    inverse = ONE / square_root(maximum(ewa.dot(d, d), np.float32(1e-24)))
    unit = ewa.scaled(inverse, d)
    cpu_sh.write_basis(small, sizes.coefficients, unit)
    cpu_sh.coefficient_gradient(small, SLOPES, (g, n, sizes.coefficients), inputs.sh, out, is_first)
    if sizes.coefficients == 1:
        return splat(ZERO), splat(ZERO), splat(ZERO)
    slope = cpu_sh.direction_gradient(small, SLOPES, unit, sizes.coefficients)
    return ewa.scaled(inverse, ewa.minus(slope, ewa.scaled(ewa.dot(slope, unit), unit)))


@part
def shape_gradient(inputs: Any, g: int, sizes: Any, moments: Any, j0: Any, j1: Any) -> Any:
    """dL/dj0, dL/dj1, dL/dmean_2d, nine shape gradients (rotation columns or covariance rows), dL/dscales."""
    n, one = sizes.gaussians, moments[0]
    if sizes.has_covariances != 0:
        matrix = read_matrix(inputs, g, n)
        m0, m1 = ewa.apply_symmetric(matrix, j0), ewa.apply_symmetric(matrix, j1)
        sharp = (ewa.dot(j0, m0), ewa.dot(j0, m1), ewa.dot(j1, m1))
        cov_gradient, mx, my = sharp_gradient(sharp, inputs.dilation_px2, moments, sizes.is_antialiased)
        d_j0, d_j1, nine = ewa.matrix_rows_gradient(matrix, cov_gradient, j0, j1)
        return d_j0, d_j1, mx, my, nine, (one, one, one)
    columns, scales, _, _ = read_factors(inputs, g, n)
    xx, xy, yy, l0, l1 = ewa.factor_covariance(columns, scales, j0, j1)
    cov_gradient, mx, my = sharp_gradient((xx, xy, yy), inputs.dilation_px2, moments, sizes.is_antialiased)
    d_j0, d_j1, nine, d_scales = ewa.factor_rows_gradient(columns, scales, (l0, l1), cov_gradient, j0, j1)
    return d_j0, d_j1, mx, my, nine, d_scales


@part
def sharp_gradient(sharp: Any, dilation: Any, moments: Any, is_antialiased: int) -> Any:
    """dL/d(cov_2d before the low-pass filter) and dL/dmean_2d; finite for invisible lanes, whose moments are zero."""
    cov, before, after, _ = ewa.blurred(sharp, dilation)
    inverse = ONE / select(after > ZERO, after, splat(ONE))
    gradient, mx, my = ewa.covariance_gradient((cov[0], cov[1], cov[2], inverse), moments)
    if is_antialiased != 0:
        safe = select(before > after * np.float32(1e-12), before, select(after > ZERO, after, splat(ONE)))
        gradient = ewa.plus(gradient, ewa.factor_gradient(sharp, cov, safe, inverse, moments[0]))
    return gradient, mx, my


@part
def add_camera_sums(sums: Any, camera: int, mean: Any, dp: Any, rows: Any, d_centre: Any) -> None:
    """Add eight Gaussians' gradients of one camera's rotation, translation and centre, lane by lane."""
    o = camera * at.CAMERA_SUMS * LANES
    for i in range(3):
        d_row = ewa.plus(ewa.scaled(dp[i], mean), rows[i])
        for k in range(3):
            at_k = o + (3 * i + k) * LANES
            store(sums, at_k, load(sums, at_k) + d_row[k])
        store(sums, o + (9 + i) * LANES, load(sums, o + (9 + i) * LANES) + dp[i])
        store(sums, o + (12 + i) * LANES, load(sums, o + (12 + i) * LANES) - d_centre[i])


@part
def camera_gradient(small: Any, sums: Any, place: Any, scene: Any, outputs: Any) -> Any:
    """One camera's share of eight Gaussians' gradients: dL/dmean, dL/dopacity, nine shape gradients, dL/dscales.

    place = (camera, first Gaussian, whether this is the first camera that hit).
    """
    sizes, inputs = scene.sizes, scene.inputs
    n, (camera, g, _) = sizes.gaussians, place
    view = read_camera(inputs.cameras, camera)
    mean = read_vector(inputs.means, g, n)
    p = to_camera(view, mean)
    inverse_z = ONE / select(p[2] >= inputs.near_m, p[2], splat(ONE))
    j0, j1, u, v = ewa.world_jacobian(view, p, inverse_z)
    low, high = read_moments(small)
    moments = (low[at.M_1], low[at.M_X], low[at.M_Y], low[at.M_XX], low[at.M_XY], low[at.M_YY])
    d_j0, d_j1, mx, my, nine, d_scales = shape_gradient(inputs, g, sizes, moments, j0, j1)
    flow = (d_j0, d_j1, mx, my, low[at.M_DEPTH])
    dp, row0, row1, row2 = ewa.jacobian_gradient(view, p, inverse_z, (j0, j1, u, v), flow)
    slopes = (low[at.M_RED], high[at.M_GREEN - LANES], high[at.M_BLUE - LANES])
    d_view = colour_gradient(small, place, scene, mean, slopes, outputs.sh)
    add_camera_sums(sums, camera, mean, dp, (row0, row1, row2), d_view)
    rows = view[0]
    d_mean = ewa.plus(ewa.scaled(dp[0], rows[0]), ewa.scaled(dp[1], rows[1]))
    d_mean = ewa.plus(ewa.plus(d_mean, ewa.scaled(dp[2], rows[2])), d_view)
    opacity = load_field(inputs.opacities, g, n, 1, 0)
    d_opacity = moments[0] / select(opacity > ZERO, opacity, splat(ONE))
    return d_mean, d_opacity, nine, d_scales


@part
def write_vector(array: Any, g: int, n: int, stride: int, offset: int, value: Any) -> None:
    """Three neighbouring fields of eight records."""
    store_field(array, g, n, stride, offset, value[0])
    store_field(array, g, n, stride, offset + 1, value[1])
    store_field(array, g, n, stride, offset + 2, value[2])


@part
def write_block(g: int, sizes: Any, inputs: Any, outputs: Any, total: Any) -> None:
    """Write eight Gaussians' gradients, summed over cameras."""
    n = sizes.gaussians
    d_mean, d_opacity, nine, d_scales = total
    write_vector(outputs.means, g, n, 3, 0, d_mean)
    store_field(outputs.opacities, g, n, 1, 0, d_opacity)
    if sizes.has_covariances != 0:
        for i in range(3):
            write_vector(outputs.covariances, g, n, 9, 3 * i, nine[i])
        return
    write_vector(outputs.scales, g, n, 3, 0, d_scales)
    _, _, unit, inverse = read_factors(inputs, g, n)
    d_quat = ewa.quaternion_gradient(unit, inverse, nine[0], nine[1], nine[2])
    for k in range(4):
        store_field(outputs.quats, g, n, 4, k, d_quat[k])


@part
def added(a: Any, b: Any) -> Any:
    """Sum of two results of camera_gradient."""
    nine = (ewa.plus(a[2][0], b[2][0]), ewa.plus(a[2][1], b[2][1]), ewa.plus(a[2][2], b[2][2]))
    return ewa.plus(a[0], b[0]), a[1] + b[1], nine, ewa.plus(a[3], b[3])


@part
def block_gradient(small: Any, sums: Any, g: int, scene: Any, slots: Any, outputs: Any) -> None:
    """Gradients of eight Gaussians over all cameras."""
    sizes, inputs = scene.sizes, scene.inputs
    n = sizes.gaussians
    lanes = min(LANES, n - g)
    for i in range(g * sizes.extras, (g + lanes) * sizes.extras):
        outputs.extras[i] = ZERO
    zero = splat(ZERO)
    none = (zero, zero, zero)
    total = (none, zero, (none, none, none), none)
    is_first = True
    for camera in range(sizes.cameras):
        if stage_moments(small, camera, g, scene, slots, outputs.extras):
            place = (camera, g, is_first)
            total = added(total, camera_gradient(small, sums, place, scene, outputs))
            is_first = False
    if is_first:
        for i in range(3 * sizes.coefficients * g, 3 * sizes.coefficients * (g + lanes)):
            outputs.sh[i] = ZERO
    write_block(g, sizes, inputs, outputs, total)


@part
def chunk_task(task: int, scratch: Any, scene: Any, slots: Any, outputs: Any, partials: Any) -> None:
    """Gradients of one chunk of Gaussians; its camera sums go to partials, shape (chunks, cameras, 16).

    scratch = (small scratch, camera sums).
    """
    small, sums = scratch
    sizes = scene.sizes
    for i in range(sizes.cameras * at.CAMERA_SUMS):
        store(sums, i * LANES, splat(ZERO))
    for g in range(task * CHUNK, min((task + 1) * CHUNK, sizes.gaussians), LANES):
        block_gradient(small, sums, g, scene, slots, outputs)
    for i in range(sizes.cameras * at.CAMERA_SUMS):
        partials[task * sizes.cameras * at.CAMERA_SUMS + i] = lane_sum(load(sums, i * LANES))
