"""Whether objects stay where they were seen lying: at the belief's mean and in a handful of its draws."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.twin import Twin
from gemel.services.sim.compile import CompiledTwin
from gemel.services.sim.native import SimulatorNative
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.pieces import corners_of

_DRAWS = 8
_MOST_PART = 0.25
"""Part of the draws that may move: a prior has not been told that the object was seen at rest."""


def rest_findings(twin: Twin, blobs: Blobs, scene: CompiledTwin, config: AssembleConfig) -> Iterator[Finding]:
    """How far objects move when they are let go; `scene` is compiled at the belief's mean, without the robot."""
    draws = _draws(twin.belief, _DRAWS)
    simulator = SimulatorNative(scene.model, 1 + len(draws))
    names = [name for name in twin.belief.names if simulator.has_parameter(name)]
    if names:
        drawn = twin.belief.only(names).samples[draws]
        simulator.set_parameters(names, drawn, rows=np.arange(1, 1 + len(draws)))
    start = scene.qpos(None)
    simulator.reset(start)
    end = simulator.rollout(
        np.zeros((1, 1, scene.model.nu)), every=max(1, round(config.settle_s / simulator.timestep_s))
    )
    for name in scene.objects:
        points = corners_of(twin, blobs, name)
        before, after = simulator.body_poses(name, start), simulator.body_poses(name, end.qpos[:, -1])
        moved_m = np.array([
            np.linalg.norm((after[i] @ points) - (before[0] @ points), axis=1).max() for i in range(simulator.count)
        ])  # fmt: skip
        moved_m[end.is_diverged] = np.inf
        yield _judged(name, moved_m, config)


def _draws(belief: Belief, count: int) -> np.ndarray:
    """Rows of draws, evenly along the weights; none of a belief without spread."""
    if len(belief.samples) < 2 or not belief.names:
        return np.zeros(0, dtype=np.int64)
    places = (np.arange(count) + 0.5) / count
    return np.unique(np.minimum(np.searchsorted(np.cumsum(belief.weights), places), len(belief.weights) - 1))


def _judged(name: str, moved_m: Float[np.ndarray, " n"], config: AssembleConfig) -> Finding:
    """The finding on one object that moved so far at the mean, row 0, and in draws."""
    is_off = moved_m > config.drift_m
    limit = f"at most {1e3 * config.drift_m:g} mm were expected"
    remedy = (
        "look at its bottom in the reconstruction; raise `flat_m` under [assemble] for a noisier one, or scan it "
        "lying on another side"
    )
    if is_off[0]:
        moves = f"moves {1e3 * moved_m[0]:.1f} mm" if np.isfinite(moved_m[0]) else "flies off"
        message = f"{moves} in {config.settle_s:g} s when it is let go; {limit}."
        return Finding("does-not-rest", Severity.ERROR, f"{name!r} was seen at rest but {message}", remedy,
                       stream=name, value=1e3 * float(moved_m[0]))  # fmt: skip
    if is_off.any():
        is_many = float(is_off[1:].mean()) > _MOST_PART
        return Finding(
            "does-not-rest", Severity.ERROR if is_many else Severity.WARNING,
            f"{name!r} was seen at rest but moves up to {1e3 * moved_m.max():.1f} mm in {config.settle_s:g} s in "
            f"{is_off.sum()} of {len(moved_m) - 1} draws of the belief; {limit}.",
            "look at the spread of its centre of mass and friction in the belief", stream=name,
            value=1e3 * float(moved_m.max()),
        )  # fmt: skip
    over = f", at most {1e3 * moved_m.max():.2g} mm in {len(moved_m) - 1} draws" if len(moved_m) > 1 else ""
    return Finding(
        "at-rest", Severity.NOTE,
        f"{name!r} moves {1e3 * moved_m[0]:.2g} mm in {config.settle_s:g} s when it is let go{over}; {limit}.",
        "nothing to do", stream=name, value=1e3 * float(moved_m.max()),
    )  # fmt: skip
