"""The formulas of EWA projection and their derivatives, for eight Gaussians at once (or for plain numbers).

Source: Zwicker et al., "EWA splatting", 2002; the perspective Jacobian is taken at the mean, clamped to 1.15 times the
half field of view beyond the image's edge like the reference (reference.py).

Notation: the 2x3 matrix with rows j0, j1 is the derivative of the pixel position with respect to the *world* position,
so that cov_2d = [j0; j1] cov_world [j0; j1]^T. With cov_world = B B^T (B = rotation times scales) the rows l0 = j0 B
and l1 = j1 B are all that is needed. Every function returns a flat tuple; 3-vectors are tuples of three.
"""

from typing import Any

import numpy as np

from gemel.services.render import simd_operators
from gemel.services.render.cpu_compile import part
from gemel.services.render.simd import select, splat, square_root

minimum, maximum = simd_operators.minimum, simd_operators.maximum
ONE, TWO, HALF = np.float32(1.0), np.float32(2.0), np.float32(0.5)


@part
def dot(a: Any, b: Any) -> Any:
    """a . b of 3-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def scaled(k: Any, a: Any) -> Any:
    """k a of a 3-vector."""
    return k * a[0], k * a[1], k * a[2]


@part
def plus(a: Any, b: Any) -> Any:
    """a + b of 3-vectors."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@part
def minus(a: Any, b: Any) -> Any:
    """a - b of 3-vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@part
def unit_quaternion(q: Any) -> Any:
    """wxyz of length one and the inverse length; the zero quaternion stays zero (its rotation is the identity)."""
    inverse = ONE / square_root(maximum(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], np.float32(1e-24)))
    return (q[0] * inverse, q[1] * inverse, q[2] * inverse, q[3] * inverse), inverse


@part
def rotation_columns(q: Any) -> Any:
    """The three columns of the rotation matrix of a unit quaternion wxyz."""
    w, x, y, z = q
    return (
        (ONE - TWO * (y * y + z * z), TWO * (x * y + w * z), TWO * (x * z - w * y)),
        (TWO * (x * y - w * z), ONE - TWO * (x * x + z * z), TWO * (y * z + w * x)),
        (TWO * (x * z + w * y), TWO * (y * z - w * x), ONE - TWO * (x * x + y * y)),
    )


@part
def quaternion_gradient(q: Any, inverse: Any, c0: Any, c1: Any, c2: Any) -> Any:
    """dL/d(raw quaternion) from the gradients c0, c1, c2 of the rotation's columns."""
    w, x, y, z = q
    gw = TWO * (z * (c0[1] - c1[0]) + y * (c2[0] - c0[2]) + x * (c1[2] - c2[1]))
    gx = TWO * (y * (c0[1] + c1[0]) + z * (c0[2] + c2[0]) + w * (c1[2] - c2[1]) - TWO * x * (c1[1] + c2[2]))
    gy = TWO * (x * (c0[1] + c1[0]) + z * (c1[2] + c2[1]) + w * (c2[0] - c0[2]) - TWO * y * (c0[0] + c2[2]))
    gz = TWO * (x * (c0[2] + c2[0]) + y * (c1[2] + c2[1]) + w * (c0[1] - c1[0]) - TWO * z * (c0[0] + c1[1]))
    along = w * gw + x * gx + y * gy + z * gz
    return (
        (gw - w * along) * inverse,
        (gx - x * along) * inverse,
        (gy - y * along) * inverse,
        (gz - z * along) * inverse,
    )


@part
def world_jacobian(camera: Any, p: Any, inverse_z: Any) -> Any:
    """Rows j0 and j1 at the camera-frame point p; also u, v: the clamped x/z and y/z.

    camera = (rows of the rotation (3), translation, (fx, fy, cx, cy), limits of x/z and y/z (4)).
    """
    rows, _, intrinsics, limits = camera
    u = minimum(maximum(p[0] * inverse_z, limits[0]), limits[1])
    v = minimum(maximum(p[1] * inverse_z, limits[2]), limits[3])
    j0 = scaled(intrinsics[0] * inverse_z, minus(rows[0], scaled(u, rows[2])))
    j1 = scaled(intrinsics[1] * inverse_z, minus(rows[1], scaled(v, rows[2])))
    return j0, j1, u, v


@part
def factor_covariance(columns: Any, scales: Any, j0: Any, j1: Any) -> Any:
    """cov_2d (xx, xy, yy) of a Gaussian given by rotation columns and scales; also l0 and l1."""
    l0 = (scales[0] * dot(j0, columns[0]), scales[1] * dot(j0, columns[1]), scales[2] * dot(j0, columns[2]))
    l1 = (scales[0] * dot(j1, columns[0]), scales[1] * dot(j1, columns[1]), scales[2] * dot(j1, columns[2]))
    return dot(l0, l0), dot(l0, l1), dot(l1, l1), l0, l1


@part
def apply_symmetric(m: Any, a: Any) -> Any:
    """M a for a symmetric matrix given as (xx, xy, xz, yy, yz, zz)."""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[1] * a[0] + m[3] * a[1] + m[4] * a[2],
        m[2] * a[0] + m[4] * a[1] + m[5] * a[2],
    )


@part
def blurred(cov: Any, dilation: Any) -> Any:
    """Add the low-pass filter: (xx, xy, yy), determinants before and after, anti-aliasing factor."""
    xx, xy, yy = cov
    before = xx * yy - xy * xy
    wide, high = xx + dilation, yy + dilation
    after = wide * high - xy * xy
    ratio = maximum(before / after, np.float32(1e-12))
    return (wide, xy, high), before, after, square_root(ratio)


@part
def jacobian_gradient(camera: Any, p: Any, inverse_z: Any, j: Any, g: Any) -> Any:
    """Gradients of the camera-frame point and of the rotation's rows from those of j0, j1 and the pixel position.

    j = (j0, j1, u, v); g = (dL/dj0, dL/dj1, dL/dmean_x, dL/dmean_y, dL/ddepth).
    """
    rows, _, intrinsics, limits = camera
    kx, ky = intrinsics[0] * inverse_z, intrinsics[1] * inverse_z
    x, y = p[0] * inverse_z, p[1] * inverse_z
    w0, w1 = scaled(kx, g[0]), scaled(ky, g[1])
    zero = splat(np.float32(0.0))
    du = select((x >= limits[0]) & (x <= limits[1]), -dot(w0, rows[2]), zero)
    dv = select((y >= limits[2]) & (y <= limits[3]), -dot(w1, rows[2]), zero)
    dx = g[2] * intrinsics[0] + du
    dy = g[3] * intrinsics[1] + dv
    along = dx * x + dy * y + dot(g[0], j[0]) + dot(g[1], j[1])
    dp = (dx * inverse_z, dy * inverse_z, g[4] - along * inverse_z)
    d_row2 = minus(scaled(-j[2], w0), scaled(j[3], w1))
    return dp, w0, w1, d_row2


@part
def covariance_gradient(cov: Any, moments: Any) -> Any:
    """dL/d(blurred cov_2d) (xx, xy, yy) and dL/dmean_2d from a splat's pixel sums.

    dL/dcov = 1/2 C S C with C the inverse of the covariance and S the second moments of s = alpha dL/dalpha;
    dL/dmean = C (sum s dx, sum s dy).
    """
    xx, xy, yy, inverse_det = cov
    _, mx, my, mxx, mxy, myy = moments
    a, b, c = yy * inverse_det, -xy * inverse_det, xx * inverse_det
    t00, t01 = a * mxx + b * mxy, a * mxy + b * myy
    t10, t11 = b * mxx + c * mxy, b * mxy + c * myy
    gradient = HALF * (t00 * a + t01 * b), t00 * b + t01 * c, HALF * (t10 * b + t11 * c)
    return gradient, a * mx + b * my, b * mx + c * my


@part
def factor_gradient(sharp: Any, wide: Any, before: Any, inverse_after: Any, one: Any) -> Any:
    """dL/dcov_2d through the anti-aliasing factor: d ln(factor) = 1/2 d ln(det before) - 1/2 d ln(det after)."""
    h = HALF * one
    inverse_before = ONE / before
    gxx = h * (sharp[2] * inverse_before - wide[2] * inverse_after)
    gyy = h * (sharp[0] * inverse_before - wide[0] * inverse_after)
    return gxx, TWO * h * sharp[1] * (inverse_after - inverse_before), gyy


@part
def factor_rows_gradient(columns: Any, scales: Any, factors: Any, g: Any, j0: Any, j1: Any) -> Any:
    """From dL/dcov_2d g to dL/dj0, dL/dj1, dL/d(rotation columns) and dL/dscales."""
    l0, l1 = factors
    d_l0 = plus(scaled(TWO * g[0], l0), scaled(g[1], l1))
    d_l1 = plus(scaled(TWO * g[2], l1), scaled(g[1], l0))
    e0 = plus(scaled(d_l0[0], j0), scaled(d_l1[0], j1))  # dL/d(scale * column)
    e1 = plus(scaled(d_l0[1], j0), scaled(d_l1[1], j1))
    e2 = plus(scaled(d_l0[2], j0), scaled(d_l1[2], j1))
    f0, f1, f2 = scaled(scales[0], columns[0]), scaled(scales[1], columns[1]), scaled(scales[2], columns[2])
    d_j0 = plus(plus(scaled(d_l0[0], f0), scaled(d_l0[1], f1)), scaled(d_l0[2], f2))
    d_j1 = plus(plus(scaled(d_l1[0], f0), scaled(d_l1[1], f1)), scaled(d_l1[2], f2))
    d_columns = scaled(scales[0], e0), scaled(scales[1], e1), scaled(scales[2], e2)
    return d_j0, d_j1, d_columns, (dot(e0, columns[0]), dot(e1, columns[1]), dot(e2, columns[2]))


@part
def matrix_rows_gradient(matrix: Any, g: Any, j0: Any, j1: Any) -> Any:
    """From dL/dcov_2d g to dL/dj0, dL/dj1 and dL/d(full covariance) (9 entries, symmetric)."""
    m0, m1 = apply_symmetric(matrix, j0), apply_symmetric(matrix, j1)
    d_j0 = plus(scaled(TWO * g[0], m0), scaled(g[1], m1))
    d_j1 = plus(scaled(TWO * g[2], m1), scaled(g[1], m0))
    h0 = plus(scaled(g[0], j0), scaled(HALF * g[1], j1))
    h1 = plus(scaled(g[2], j1), scaled(HALF * g[1], j0))
    r0 = plus(scaled(j0[0], h0), scaled(j1[0], h1))
    r1 = plus(scaled(j0[1], h0), scaled(j1[1], h1))
    r2 = plus(scaled(j0[2], h0), scaled(j1[2], h1))
    return d_j0, d_j1, (r0, r1, r2)
