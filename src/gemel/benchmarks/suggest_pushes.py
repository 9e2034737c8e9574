"""Does `suggest` teach more than chance? Three pushes that it chooses against three random ones, in the same worlds.

A world is the nominal scene with a centre of mass and a table friction drawn from the task's whole ranges. A push is
simulated there and observed half way and at its end, with noise of the expected error. Each push is chosen (or drawn)
from the same candidates and fitted with the posterior before it as its prior. Volume is the area of the posterior's
covariance ellipse over both parameters.
"""

import os
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.benchmarks.calibration_worlds import PushedWorld
from gemel.geometry import SE3, SO3
from gemel.services.inference import NoiseLayout, flat_belief
from gemel.services.sim.planar_push import planar_push
from gemel.services.tasks import get_object
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem
from gemel.stages.identify.push_scene import TIP_RADIUS_M, PushScene
from gemel.stages.identify.suggest import Outcome, Push, pushes_around, suggest

PUSHES = 3
_SIDES, _DRAWS = 8, 24
_CONFIG = IdentifyConfig(ensemble=32, kalman_steps=2, refinements=2, generations=10, worth=100.0, draws=500)
_PARAMETERS = PushedWorld.parameters


@dataclass(eq=False)
class _Pushed:
    """One observed push as a problem."""

    outcome: Outcome
    observed: Float[np.ndarray, " m"]
    parameters = _PARAMETERS

    @property
    def noise(self) -> NoiseLayout:
        """Outcomes come in units of the expected error."""
        return NoiseLayout.white(np.ones(len(self.observed)))

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Pass on."""
        return self.outcome(draws)


def suggest_ratio(seed: int) -> float:
    """Posterior volume after the suggested pushes over that after random ones, in the world of a seed."""
    os.environ["OMP_NUM_THREADS"] = "1"
    rng = np.random.default_rng([seed, 23])
    truth = np.array([rng.uniform(p.low, p.high) for p in _PARAMETERS])
    scene, candidates = _scene()
    outcomes = [scene.outcome(push) for push in candidates]
    chosen = random = flat_belief(_PARAMETERS)
    for _ in range(PUSHES):
        best = suggest(chosen, outcomes, 1, rng, draws=_DRAWS)[0].index
        chosen = _after(chosen, outcomes[best], truth, rng)
        random = _after(random, outcomes[int(rng.integers(len(outcomes)))], truth, rng)
    return _volume(chosen) / _volume(random)


def _scene() -> tuple[PushScene, tuple[Push, ...]]:
    block = get_object("t_block")
    rest = SE3(SO3.identity(), np.array([0.0, 0.0, block.rest_height]))
    names = tuple(p.name for p in _PARAMETERS)
    corners = np.array([(x, y) for box in block.collision for x in (box.low[0], box.high[0])
                        for y in (box.low[1], box.high[1])], dtype=float)  # fmt: skip
    scene = PushScene(planar_push(block), block.name, rest, names, tuple(range(len(names))))
    return scene, pushes_around(corners, tip_radius_m=TIP_RADIUS_M, sides=_SIDES)


def _after(prior: Belief, outcome: Outcome, truth: Float[np.ndarray, " p"], rng: np.random.Generator) -> Belief:
    """The belief after one more push."""
    seen = outcome(truth[None])[0]
    problem = _Pushed(outcome, seen + rng.standard_normal(len(seen)))
    return identify_problem(problem, prior, _CONFIG, rng=rng)[0]


def _volume(belief: Belief) -> float:
    ranges = np.array([p.high - p.low for p in belief.parameters])
    covariance = np.cov((belief.samples / ranges).T, aweights=belief.weights)
    return float(np.sqrt(max(np.linalg.det(covariance), 1e-18)))
