"""How many independent samples a weighted or a correlated set is worth."""

import numpy as np
from jaxtyping import Float


def effective_sample_size(weights: Float[np.ndarray, " n"]) -> float:
    """Kish's count of equal samples that are worth as much as the weighted ones."""
    return float(weights.sum() ** 2 / np.sum(weights**2))


def autocorrelation_time(values: Float[np.ndarray, " t"]) -> float:
    """How many successive values are worth one independent one, at least 1.

    Sum of the autocorrelation function up to Sokal's window (the first lag beyond five times the running sum).
    """
    centred = values - values.mean()
    count, power = len(centred), float(centred @ centred)
    if count < 3 or power <= 0.0:
        return 1.0
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    correlation = np.fft.irfft(spectrum, size)[:count] / power
    running = 2.0 * np.cumsum(correlation) - 1.0
    stop = np.flatnonzero(np.arange(count) >= 5.0 * running)
    return float(np.clip(running[stop[0]] if len(stop) else running[-1], 1.0, count))
