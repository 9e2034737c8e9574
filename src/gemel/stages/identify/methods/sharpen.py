"""The last step of `eki`: posterior draws from true simulations, started where the emulator's posterior lies.

Where a contact switches, predictions jump, and an emulator that smooths over the jump is sure of the wrong side. Here
nothing is smoothed: each simulation is weighted by its own likelihood (`services/inference/importance.py`).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from gemel.services.inference import NoiseModel, Population, Proposal, sample_importance
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Rollouts

_INFLATION = 2.0
"""The first proposal's kernels, over those of draws that are right: an emulator is too sure."""


def sharpen(
    rollouts: Rollouts,
    model: NoiseModel,
    start: Float[np.ndarray, "n p"],
    config: IdentifyConfig,
    rng: np.random.Generator,
    *,
    size: int,
    on_generation: Callable[[int], None] = lambda generation: None,
) -> Population:
    """All draws of the prior and of the generations after it, with true likelihoods; `start` are likely places."""

    def log_likelihood(z: np.ndarray) -> np.ndarray:
        return rollouts.log_likelihood(model, rollouts.predict(z))

    first = rollouts.predicted[0]
    population = Population.of_prior(rollouts.z[0], rollouts.log_likelihood(model, first))
    return sample_importance(
        log_likelihood,
        population,
        Proposal.around(start, rng, inflation=_INFLATION),
        rng,
        size=size,
        worth=config.worth,
        generations=config.generations,
        on_generation=on_generation,
    )
