"""What every method of inference is given: a `Problem`, anything that predicts observations from parameters.

To fit something of your own, write a class with these members and hand it to `identify_problem`:

    class Slide:                                    # a block slides to rest: v² / (2 mu g)
        parameters = (Parameter("contact/block-table/friction", "", 0.1, 1.0, "linear", ValueSource.RANDOMISED),)
        observed = np.array([0.051, 0.049])         # [m], m = 2
        noise = NoiseLayout.white(np.full(2, 1e-3)) # expected error of each; the true level is inferred
        def predict(self, draws):                   # (n, 1) -> (n, 2); NaN rows where a simulation diverged
            return np.repeat(0.5 / (2 * draws * 9.81), 2, axis=1)

    posterior, info = identify_problem(Slide(), flat_belief(Slide.parameters), IdentifyConfig(), rng=rng)

`posterior` is a `Belief` over the same parameters; `info` says how much was learnt and how far to trust it.
Poses are compared in a chart: `observed` is zero and `predict` returns `pose_residuals(predicted, tracked)`.
"""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, Parameter
from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3
from gemel.services.inference import NoiseLayout

OnProgress = Callable[[float], None]
"""Told the part of the work that is done, 0 to 1."""


@runtime_checkable
class Problem(Protocol):
    """Parameters in, predicted observations out."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What is to be found, in the order of the draws' columns."""
        ...

    @property
    def observed(self) -> Float[np.ndarray, " m"]:
        """What was measured."""
        ...

    @property
    def noise(self) -> NoiseLayout:
        """Which residual belongs to which noise group and series, and how large it is expected to be."""
        ...

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """What would be measured under each draw; a row of NaN where the simulation diverged."""
        ...


@runtime_checkable
class Differentiable(Protocol):
    """A problem that knows its own derivatives, besides all that a `Problem` has."""

    def slopes(self, draw: Float[np.ndarray, " p"]) -> Float[np.ndarray, "m p"]:
        """How predictions change with each parameter, at one draw."""
        ...


class CountedProblem:
    """A problem that tells how far its fit has come, by the simulations that it was asked for."""

    def __init__(self, problem: Problem, most: int, on_progress: OnProgress) -> None:
        self._problem, self._most, self._on_progress, self._asked = problem, most, on_progress, 0
        self.parameters, self.observed, self.noise = problem.parameters, problem.observed, problem.noise

    def __getattr__(self, name: str) -> Any:
        """What else the problem has, such as derivatives of its own."""
        return getattr(self._problem, name)

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Pass on and count; a fit that needs fewer simulations than the most jumps to its end."""
        predicted = self._problem.predict(draws)
        self._asked += len(draws)
        self._on_progress(min(1.0, self._asked / self._most))
        return predicted


def pose_residuals(predicted: SE3, tracked: SE3) -> Float[np.ndarray, "*batch 6"]:
    """Where predicted poses lie, seen from the tracked ones: translation [m] and rotation [rad] in the object frame."""
    return (tracked.inverse() @ predicted).log()


def check_prior(problem: Problem, prior: Belief) -> None:
    """The prior has to be about the problem's parameters, in its order."""
    expected = tuple(parameter.name for parameter in problem.parameters)
    for name in prior.names:
        if name not in expected:
            raise ConfigError(
                f"The prior has the parameter {choices_text(name, expected)}",
                remedy="name parameters as the model does; closest and all names are listed above",
            )
    if prior.names != expected:
        raise ConfigError(
            f"The prior is over {list(prior.names)}; {list(expected)} was expected.",
            remedy="give the prior one column per parameter of the problem, in its order",
        )
