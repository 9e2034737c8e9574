"""From the prior to a standard normal and back: the space in which all methods take their steps.

Each parameter's marginal prior is turned into a standard normal by its own quantiles, and what dependence the prior
has is kept as the correlation of those normal scores (a Gaussian copula). So the prior is N(0, R) whatever it was,
no step can leave the bounds, and a flat prior between bounds needs no case of its own. Between samples, quantiles are
linear on the parameter's own scale (`linear` or `log`); beyond the outermost samples they run out to the bounds.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, Parameter
from gemel.errors import ConfigError

_LARGEST_Z = 6.0
_KNOTS = 129
"""Quantiles kept of each marginal; more would only keep the noise of the samples."""


def flat_belief(parameters: tuple[Parameter, ...], *, samples: int = 1024) -> Belief:
    """Every value between the bounds is as likely as any other, on each parameter's scale; parameters independent."""
    for parameter in parameters:
        _check_bounds(parameter)
    middles = (np.arange(samples) + 0.5) / samples
    rng = np.random.default_rng(0)  # decides only which value of one parameter meets which of another
    scales = [_scale(p) for p in parameters]
    columns = [
        forward[1](forward[0](p.low) + rng.permutation(middles) * (forward[0](p.high) - forward[0](p.low)))
        for p, forward in zip(parameters, scales, strict=True)
    ]
    return Belief(parameters, np.stack(columns, axis=1), np.full(samples, 1.0 / samples))


@dataclass(frozen=True, eq=False)
class PriorMap:
    """The two-way map between parameters and normal scores."""

    parameters: tuple[Parameter, ...]
    knots_z: Float[np.ndarray, " knot"]
    """Ascending normal scores."""
    knots: Float[np.ndarray, "parameter knot"]
    """The marginal quantiles there, on each parameter's scale (log taken where it is `log`)."""
    root: Float[np.ndarray, "parameter parameter"]
    """Lower Cholesky factor of the correlation R of the normal scores."""

    @staticmethod
    def of(belief: Belief) -> "PriorMap":
        """The map of a prior."""
        from scipy.special import ndtr

        for parameter in belief.parameters:
            _check_bounds(parameter)
        _check_samples(belief)
        knots_z = np.linspace(-3.5, 3.5, _KNOTS - 2)
        levels = ndtr(knots_z)
        rows = []
        for parameter, column in zip(belief.parameters, belief.samples.T, strict=True):
            to, _ = _scale(parameter)
            rows.append(
                _quantile_row(to(column), belief.weights, levels, float(to(parameter.low)), float(to(parameter.high)))
            )
        knots_z = np.concatenate([[-_LARGEST_Z], knots_z, [_LARGEST_Z]])
        independent = PriorMap(belief.parameters, knots_z, np.array(rows), np.eye(len(rows)))
        return PriorMap(belief.parameters, knots_z, independent.knots, _copula_root(independent, belief))

    def to_parameters(self, z: Float[np.ndarray, "n parameter"]) -> Float[np.ndarray, "n parameter"]:
        """Parameter values of independent standard normal coordinates."""
        scores = z @ self.root.T
        columns = [
            _scale(p)[1](np.interp(scores[:, i], self.knots_z, self.knots[i])) for i, p in enumerate(self.parameters)
        ]
        # Rounding, and the slack that keeps knots apart, may step over a bound by a billionth.
        return np.clip(np.stack(columns, axis=1), [p.low for p in self.parameters], [p.high for p in self.parameters])

    def to_normal(self, values: Float[np.ndarray, "n parameter"]) -> Float[np.ndarray, "n parameter"]:
        """Coordinates of parameter values; the inverse of `to_parameters` inside the bounds."""
        columns = [np.interp(_scale(p)[0](values[:, i]), self.knots[i], self.knots_z)
                   for i, p in enumerate(self.parameters)]  # fmt: skip
        return np.linalg.solve(self.root, np.stack(columns, axis=0)).T

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count parameter"]:
        """Prior draws as standard normal coordinates, evenly spread (scrambled Sobol points)."""
        from scipy.special import ndtri
        from scipy.stats import qmc

        points = qmc.Sobol(len(self.parameters), rng=rng).random_base2(int(np.ceil(np.log2(max(count, 2)))))
        return np.asarray(ndtri(np.clip(points[:count], 1e-9, 1.0 - 1e-9)))


def _quantile_row(
    values: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    levels: Float[np.ndarray, " q"],
    low: float,
    high: float,
) -> Float[np.ndarray, " knot"]:
    """Strictly ascending quantiles from bound to bound."""
    order = np.argsort(values, kind="stable")
    share = weights[order] / weights.sum()
    middles = np.cumsum(share) - 0.5 * share
    inner = np.interp(levels, np.concatenate([[0.0], middles, [1.0]]), np.concatenate([[low], values[order], [high]]))
    row = np.concatenate([[low], np.clip(inner, low, high), [high]])
    # A prior may be a single value many times over; a billionth of the range keeps the map invertible there.
    return np.maximum.accumulate(row + (high - low) * 1e-9 * np.arange(len(row)) / len(row))


def _copula_root(independent: PriorMap, belief: Belief) -> Float[np.ndarray, "p p"]:
    """Correlation of normal scores, without what chance alone shows."""
    scores = independent.to_normal(belief.samples)
    count = len(belief.parameters)
    if count == 1:
        return np.eye(1)
    covariance = np.cov(scores.T, aweights=belief.weights)
    deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    correlation = covariance / np.outer(deviations, deviations)
    size = 1.0 / float(np.sum(belief.weights**2))
    correlation[np.abs(correlation) < 3.0 / np.sqrt(size)] = 0.0
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    safe = vectors @ np.diag(np.maximum(values, 1e-4)) @ vectors.T
    safe /= np.sqrt(np.outer(np.diag(safe), np.diag(safe)))
    return np.linalg.cholesky(safe)


def _scale(parameter: Parameter):  # type: ignore[no-untyped-def]
    """The parameter's scale as a pair of functions, there and back."""
    return (np.log, np.exp) if parameter.transform == "log" else (np.asarray, np.asarray)


def _check_bounds(parameter: Parameter) -> None:
    if parameter.transform not in ("linear", "log"):
        raise ConfigError(
            f"Parameter {parameter.name} has the transform {parameter.transform!r}; 'linear' or 'log' was expected.",
            remedy="use 'log' for positive scales such as masses and gains, 'linear' otherwise",
        )
    if not (np.isfinite(parameter.low) and np.isfinite(parameter.high) and parameter.low < parameter.high):
        raise ConfigError(
            f"Parameter {parameter.name} has the bounds {parameter.low:g} to {parameter.high:g}; "
            "two finite numbers in ascending order were expected.",
            remedy="give the smallest and the largest value that physics allows",
        )
    if parameter.transform == "log" and parameter.low <= 0.0:
        raise ConfigError(
            f"Parameter {parameter.name} is on a log scale but its lower bound is {parameter.low:g}.",
            remedy="give a positive lower bound, or the transform 'linear'",
        )


def _check_samples(belief: Belief) -> None:
    if not np.all(np.isfinite(belief.samples)):
        raise ConfigError("The prior holds samples that are NaN or infinite.", remedy="drop them before identifying")
    for parameter, column in zip(belief.parameters, belief.samples.T, strict=True):
        slack = 1e-9 * (parameter.high - parameter.low)
        outside = (column < parameter.low - slack) | (column > parameter.high + slack)
        if outside.any():
            raise ConfigError(
                f"The prior of {parameter.name} has {int(outside.sum())} of {len(column)} samples outside its bounds "
                f"{parameter.low:g} to {parameter.high:g} {parameter.unit}, such as {column[outside][0]:g}.",
                remedy="widen the bounds, or drop those samples: a value beyond its bounds contradicts physics",
            )
