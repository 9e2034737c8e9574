"""Importance sampling with true likelihoods, against answers that quadrature gives."""

import numpy as np
import pytest

from gemel.services.inference import Population, Proposal, sample_importance


def _grid() -> tuple[np.ndarray, float]:
    axis = np.linspace(-9.0, 9.0, 361)
    x, y = np.meshgrid(axis, axis)
    return np.stack([x.ravel(), y.ravel()], axis=1), (axis[1] - axis[0]) ** 2


def _jumping(z: np.ndarray) -> np.ndarray:
    """A likelihood that drops by a factor of 50 where a contact switches, and is impossible beyond a line."""
    smooth = -0.5 * ((z[:, 0] - 0.6) ** 2 + (z[:, 1] + 0.4 * z[:, 0]) ** 2) / 0.1**2
    jumped = smooth - np.log(50.0) * (z[:, 0] > 0.62)
    return np.where(z[:, 1] > 0.1, -np.inf, jumped)


def test_a_proposal_is_a_density() -> None:
    """It sums to one, and its draws are where it says."""
    rng = np.random.default_rng(0)
    proposal = Proposal.around(rng.standard_normal((200, 2)) * [0.5, 0.2] + [1.0, -1.0], rng)
    points, cell = _grid()
    density = np.exp(proposal.log_density(points))
    assert density.sum() * cell == pytest.approx(1.0, abs=0.01)
    drawn = proposal.draw(4000, rng)
    inside = np.all(np.abs(points - [1.0, -1.0]) < 0.525, axis=1)  # cells of 0.05, whole
    found = np.mean(np.all(np.abs(drawn - [1.0, -1.0]) < 0.525, axis=1))
    assert found == pytest.approx(density[inside].sum() * cell, abs=0.03)


@pytest.mark.parametrize("start", [[0.6, -0.25], [1.5, 1.0]])
def test_a_jump_is_found_from_a_wrong_start(start: list[float]) -> None:
    """Mean, spread and the mass beyond the jump are those of quadrature, wherever the first proposal looks."""
    rng = np.random.default_rng(1)
    first = rng.standard_normal((64, 2))
    found = sample_importance(
        _jumping,
        Population.of_prior(first, _jumping(first)),
        Proposal.around(0.1 * rng.standard_normal((200, 2)) + start, rng),
        rng,
        size=128,
        worth=1500.0,
        generations=40,
    )
    assert found.worth >= 1500.0
    draws = found.draws(4000, rng)
    points, _ = _grid()
    points = points * 0.12 + [0.6, -0.25]  # a finer grid where the posterior is
    weights = np.exp(_jumping(points) - 0.5 * np.sum(points**2, axis=1))
    weights /= weights.sum()
    mean = weights @ points
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(weights @ (points - mean) ** 2), rtol=0.08)
    assert np.mean(draws[:, 0] > 0.62) == pytest.approx(weights[points[:, 0] > 0.62].sum(), abs=0.015)


def test_powers_leave_what_is_asked_for() -> None:
    """Few simulations that carry all of the weight are tempered until they are worth what an interval needs."""
    rng = np.random.default_rng(2)
    z = rng.standard_normal((500, 2))
    population = Population.of_prior(z, -0.5 * np.sum((z - 2.0) ** 2, axis=1) / 0.05**2)
    power = population.power(40.0)
    assert population.worth < 10.0
    assert 0.0 < power < 1.0
    assert len(np.unique(population.draws(2000, rng, power=power), axis=0)) > 40
