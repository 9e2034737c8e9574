"""The default: ensemble Kalman inversion finds the place, an emulator of its rollouts gives the posterior.

1. Prior draws are simulated and moved by tempered ensemble Kalman steps to where the data is explained. The noise
   of each step is what the best members leave unexplained, so nothing has to be assumed about it.
2. An emulator is fitted to all rollouts near there, and the posterior is drawn from it under the likelihood with
   unknown noise. Its draws are simulated in turn and refine the emulator: Kalman steps alone would collapse, and would
   be right for linear problems only. What the emulator misses at fresh rollouts counts as noise.
3. Where parameters are few, true simulations take the place of the emulator (`sharpen.py`). With many parameters and
   rough contact they would need thousands of rollouts, and the emulator's draws stand.
"""

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.services.inference import (
    Ball,
    Emulator,
    NoiseLayout,
    NoiseModel,
    PriorMap,
    kalman_step,
    tempered_draws,
    tempering_step,
)
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts, counted_noise, log_likelihoods
from gemel.stages.identify.methods.sharpen import sharpened_draws
from gemel.stages.identify.problem import Problem

_DEVIATIONS = 5.0
"""Radius of the emulator's ball, in standard deviations of the last estimate of the posterior."""
_SMALLEST = 0.25
"""Contact makes rollouts rough on small scales. The emulator looks at least this far, in standard deviations of the
prior, so that it sees the slope and not the roughness..."""
_GOOD_ENOUGH = 0.4
"""No further round is asked for when the emulator predicts fresh rollouts to this part of the noise."""
_SMOOTH = 0.1
"""...unless it predicts fresh rollouts to this part of the noise."""


def fit_eki(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """Posterior draws of a problem."""
    p = len(problem.parameters)
    size = config.ensemble_size(p)
    rollouts = Rollouts(problem, prior)
    ensemble = _best_start(problem, rollouts, [prior.draw(size, rng) for _ in range(config.starts)], config, rng)
    sampler = _Sampler(problem, rollouts, rng)
    z = sampler.widened(ensemble)
    error = 0.0
    for round_number in range(config.refinements):
        z = sampler.posterior(z, 512)
        error = sampler.ask(z, size)
        if round_number > 0 and error < _GOOD_ENOUGH:
            break
    draws = sampler.posterior(z, max(config.draws, 1024))[: config.draws]
    notes: tuple[str, ...] = ()
    if config.is_sharpened(p):
        draws, notes = sharpened_draws(rollouts, sampler.model, draws, config, rng, size=size)
    best = sampler.best_residuals()
    return Fit(
        z=draws,
        weights=np.full(len(draws), 1.0 / len(draws)),
        residuals=best,
        levels=sampler.model.levels(best),
        rollouts=rollouts.asked,
        diverged=rollouts.diverged,
        notes=notes,
        emulation_error=error,
    )


def _best_start(
    problem: Problem, rollouts: Rollouts, starts: list[np.ndarray], config: IdentifyConfig, rng: np.random.Generator
) -> Float[np.ndarray, "k p"]:
    """Where the search ends that has found the best rollout; no start's rollouts are lost."""
    model, found = NoiseModel(problem.noise), []
    for z in starts:
        before = len(rollouts.predicted)
        ensemble = _kalman(problem, rollouts, z, config.kalman_steps, rng)
        predicted = np.concatenate(rollouts.predicted[before:])
        found.append((log_likelihoods(model, problem.observed, predicted).max(), ensemble))
    return max(found, key=lambda pair: pair[0])[1]


def _kalman(
    problem: Problem, rollouts: Rollouts, z: Float[np.ndarray, "n p"], steps: int, rng: np.random.Generator
) -> Float[np.ndarray, "k p"]:
    """An ensemble near the posterior."""
    model, reached = NoiseModel(problem.noise), 0.0
    for step_number in range(steps):
        z, predicted = rollouts.run(z)
        if len(z) < 8:
            raise ConfigError(
                f"{rollouts.diverged} of {rollouts.asked} simulations diverged; at least 8 have to run.",
                remedy="narrow the prior to values that the simulator can take, or shorten its time step",
            )
        log_likelihood = log_likelihoods(model, problem.observed, predicted)
        noise_sd = counted_noise(model, problem.observed - predicted[np.argmax(log_likelihood)])
        misfits = 0.5 * np.sum(((problem.observed - predicted) / noise_sd) ** 2, axis=1)
        left = 1.0 - reached
        step = left if step_number == steps - 1 else tempering_step(misfits, left)
        z = kalman_step(z, predicted, problem.observed, noise_sd, rng, step=step)
        reached += step
        if reached >= 1.0 - 1e-9:
            break
    return z


class _Sampler:
    """Draws the posterior from an emulator of all rollouts, and asks for the rollouts that it lacks."""

    def __init__(self, problem: Problem, rollouts: Rollouts, rng: np.random.Generator) -> None:
        self._problem, self._rollouts, self._rng = problem, rollouts, rng
        self._layout: NoiseLayout = problem.noise
        self.model = NoiseModel(self._layout)
        self._emulator: Emulator | None = None
        self._smallest = _SMALLEST
        self._error = np.zeros(len(problem.observed))
        """What the emulator misses at fresh simulations, root mean square."""

    def widened(self, ensemble: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "k p"]:
        """The ensemble and all rollouts that explain the data nearly as well as its best: none may be left outside."""
        z, predicted = self._rollouts.all()
        log_likelihood = log_likelihoods(self.model, self._problem.observed, predicted) - 0.5 * np.sum(z**2, axis=1)
        near = log_likelihood > log_likelihood.max() - 3.0 - 0.5 * z.shape[1]
        return np.concatenate([ensemble, z[near]])

    def posterior(self, z: Float[np.ndarray, "n p"], count: int, *, power: float = 1.0) -> Float[np.ndarray, "count p"]:
        """Draws of the posterior under the likelihood to a power, searched around draws of the last estimate."""
        ball = self._ball(z)
        self._emulator = self._fit_emulator(ball)
        self._reweigh()
        log_likelihood = self._emulated(self._emulator)
        coordinates = 2.0 * self._rng.standard_normal((count, z.shape[1]))
        norms = np.linalg.norm(coordinates, axis=1, keepdims=True)
        coordinates *= np.minimum(1.0, 0.98 * ball.radius / norms)
        return tempered_draws(
            log_likelihood,
            ball.centre + coordinates @ ball.root.T,
            lambda at: -0.125 * ball.distance(at) ** 2,
            self._rng,
            power=power,
        )

    def ask(self, draws: Float[np.ndarray, "n p"], count: int) -> float:
        """Simulate posterior draws, half of them pulled outwards; the emulator's error at the rest, over the noise."""
        assert self._emulator is not None
        chosen = draws[self._rng.choice(len(draws), size=count, replace=len(draws) < count)]
        is_outer = np.arange(count) % 2 == 1
        centre = draws.mean(axis=0)
        spread = self._smallest * self._rng.standard_normal(chosen.shape)
        asked = np.where(is_outer[:, None], centre + 2.0 * (chosen - centre) + spread, chosen)
        predicted = self._rollouts.predict(asked)
        finite = np.all(np.isfinite(predicted), axis=1)
        self._rollouts.keep(asked[finite], predicted[finite])
        fresh = finite & ~is_outer
        if fresh.sum() < 4:
            return float("inf")
        self._error = np.sqrt(np.mean((self._emulator.predict(asked[fresh]) - predicted[fresh]) ** 2, axis=0))
        error = float(np.sqrt(np.mean((self._error / counted_noise(self.model, self.best_residuals())) ** 2)))
        if error < _SMOOTH:
            self._smallest *= 0.2
        return error

    def best_residuals(self) -> Float[np.ndarray, " m"]:
        """Observed minus predicted of the best rollout."""
        _, predicted = self._rollouts.all()
        best = np.argmax(log_likelihoods(self.model, self._problem.observed, predicted))
        return np.asarray(self._problem.observed - predicted[best])

    def _ball(self, z: Float[np.ndarray, "n p"]) -> Ball:
        ball = Ball.around(z, deviations=_DEVIATIONS, smallest=self._smallest)
        p = z.shape[1]
        points, _ = self._rollouts.all()
        enough = min(len(points), 3 * (1 + p + p * (p + 1) // 2))
        radius = max(_DEVIATIONS, float(np.sort(ball.distance(points))[enough - 1]))
        return Ball(ball.centre, ball.root, radius)

    def _fit_emulator(self, ball: Ball) -> Emulator:
        z, predicted = self._rollouts.all()
        inside = ball.distance(z) <= ball.radius * 1.25
        return Emulator.fit(z[inside], predicted[inside], self._layout.scale, ball)

    def _reweigh(self) -> None:
        """Outliers of the best fit so far count less."""
        if self._problem.noise.block is not None:
            return  # wild blocks lose their say in the likelihood itself
        self._layout = self._problem.noise.downweighted(self.best_residuals())
        self.model = NoiseModel(self._layout)

    def _emulated(self, emulator: Emulator):  # type: ignore[no-untyped-def]
        """The log likelihood under the emulator, whose own error is noise too; minus infinity outside its ball."""
        levels = self.model.levels(self.best_residuals())
        model, ball = NoiseModel(self._layout.with_error(self._error, levels)), emulator.ball
        grams = model.grams(self._columns(emulator))

        def log_likelihood(z: np.ndarray) -> np.ndarray:
            a = np.concatenate([np.ones((len(z), 1)), emulator.amplitudes(z)], axis=1)
            squares = [[np.maximum(np.sum((a @ gram) * a, axis=1), 0.0) for gram in of_group] for of_group in grams]
            found = model.log_likelihood(squares)
            return np.where(ball.distance(z) <= ball.radius, found, -np.inf)

        return log_likelihood

    def _columns(self, emulator: Emulator) -> Float[np.ndarray, "m k"]:
        """The residual at the emulator's middle, and how it changes with each of its amplitudes."""
        return np.concatenate([(self._problem.observed - emulator.mean)[:, None], -emulator.directions.T], axis=1)
