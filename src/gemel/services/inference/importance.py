"""Posterior draws from true likelihoods alone: adaptive multiple importance sampling.

Cornuet et al. (2012): every simulation that was ever made counts, weighted by the posterior over the mean density of
all generations' proposals, so nothing is thrown away and no chain has to forget where it began. A generation's
proposal is a mixture of Student kernels on draws of the weights so far, tempered while few simulations carry them
(Ionides 2008 truncates for the same reason), plus a share of the prior, which bounds what any weight can become. The
likelihood may jump where a contact switches: no slope and no smoothness is asked of it.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from gemel.services.inference.tempered import LogDensity, systematic
from gemel.services.stats import effective_sample_size

_FREEDOM = 5.0
"""Degrees of freedom of a kernel: tails heavier than any posterior's in normal coordinates."""
_PRIOR_SHARE = 0.1
_CENTRES = 128
_WORTH_PER_PARAMETER = 12.0
"""A proposal is shaped by weights that are worth at least so many draws per parameter."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A mixture of Student kernels of one shape, and a share of the standard normal prior."""

    centres: Float[np.ndarray, "k p"]
    root: Float[np.ndarray, "p p"]
    """Lower Cholesky factor of a kernel's scale matrix."""
    prior_share: float = _PRIOR_SHARE

    @staticmethod
    def around(z: Float[np.ndarray, "n p"], rng: np.random.Generator, *, inflation: float = 1.0) -> "Proposal":
        """Kernels on equally likely draws, as wide as their number and dimension ask for (Silverman 1986)."""
        count, p = z.shape
        kept = z[rng.choice(count, size=min(count, _CENTRES), replace=False)]
        width = (4.0 / ((p + 2.0) * len(kept))) ** (1.0 / (p + 4.0))
        covariance = np.cov(z.T).reshape(p, p) + 1e-12 * np.eye(p)
        return Proposal(kept, inflation * width * np.linalg.cholesky(covariance))

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count p"]:
        """Independent draws."""
        p = self.centres.shape[1]
        middles = self.centres[rng.integers(len(self.centres), size=count)]
        stretch = np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, size=(count, 1)))
        near = middles + stretch * (rng.standard_normal((count, p)) @ self.root.T)
        is_prior = rng.uniform(size=(count, 1)) < self.prior_share
        return np.where(is_prior, rng.standard_normal((count, p)), near)

    def log_density(self, z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
        """Normalised."""
        from scipy.special import gammaln, logsumexp

        p = self.centres.shape[1]
        at, centres = (np.linalg.solve(self.root, x.T).T for x in (z, self.centres))
        squares = np.sum(at**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2.0 * at @ centres.T
        kernels = -0.5 * (_FREEDOM + p) * np.log1p(np.maximum(squares, 0.0) / _FREEDOM)
        constant = gammaln(0.5 * (_FREEDOM + p)) - gammaln(0.5 * _FREEDOM) - 0.5 * p * np.log(_FREEDOM * np.pi)
        near = logsumexp(kernels, axis=1) - np.log(len(self.centres)) + constant - np.log(np.diag(self.root)).sum()
        return np.logaddexp(np.log1p(-self.prior_share) + near, np.log(self.prior_share) + log_prior(z))


@dataclass(eq=False)
class Population:
    """All simulations of all generations with their true log likelihoods, and what they were drawn from."""

    z: Float[np.ndarray, "n p"]
    log_likelihood: Float[np.ndarray, " n"]
    """Minus infinity where a simulation diverged."""
    densities: list[LogDensity]
    """Log density of each generation's proposal."""
    counts: list[int]
    """How many each of them drew."""
    _each: Float[np.ndarray, "generation n"] = field(init=False)
    """Every proposal's log density at every simulation."""

    def __post_init__(self) -> None:
        self._each = np.stack([density(self.z) for density in self.densities])

    @staticmethod
    def of_prior(z: Float[np.ndarray, "n p"], log_likelihood: Float[np.ndarray, " n"]) -> "Population":
        """Simulated draws of the prior as the first generation."""
        return Population(z, log_likelihood, [log_prior], [len(z)])

    def add(self, z: Float[np.ndarray, "n p"], log_likelihood: Float[np.ndarray, " n"], density: LogDensity) -> None:
        """A further generation."""
        before = np.stack([known(z) for known in self.densities])
        self.densities.append(density)
        self.counts.append(len(z))
        self._each = np.concatenate([np.concatenate([self._each, before], axis=1), np.zeros((1, len(self.z) + len(z)))])
        self.z = np.concatenate([self.z, z])
        self._each[-1] = density(self.z)
        self.log_likelihood = np.concatenate([self.log_likelihood, log_likelihood])

    @property
    def log_weights(self) -> Float[np.ndarray, " n"]:
        """Of the posterior, largest zero."""
        from scipy.special import logsumexp

        counts = np.array(self.counts, dtype=float)
        mixture = logsumexp(self._each + np.log(counts / counts.sum())[:, None], axis=0)
        found = self.log_likelihood + log_prior(self.z) - mixture
        return np.asarray(found - np.max(found))

    @property
    def worth(self) -> float:
        """How many independent posterior draws the weights are worth."""
        return effective_sample_size(_normalised(self.log_weights))

    def draws(self, count: int, rng: np.random.Generator, *, power: float = 1.0) -> Float[np.ndarray, "count p"]:
        """Resampled by the weights to a power; a simulation may come several times."""
        return self.z[rng.permutation(systematic(_normalised(power * self.log_weights), rng, count))]

    def power(self, worth: float) -> float:
        """The largest power, at most one, to which the weights are worth so many draws."""
        log_weights, low, high = self.log_weights, 0.0, 1.0
        if self.worth >= worth:
            return 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            is_enough = effective_sample_size(_normalised(middle * log_weights)) >= worth
            low, high = (middle, high) if is_enough else (low, middle)
        return low


def sample_importance(
    log_likelihood: LogDensity,
    population: Population,
    proposal: Proposal | None,
    rng: np.random.Generator,
    *,
    size: int,
    worth: float,
    generations: int,
    shaped_by: float | None = None,
) -> Population:
    """Generations of `size` simulations until the population is worth `worth` draws.

    The first comes from `proposal`, or like all others from where the population lies; a proposal is shaped by weights
    that are worth at least `shaped_by` draws, by default so many for each parameter.
    """
    enough = shaped_by or _WORTH_PER_PARAMETER * population.z.shape[1]
    for _ in range(generations):
        if proposal is None:
            proposal = Proposal.around(population.draws(4 * _CENTRES, rng, power=population.power(enough)), rng)
        z = proposal.draw(size, rng)
        population.add(z, log_likelihood(z), proposal.log_density)
        if population.worth >= worth:
            break
        proposal = None
    return population


def log_prior(z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
    """Of the standard normal."""
    return np.asarray(-0.5 * np.sum(z**2, axis=1) - 0.5 * z.shape[1] * np.log(2.0 * np.pi))


def _normalised(log_weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    weights = np.exp(log_weights - np.max(log_weights))
    return np.asarray(weights / weights.sum())
