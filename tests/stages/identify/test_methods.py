"""Every method against problems whose answer is known."""

import numpy as np
import pytest

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.errors import ConfigError
from gemel.services.inference import NoiseLayout, flat_belief
from gemel.stages.identify.config import METHODS, IdentifyConfig
from gemel.stages.identify.identify import identify_problem


def _parameter(name: str, low: float, high: float, transform: str = "linear") -> Parameter:
    return Parameter(name, "", low, high, transform, ValueSource.RANDOMISED)


class Line:
    """y = offset + slope t, seen forty times; known noise of 0.1, told as 0.2."""

    parameters = (_parameter("offset", -3.0, 3.0), _parameter("slope", -3.0, 3.0))
    noise = NoiseLayout.white(np.full(40, 0.2))
    times = np.linspace(0.0, 1.0, 40)
    truth = np.array([0.7, -1.1])

    def __init__(self, seed: int = 0) -> None:
        self.observed = self.predict(self.truth[None])[0] + 0.1 * np.random.default_rng(seed).standard_normal(40)

    def predict(self, draws: np.ndarray) -> np.ndarray:
        return np.asarray(draws[:, :1] + draws[:, 1:2] * self.times)

    def exact(self) -> tuple[np.ndarray, np.ndarray]:
        """Least squares and its standard errors: the posterior under a flat prior, up to the level's dof."""
        design = np.stack([np.ones(40), self.times], axis=1)
        found, rest, *_ = np.linalg.lstsq(design, self.observed, rcond=None)
        return found, np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rest[0] / 38.0)


class Product(Line):
    """Only the product of two parameters is seen."""

    parameters = (_parameter("mass", 0.2, 2.0, "log"), _parameter("friction", 0.1, 1.0, "log"))
    truth = np.array([0.6, 0.4])

    def predict(self, draws: np.ndarray) -> np.ndarray:
        return np.asarray(draws[:, :1] * draws[:, 1:2] * 5.0 * (1.0 + self.times))


class Silent(Line):
    """Nothing depends on anything."""

    def predict(self, draws: np.ndarray) -> np.ndarray:
        return np.zeros((len(draws), 40))


class Fragile(Line):
    """Half of the simulations diverge."""

    def predict(self, draws: np.ndarray) -> np.ndarray:
        predicted = super().predict(draws)
        predicted[draws[:, 1] > 0.5] = np.nan
        return predicted


class Wave(Line):
    """The pitch and size of a wave: many valleys, one of them right."""

    parameters = (_parameter("pitch", 1.0, 120.0), _parameter("size", 0.2, 2.0))
    truth = np.array([97.0, 1.0])

    def predict(self, draws: np.ndarray) -> np.ndarray:
        return np.asarray(draws[:, 1:2] * np.sin(draws[:, :1] * self.times))


@pytest.mark.parametrize(("method", "center", "spread"), [("eki", 0.35, 0.2), ("gauss_newton", 0.2, 0.2),
                                                          ("svgd", 0.5, 0.5)])  # fmt: skip
def test_methods_agree_with_least_squares(method: str, center: float, spread: float) -> None:
    """Mean and spread of the posterior of a line are those of least squares; the noise level is inferred."""
    problem = Line()
    posterior, info = identify_problem(
        problem, flat_belief(problem.parameters), IdentifyConfig(method=method), rng=np.random.default_rng(1)
    )
    mean, error = problem.exact()
    assert np.all(np.abs(posterior.weights @ posterior.samples - mean) < center * error)
    np.testing.assert_allclose(posterior.samples.std(axis=0), error, rtol=spread)
    assert info.levels[0].level == pytest.approx(0.5, rel=0.25)
    assert all(p.source is ValueSource.INFERRED for p in posterior.parameters)


def test_neural_posterior_holds_the_truth() -> None:
    """The mixture network's posterior is about as wide as its 3 % of the prior's variance and not far off."""
    problem = Line()
    posterior, _ = identify_problem(
        problem, flat_belief(problem.parameters), IdentifyConfig(method="npe"), rng=np.random.default_rng(2)
    )
    spread = posterior.samples.std(axis=0)
    assert np.all(spread < 0.5)
    assert np.all(np.abs(posterior.samples.mean(axis=0) - problem.truth) < 3.0 * spread)


def test_a_product_is_told_as_one() -> None:
    """Two parameters that appear only as their product: the diagnosis says so, neither is claimed alone."""
    problem = Product()
    posterior, info = identify_problem(
        problem, flat_belief(problem.parameters), IdentifyConfig(), rng=np.random.default_rng(3)
    )
    product = posterior.samples.prod(axis=1)
    assert product.mean() == pytest.approx(0.24, rel=0.05)
    assert product.std() < 0.02
    assert any("product" in words for words in info.notes)


def test_silent_data_returns_the_prior() -> None:
    """Data that carries no information: the prior itself comes back, and the reason."""
    problem = Silent()
    prior = flat_belief(problem.parameters)
    posterior, info = identify_problem(problem, prior, IdentifyConfig(), rng=np.random.default_rng(4))
    assert posterior is prior
    assert "no information" in info.notes[0]


def test_diverged_simulations_are_left_out() -> None:
    """Rows of NaN are counted and do not harm the fit."""
    problem = Fragile()
    posterior, info = identify_problem(
        problem, flat_belief(problem.parameters), IdentifyConfig(), rng=np.random.default_rng(5)
    )
    mean, error = problem.exact()
    assert info.diverged > 10
    assert np.all(np.abs(posterior.samples.mean(axis=0) - mean) < error)


def test_misfit_is_named() -> None:
    """A curve that no line follows is reported as unexplained."""
    problem = Line()
    problem.observed = problem.observed + 8.0 * np.sin(9.0 * problem.times)
    _, info = identify_problem(problem, flat_belief(problem.parameters), IdentifyConfig(), rng=np.random.default_rng(6))
    assert info.diagnosis.misfit is not None
    assert "No parameter explains" in info.diagnosis.misfit


def test_more_starts_find_the_right_valley() -> None:
    """A single search mostly ends in a wrong valley of a wave; the best of many mostly does not."""
    problem = Wave()

    def errors(starts: int) -> np.ndarray:
        config = IdentifyConfig(ensemble=12, starts=starts, generations=0, refinements=2, draws=200)
        found = [
            identify_problem(problem, flat_belief(problem.parameters), config, rng=np.random.default_rng([9, k]))[0]
            for k in range(6)
        ]
        return np.array([abs(np.median(belief.samples[:, 0]) - problem.truth[0]) for belief in found])

    assert np.sum(errors(1) < 1.0) <= 3
    assert np.sum(errors(12) < 1.0) >= 5


class Rough(Line):
    """Twelve pushes that depend on two of eight parameters and jump as contacts do."""

    parameters = tuple(_parameter(f"p{k}", -3.0, 3.0) for k in range(8))
    truth = np.array([1.4, -1.2, *np.zeros(6)])
    noise = NoiseLayout(
        group=np.zeros(60, dtype=int), scale=np.full(60, 0.1), series=np.repeat(np.arange(12), 5),
        times_s=np.tile(np.arange(5) * 0.1, 12), names=("push",), block=np.repeat(np.arange(12), 5), block_worth=0.5,
    )  # fmt: skip

    def __init__(self) -> None:
        self.observed = self.predict(self.truth[None])[0] + 0.1 * np.random.default_rng(0).standard_normal(60)

    def predict(self, draws: np.ndarray) -> np.ndarray:
        a, b, turn = draws[:, :1], draws[:, 1:2], 0.7 * np.arange(12)
        rough = 0.2 * np.sign(np.sin(40.0 * draws.sum(axis=1, keepdims=True) + turn))
        return np.asarray(np.repeat(a * np.cos(turn) + b * np.sin(turn) + rough, 5, axis=1))


def test_rough_pushes_with_many_parameters_are_told_by_true_simulations() -> None:
    """`auto` takes them as they are: the posterior holds the truth and fits it as well as any simulation that ran."""
    problem, inside = Rough(), []
    for seed in range(3):
        posterior, info = identify_problem(
            problem, flat_belief(problem.parameters), IdentifyConfig(ensemble=40, draws=500),
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        assert info.method == "population"
        low, high = np.quantile(posterior.samples, [0.025, 0.975], axis=0)
        inside.append((low <= problem.truth) & (problem.truth <= high))
        assert posterior.samples[:, 0].std() < 1.0  # of 1.7
        assert posterior.samples[:, 3].std() > 1.3  # what nothing depends on stays as wide as the prior
    assert np.mean(inside) > 0.85


def test_progress_grows_with_simulations() -> None:
    """Many small steps, none backwards, none beyond the end."""
    problem, told = Line(), list[float]()
    identify_problem(
        problem, flat_belief(problem.parameters), IdentifyConfig(), rng=np.random.default_rng(8),
        on_progress=told.append,
    )  # fmt: skip
    assert len(told) > 5
    assert told == sorted(told)
    assert 0.0 < told[0] < told[-1] <= 1.0


def test_unknown_names_list_the_closest() -> None:
    """A prior about something else says what was meant."""
    problem = Line()
    wrong = Belief(
        (_parameter("offset", -3, 3), _parameter("slop", -3, 3)), np.zeros((10, 2)), np.full(10, 0.1)
    )  # fmt: skip
    with pytest.raises(ConfigError, match="Closest: 'slope'"):
        identify_problem(problem, wrong, IdentifyConfig(), rng=np.random.default_rng(7))
    with pytest.raises(ConfigError, match="Closest: 'svgd'"):
        IdentifyConfig(method="svg")
    assert METHODS[0] == IdentifyConfig().method
