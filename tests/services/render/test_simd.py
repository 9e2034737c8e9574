"""The vector arithmetic under the kernels: accuracy of 2^-q, bounds of log2, sums and transpositions of lanes."""

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

from gemel.services.render import simd, simd_fields, simd_operators
from gemel.services.render.cpu_exp import exp2_negative
from gemel.services.render.cpu_project import log2_above
from gemel.services.render.simd_memory import address, floats

LANES = simd.LANES


@njit
def _map_exp(source: Any, target: Any, count: Any) -> None:
    for i in range(0, count, LANES):
        simd.store(floats(target), i, exp2_negative(simd.load(floats(source), i)))


@njit
def _map_log(source: Any, target: Any, count: Any) -> None:
    for i in range(0, count, LANES):
        simd.store(floats(target), i, log2_above(simd.load(floats(source), i)))


@njit
def _copy_fields(source: Any, target: Any, count: Any, stride: Any) -> None:
    for first in range(0, count, LANES):
        values = simd_fields.load_fields(floats(source), first, count, stride, 1)
        simd_fields.store_fields(floats(target), first, count, stride, 1, values)
        last = simd_fields.load_field(floats(source), first, count, stride, 9)
        simd_fields.store_field(floats(target), first, count, stride, 9, last)


@njit
def _lane_sums(source: Any, target: Any) -> None:
    p = floats(source)
    a, b = simd.load(p, 0), simd.load(p, LANES)
    zero = a - a
    simd.store(floats(target), 0, simd.lane_sums((a, b, zero, zero, zero, zero, zero, a + b)))
    floats(target)[LANES] = simd.lane_sum(simd_operators.maximum(a, b))


def test_exp2_is_accurate_to_a_quarter_of_a_millionth() -> None:
    """Relative error of 2^-q at most 2.5e-7 over [0, 126], and exactly 1 at zero."""
    q = np.concatenate([np.zeros(8), np.linspace(0, 12, 80000), np.linspace(0, 126, 80000)]).astype(np.float32)
    out = np.zeros_like(q)
    _map_exp(address(q), address(out), q.size)
    assert np.abs(out / np.exp2(-q.astype(np.float64)) - 1.0).max() < 2.5e-7
    assert out[0] == 1.0


def test_log2_bound_lies_above_and_close() -> None:
    """The bound used for spans exceeds log2 by 0 to 2e-3, so spans never miss a pixel."""
    x = np.geomspace(1e-3, 300, 8000).astype(np.float32)
    out = np.zeros_like(x)
    _map_log(address(x), address(out), x.size)
    surplus = out - np.log2(x.astype(np.float64))
    assert 0.0 < surplus.min() <= surplus.max() < 2e-3


def test_fields_survive_transposition_and_short_ends() -> None:
    """Eleven records of ten fields: eight fields by transposition, one by one, none written past the end."""
    source = np.arange(110, dtype=np.float32)
    target = np.full(126, -1.0, dtype=np.float32)
    _copy_fields(address(source), address(target), 11, 10)
    assert np.array_equal(target[:110].reshape(11, 10)[:, 1:], source.reshape(11, 10)[:, 1:])
    assert (target[110:] == -1.0).all()


def test_lane_sums_equal_plain_sums() -> None:
    """The transposing sum gives each vector's sum in its lane."""
    values = np.random.default_rng(0).normal(size=16).astype(np.float32)
    out = np.zeros(9, dtype=np.float32)
    _lane_sums(address(values), address(out))
    a, b = values[:8], values[8:]
    assert np.allclose(out, [a.sum(), b.sum(), 0, 0, 0, 0, 0, (a + b).sum(), np.maximum(a, b).sum()], atol=1e-6)
