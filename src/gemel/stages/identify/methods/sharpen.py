"""The last step of `eki`: posterior draws from true simulations, started where the emulator's posterior lies.

Where a contact switches, predictions jump, and an emulator that smooths over the jump is sure of the wrong side. Here
nothing is smoothed: each simulation is weighted by its own likelihood (`services/inference/importance.py`). Where
the likelihood is so rough that few simulations carry all of the weight, it is tempered until some dozens do.
"""

import numpy as np
from jaxtyping import Float

from gemel.services.inference import NoiseModel, Population, Proposal, sample_importance
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Rollouts

_INFLATION = 2.0
"""The first proposal's kernels, over those of draws that are right: an emulator is too sure."""
_LEAST_WORTH = 40.0
"""Fewer independent draws than this do not make an interval."""


def sharpened_draws(
    rollouts: Rollouts,
    model: NoiseModel,
    start: Float[np.ndarray, "n p"],
    config: IdentifyConfig,
    rng: np.random.Generator,
    *,
    size: int,
) -> tuple[Float[np.ndarray, "draws p"], tuple[str, ...]]:
    """Posterior draws, and what is worth saying of them; `start` are likely places."""

    def log_likelihood(z: np.ndarray) -> np.ndarray:
        return rollouts.log_likelihood(model, rollouts.predict(z))

    first = rollouts.log_likelihood(model, rollouts.predicted[0])
    population = sample_importance(
        log_likelihood,
        Population.of_prior(rollouts.z[0], first),
        Proposal.around(start, rng, inflation=_INFLATION),
        rng,
        size=size,
        worth=config.worth,
        generations=config.generations,
    )
    power = population.power(_LEAST_WORTH)
    if power < 1.0:
        words = (
            f"The simulations are rough: {len(population.z)} of them are worth {population.worth:.0f} independent "
            f"draws. The likelihood was taken to the power {power:.2f}, which widens the intervals."
        )
        return population.draws(config.draws, rng, power=power), (words,)
    return population.draws(config.draws, rng), ()
