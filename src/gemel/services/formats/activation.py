"""Sigmoid and exponential in float32, and inverses that find the float32 whose activation is exactly the given value.

Splat files keep opacity as logit and scale as logarithm. Going there and back through rounded formulas would move the
last bit; here the inverse looks at the neighbours of its first guess, so that values read from a file come back equal.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float32

SURE = np.float32(20.0)
"""Logit of opacity one; minus 120 for zero. exp(-110) is zero in float32."""
NEIGHBOURS = 4


def sigmoid32(x: Float32[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """1 / (1 + exp(-x)), computed in float64 and rounded once."""
    with np.errstate(over="ignore"):
        value: np.ndarray = (1.0 / (1.0 + np.exp(-x.astype(np.float64)))).astype(np.float32)
    return value


def exp32(x: Float32[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """exp(x), computed in float64 and rounded once."""
    value: np.ndarray = np.exp(x.astype(np.float64)).astype(np.float32)
    return value


def logit_for_sigmoid32(y: Float32[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """x with sigmoid32(x) == y wherever float32 holds one, else the nearest."""
    wide = y.astype(np.float64)
    with np.errstate(divide="ignore"):
        guess = np.log(wide) - np.log1p(-wide)
    return _nearest(sigmoid32, np.clip(guess, -120.0, SURE), y)


def log_for_exp32(y: Float32[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """x with exp32(x) == y wherever float32 holds one, else the nearest."""
    with np.errstate(divide="ignore"):
        guess = np.log(y.astype(np.float64))
    return _nearest(exp32, np.maximum(guess, -110.0), y)


def _nearest(activation: Callable[[np.ndarray], np.ndarray], guess: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The neighbour of the guess whose activation is nearest to y; the guess itself where that is as good."""
    best = guess.astype(np.float32)
    error = np.abs(activation(best).astype(np.float64) - y)
    up, down = best.copy(), best.copy()
    for _ in range(NEIGHBOURS):
        up, down = np.nextafter(up, np.float32(np.inf)), np.nextafter(down, np.float32(-np.inf))
        for candidate in (up, down):
            candidate_error = np.abs(activation(candidate).astype(np.float64) - y)
            is_better = candidate_error < error
            best, error = np.where(is_better, candidate, best), np.where(is_better, candidate_error, error)
    return best
