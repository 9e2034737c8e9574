"""Many answers about one quantity made one estimate, with an honest spread.

    spread² = self-reported² + spread of the answers² + bias²

Models are biased, not only noisy: asking again does not help. Phys2Real (arXiv 2510.11689) publishes two cases, 25
queries each: a centre of mass given as +4.0 cm ± 1.4 where the truth was +6.1, and as +0.76 ± 1.55 where it was -0.71.
The errors are 1.50 and 0.95 of the self-reported sigma, 1.25 in the root mean square, while answers among themselves
spread by 0.9 cm only. Two cases cannot tell bias from noise, so the whole error is taken as bias: 1.25 self-reported
sigmas. With that, both published errors lie within one standard deviation of the fused estimate.
"""

import math
from collections.abc import Sequence

import numpy as np

from gemel.stages.prior.vlm.answer import Estimate

BIAS_FACTOR = math.sqrt(((2.1 / 1.4) ** 2 + (1.47 / 1.55) ** 2) / 2.0)
"""Bias over self-reported sigma, from the two published cases."""
_MAD_TO_SIGMA = 1.4826
_TRIM = 3.5
"""Answers further from the median than this many robust spreads do not count."""


def fuse(answers: Sequence[Estimate], *, least_sigma: float) -> Estimate | None:
    """Median and spread of several answers; None without any. No answer counts as surer than `least_sigma`."""
    if not answers:
        return None
    values = np.array([answer.value for answer in answers])
    sigmas = np.maximum([answer.sigma for answer in answers], least_sigma)
    middle = float(np.median(values))
    robust = _MAD_TO_SIGMA * float(np.median(np.abs(values - middle)))
    kept = np.abs(values - middle) <= _TRIM * max(robust, float(np.median(sigmas)))
    own = float(np.median(sigmas[kept]))
    between = float(np.std(values[kept], ddof=1)) if kept.sum() > 1 else 0.0
    spread = math.sqrt(own**2 + between**2 + (BIAS_FACTOR * own) ** 2)
    return Estimate(float(np.median(values[kept])), spread)


def in_logs(answer: Estimate) -> Estimate:
    """The same on the logarithmic scale, for quantities that are positive."""
    return Estimate(math.log(answer.value), math.sqrt(math.log1p((answer.sigma / answer.value) ** 2)))
