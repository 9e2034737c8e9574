"""A servo arm without contact: MuJoCo's own derivatives in MJX against finite differences, and a fit with them."""

from typing import Any

import numpy as np
import pytest

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.errors import ConfigError
from gemel.services.inference import flat_belief
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem
from gemel.stages.identify.joint_problem import JointProblem, JointRun
from services.sim.made_scenes import box_on_table, scene

_TRUTH = {"robot/hinge/damping": 0.6, "robot/hinge/armature": 0.05, "robot/hinge/gain": 9.0, "robot/hinge/coulomb": 0.2}


def _arm() -> Any:
    return scene(
        '<body name="arm"><joint name="hinge" axis="0 1 0" damping="0.5" armature="0.03" frictionloss="0.1"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/></body>',
        rest='<actuator><position name="servo" joint="hinge" kp="8" kv="0.1"/></actuator>',
        option='<option timestep="0.004" integrator="implicitfast" iterations="4"/>',
    )


def _problem(names: tuple[str, ...] = tuple(_TRUTH), noise: float = 0.0) -> JointProblem:
    """Two runs of 0.8 s, with what the truth gives for positions."""
    parameters = tuple(Parameter(name, "", 0.3 * _TRUTH[name], 3.0 * _TRUTH[name], "log", ValueSource.RANDOMISED)
                       for name in names)  # fmt: skip
    times = 0.02 * np.arange(40)
    goals = (0.8 * np.sin(7.0 * times), 0.9 * np.sign(np.sin(5.0 * times)))
    runs = [JointRun(goal[:, None], np.zeros((41, 1))) for goal in goals]
    blank = JointProblem(_arm(), parameters, runs, every=5, noise_sd=np.array([1e-3]), threads=1)
    positions = blank.predict(np.array([[_TRUTH[name] for name in names]])).reshape(2, 40, 1)
    positions = positions + noise * np.random.default_rng(0).standard_normal(positions.shape)
    seen = [JointRun(run.commands, np.concatenate([[[0.0]], rows])) for run, rows in zip(runs, positions, strict=True)]
    return JointProblem(_arm(), parameters, seen, every=5, noise_sd=np.array([1e-3]), threads=1)


@pytest.fixture(scope="module")
def problem() -> JointProblem:
    """Shared, because MJX takes its time to compile."""
    pytest.importorskip("jax", reason="needs the extra mjx")
    pytest.importorskip("mujoco.mjx", reason="needs the extra mjx")
    return _problem(noise=1e-3)


@pytest.mark.slow
def test_mjx_slopes_are_those_of_differences(problem: JointProblem) -> None:
    """Damping, armature, gain and dry friction: columns agree to 2 % of their largest entry."""
    at = np.array(list(_TRUTH.values()))
    found = problem.slopes(at)
    steps = np.diag(1e-4 * at)
    ends = problem.predict(np.concatenate([at + steps, at - steps]))
    expected = (ends[: len(at)] - ends[len(at) :]).T / (2e-4 * at)
    scale = np.abs(expected).max(axis=0)
    assert np.all(scale > 0.0)
    np.testing.assert_allclose(found / scale, expected / scale, atol=0.02)


@pytest.mark.slow
def test_fit_with_mjx_finds_the_truth(problem: JointProblem) -> None:
    """Gauss-Newton with MJX derivatives: the same posterior as with differences, and the truth within it."""
    found = {}
    for derivatives in ("mjx", "differences"):
        config = IdentifyConfig(method="gauss_newton", derivatives=derivatives)
        posterior, _ = identify_problem(problem, flat_belief(problem.parameters), config, rng=np.random.default_rng(1))
        found[derivatives] = posterior.samples.mean(axis=0), posterior.samples.std(axis=0)
    mean, sd = found["mjx"]
    assert np.all(np.abs(mean - np.array(list(_TRUTH.values()))) < 4.0 * sd)
    assert np.all(np.abs(mean - found["differences"][0]) < 0.3 * sd)
    np.testing.assert_allclose(sd, found["differences"][1], rtol=0.1)


def test_what_mjx_cannot_do_is_refused() -> None:
    """Contacts, parameters that are no robot's, and problems without derivatives: each with what to do."""
    pytest.importorskip("jax", reason="needs the extra mjx")
    pytest.importorskip("mujoco.mjx", reason="needs the extra mjx")
    from gemel.services.sim.mjx_rollout import RolloutMjx

    with pytest.raises(ConfigError, match="contacts"):
        RolloutMjx(box_on_table(), ())
    with pytest.raises(ConfigError, match="robot/hinge/damping"):
        RolloutMjx(_arm(), ("gravity/z",))


def test_problem_without_derivatives_is_refused() -> None:
    """Asking for derivatives of a problem that has none names the way out."""

    class Plain:
        def __init__(self) -> None:
            inner = _problem(("robot/hinge/gain",))
            self.parameters, self.observed, self.noise, self.predict = (
                inner.parameters, inner.observed, inner.noise, inner.predict,
            )  # fmt: skip

    plain = Plain()
    config = IdentifyConfig(method="gauss_newton", derivatives="mjx")
    with pytest.raises(ConfigError, match="offers no derivatives"):
        identify_problem(plain, flat_belief(plain.parameters), config, rng=np.random.default_rng(2))
