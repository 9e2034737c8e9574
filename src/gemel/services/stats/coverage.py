"""How often intervals hold what they say, and how often chance alone allows them not to."""

import math

_Z95 = 1.959963984540054


def binomial_bounds(trials: int, probability: float, *, confidence: float = 0.95) -> tuple[int, int]:
    """Smallest and largest count of successes that a fair binomial shows with the given confidence, both tails."""
    from scipy.stats import binom

    tail = 0.5 * (1.0 - confidence)
    return int(binom.ppf(tail, trials, probability)), int(binom.ppf(1.0 - tail, trials, probability))


def is_within_bounds(successes: int, trials: int, probability: float, *, confidence: float = 0.95) -> bool:
    """Whether a count of covered truths is what intervals of that nominal coverage would show."""
    low, high = binomial_bounds(trials, probability, confidence=confidence)
    return low <= successes <= high


def wilson_interval(successes: int, trials: int, *, z: float = _Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson 1927); 95 % by default."""
    if trials == 0:
        return 0.0, 1.0
    p = successes / trials
    middle = (p + z * z / (2.0 * trials)) / (1.0 + z * z / trials)
    half = z * math.sqrt(p * (1.0 - p) / trials + z * z / (4.0 * trials * trials)) / (1.0 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)
