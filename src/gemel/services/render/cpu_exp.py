"""2^-q for eight lanes: one polynomial, relative error at most 2.5e-7 (tests/services/render/test_simd.py).

numba's wheels come without a vector `exp` (no SVML). Here 0.28 ns per value in cache against numpy's 0.49:
round to an integer with the 1.5 * 2^23 trick, a degree-5 minimax polynomial of 2^f on [-1/2, 1/2] (fitted for this
file by weighted least squares on the relative error), then the integer goes into the exponent bits.
"""

from typing import Any

import numpy as np

from gemel.services.render import simd_operators
from gemel.services.render.cpu_compile import part
from gemel.services.render.simd import scale_by_power

_ROUND = np.float32(1.5 * 2**23)
_C5 = np.float32(1.327647129073739e-3)
_C4 = np.float32(9.675541892647743e-3)
_C3 = np.float32(5.550713092088699e-2)
_C2 = np.float32(2.4022120237350464e-1)
_C1 = np.float32(6.931469440460205e-1)
_C0 = np.float32(1.0)

maximum = simd_operators.maximum


@part
def exp2_negative(q: Any) -> Any:
    """2^-q for q >= 0; q beyond 126 gives 2^-126."""
    t = maximum(-q, np.float32(-126.0))
    shifted = t + _ROUND
    f = t - (shifted - _ROUND)
    p = ((((_C5 * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _C0
    return scale_by_power(p, shifted)
