"""The shared parts of inference, each against something known exactly."""

import numpy as np
import pytest

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.errors import ConfigError
from gemel.services.inference import (
    Ball,
    Emulator,
    NoiseLayout,
    NoiseModel,
    PriorMap,
    flat_belief,
    kalman_step,
    tempered_draws,
    tempering_step,
)


def _parameter(name: str, low: float, high: float, transform: str = "linear") -> Parameter:
    return Parameter(name, "", low, high, transform, ValueSource.RANDOMISED)


def test_flat_prior_is_flat_and_keeps_its_bounds() -> None:
    """Standard normal coordinates become values spread evenly on each parameter's scale, never outside its bounds."""
    prior = PriorMap.of(flat_belief((_parameter("a", 1.0, 3.0), _parameter("b", 0.01, 1.0, "log"))))
    values = prior.to_parameters(np.random.default_rng(0).standard_normal((20000, 2)))
    levels = np.linspace(0.05, 0.95, 10)
    np.testing.assert_allclose(np.quantile(values[:, 0], levels), 1.0 + 2.0 * levels, atol=0.03)
    np.testing.assert_allclose(np.quantile(np.log10(values[:, 1]), levels), -2.0 + 2.0 * levels, atol=0.03)
    extreme = prior.to_parameters(np.array([[-50.0, 50.0]]))
    assert extreme[0] == pytest.approx([1.0, 1.0], rel=1e-6)


def test_prior_map_goes_there_and_back() -> None:
    """Round trip, with a prior whose parameters depend on each other."""
    rng = np.random.default_rng(1)
    both = rng.standard_normal((2000, 1)) + 0.3 * rng.standard_normal((2000, 2))
    belief = Belief((_parameter("a", -9.0, 9.0), _parameter("b", -9.0, 9.0)), both, np.full(2000, 1 / 2000))
    prior = PriorMap.of(belief)
    z = rng.standard_normal((500, 2))
    np.testing.assert_allclose(prior.to_normal(prior.to_parameters(z)), z, atol=1e-6)
    drawn = prior.to_parameters(rng.standard_normal((4000, 2)))
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(both.T)[0, 1], abs=0.03)


@pytest.mark.parametrize(
    ("parameter", "sample", "words"),
    [
        (_parameter("mass", -1.0, 1.0, "log"), 0.5, "lower bound"),
        (_parameter("mass", 1.0, 0.5), 0.7, "ascending"),
        (_parameter("mass", 0.1, 1.0, "cube"), 0.5, "transform"),
        (_parameter("mass", 0.1, 1.0), -3.0, "outside its bounds"),
        (_parameter("mass", 0.1, 1.0), np.nan, "NaN"),
    ],
)
def test_priors_that_contradict_physics_are_refused(parameter: Parameter, sample: float, words: str) -> None:
    """The message says what is wrong."""
    with pytest.raises(ConfigError, match=words):
        PriorMap.of(Belief((parameter,), np.full((10, 1), sample), np.full(10, 0.1)))


def test_kalman_step_is_exact_for_linear_gaussian() -> None:
    """Mean and covariance of a large ensemble are those of the posterior, in one step or in two halves."""
    rng = np.random.default_rng(2)
    matrix, sd, observed = rng.standard_normal((5, 2)), np.full(5, 0.5), rng.standard_normal(5)
    covariance = np.linalg.inv(np.eye(2) + matrix.T @ matrix / 0.25)
    mean = covariance @ matrix.T @ observed / 0.25
    for steps in ((1.0,), (0.5, 0.5)):
        z = rng.standard_normal((20000, 2))
        for step in steps:
            z = kalman_step(z, z @ matrix.T, observed, sd, rng, step=step)
        np.testing.assert_allclose(z.mean(axis=0), mean, atol=0.03)
        np.testing.assert_allclose(np.cov(z.T), covariance, atol=0.02)


def test_tempering_step_keeps_half() -> None:
    """The chosen step leaves half of the ensemble's worth; small misfits take all that is left."""
    misfits = np.random.default_rng(3).chisquare(5, 500) * 20.0
    step = tempering_step(misfits, 1.0)
    weights = np.exp(-step * (misfits - misfits.min()))
    assert weights.sum() ** 2 / np.sum(weights**2) / 500 == pytest.approx(0.5, abs=0.01)
    assert tempering_step(0.01 * misfits / misfits.max(), 0.7) == 0.7


def _two_series() -> NoiseLayout:
    times = np.tile(np.arange(40) * 0.1, 2)
    return NoiseLayout(np.zeros(80, int), np.full(80, 0.5), np.repeat([0, 1], 40), times, ("x",))


def test_noise_level_and_correlation_are_recovered() -> None:
    """Residuals of known level and correlation are told apart from white ones, and count for less."""
    model = NoiseModel(_two_series())
    rng = np.random.default_rng(4)
    white = model.levels(1.5 * rng.standard_normal(80))[0]
    assert white.level == pytest.approx(3.0, rel=0.25)
    assert white.effective_count > 40
    kernel = np.exp(-np.abs(np.subtract.outer(np.arange(40), np.arange(40))) / 8.0)
    slow = np.concatenate([np.linalg.cholesky(kernel) @ rng.standard_normal(40) for _ in range(2)])
    found = model.levels(1.5 * slow)[0]
    assert found.part > 0.7
    assert found.effective_count < 20


def test_log_likelihood_agrees_with_quadrature() -> None:
    """Integrating the level out numerically gives the same ratio of likelihoods."""
    layout = NoiseLayout.white(np.full(6, 0.5))
    model, rng = NoiseModel(layout), np.random.default_rng(5)
    residuals = rng.standard_normal((2, 6))
    variances = np.exp(np.linspace(-8, 8, 4000))
    prior = variances ** (-0.5 * layout.level_dof - 1.0) * np.exp(-0.5 * layout.level_dof / variances)
    squares = np.sum((residuals / 0.5) ** 2, axis=1)
    integrals = [
        np.trapezoid(prior * variances**-3.0 * np.exp(-0.5 * s / variances) * variances, np.log(variances))
        for s in squares
    ]
    found = model.log_likelihood(model.squares(residuals))
    assert found[0] - found[1] == pytest.approx(np.log(integrals[0] / integrals[1]), abs=1e-3)


def test_blocks_temper_the_likelihood() -> None:
    """More frames of the same pushes add nothing: ten times the rate leaves the likelihood ratio as it is."""

    def ratio(rate: int) -> float:
        count = 12 * rate
        layout = NoiseLayout(
            np.zeros(count, int), np.ones(count), np.repeat(np.arange(12), rate), np.tile(np.arange(rate), 12) * 0.1,
            ("x",), block=np.repeat(np.arange(12), rate),
        )  # fmt: skip
        model = NoiseModel(layout)
        found = model.log_likelihood(model.squares(np.stack([np.full(count, 1.0), np.full(count, 1.5)])))
        return float(found[0] - found[1])

    assert ratio(10) == pytest.approx(ratio(1))
    assert ratio(1) > 1.0


def _blocks(count: int, frames: int, worth: float, freedom: float) -> NoiseModel:
    rows = count * frames
    block = np.repeat(np.arange(count), frames)
    return NoiseModel(NoiseLayout(
        np.zeros(rows, int), np.ones(rows), block, np.tile(np.arange(frames) * 0.1, count), ("x",), block=block,
        block_worth=worth, block_freedom=freedom,
    ))  # fmt: skip


def test_blocks_of_many_degrees_of_freedom_are_plain_noise() -> None:
    """Without heavy tails, and when every frame counts, blocks are independent residuals of one unknown level."""
    rng = np.random.default_rng(9)
    residuals = rng.standard_normal((5, 30)) * [[0.5], [1.0], [2.0], [3.0], [1.3]]
    plain = NoiseModel(NoiseLayout.white(np.ones(30)))
    expected = plain.log_likelihood(plain.squares(residuals))
    model = _blocks(6, 5, worth=5.0, freedom=1e7)
    found = model.log_likelihood(model.squares(residuals))
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=0.02)


def test_a_wild_block_loses_its_say() -> None:
    """A push that went quite another way does not overrule eleven that agree; without heavy tails it does."""
    right, wrong = np.full(60, 0.3), np.full(60, 1.0)
    right[:5], wrong[:5] = 30.0, 22.0  # the first push, of twelve, speaks for the wrong answer

    def gain(freedom: float) -> float:
        model = _blocks(12, 5, worth=1.0, freedom=freedom)
        found = model.log_likelihood(model.squares(np.stack([right, wrong])))
        return float(found[0] - found[1])

    assert gain(4.0) > 2.0
    assert gain(1e7) < 0.0
    assert _blocks(12, 5, worth=1.0, freedom=4.0).levels(right)[0].level < 3.0


def test_downweighting_touches_outliers_alone() -> None:
    """One wild residual gets a larger scale; the rest keep theirs."""
    residuals = np.random.default_rng(6).standard_normal(100)
    residuals[7] = 40.0
    scale = NoiseLayout.white(np.ones(100)).downweighted(residuals).scale
    assert scale[7] > 2.5
    assert np.sum(scale > 1.0) <= 3


def test_emulator_follows_a_curve_and_not_its_roughness() -> None:
    """Predictions at new points are near the smooth curve, nearer than the roughness of the training data."""
    rng = np.random.default_rng(7)
    z = rng.standard_normal((240, 2))

    def smooth(at: np.ndarray) -> np.ndarray:
        return np.stack([np.sin(at[:, 0]) + at[:, 1], at[:, 0] * at[:, 1], np.cos(at[:, 1])], axis=1)

    rough = smooth(z) + 0.05 * rng.standard_normal((240, 3))
    emulator = Emulator.fit(z, rough, np.ones(3), Ball.around(z, deviations=5.0, smallest=0.1))
    fresh = rng.standard_normal((200, 2))
    assert np.sqrt(np.mean((emulator.predict(fresh) - smooth(fresh)) ** 2)) < 0.03


def test_tempered_draws_of_a_known_posterior() -> None:
    """A Gaussian likelihood gives the Gaussian posterior, from a start that is too wide."""
    rng = np.random.default_rng(8)
    found = tempered_draws(
        lambda z: -0.5 * np.sum((z - 2.0) ** 2, axis=1) / 0.25,
        4.0 * rng.standard_normal((2000, 2)),
        lambda z: -0.5 * np.sum(z**2, axis=1) / 16.0,
        rng,
    )
    np.testing.assert_allclose(found.mean(axis=0), 1.6, atol=0.05)
    np.testing.assert_allclose(found.std(axis=0), np.sqrt(0.2), atol=0.03)


def test_the_mean_of_a_mass_is_geometric_and_that_of_a_length_is_not() -> None:
    """On its own scale: one draw in four at 1.6 kg does not make the twin of 0.1 kg weigh half a kilogram."""
    mass = Parameter("object/a/mass", "kg", 0.01, 10.0, "log", ValueSource.INFERRED)
    place = Parameter("object/a/com_x", "m", -1.0, 1.0, "linear", ValueSource.INFERRED)
    samples = np.array([[0.1, -0.1], [0.1, 0.0], [0.1, 0.0], [1.6, 0.3]])
    belief = Belief((mass, place), samples, np.full(4, 0.25))
    np.testing.assert_allclose(belief.mean, [0.2, 0.05])
