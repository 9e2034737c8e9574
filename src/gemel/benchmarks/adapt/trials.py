"""Episodes of one variant with one training seed in one cell, on a fleet of stand-in worlds.

Every variant meets the same worlds, starts and tracking errors. Poses are the truth with the tracker's white error; the
tip is what the arm believes, offsets and all. The centre of mass is the cell's; everything else is each world's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.adapt.cells import MPC, WITH_ENCODERS, Cell
from gemel.benchmarks.adapt.files import encoders_file, policy_file
from gemel.benchmarks.adapt.strokes import StrokeControls
from gemel.runtime.adapt.make import ESTIMATED, make_estimator
from gemel.services.policy.checkpoint import TrainedNetwork, load_network
from gemel.services.policy.conditioned import PushController
from gemel.services.policy.estimator import Estimator, Fixed, Planar, Points
from gemel.services.policy.outcome import TOLERANCES, wrapped
from gemel.worlds.fleet import WorldFleet
from gemel.worlds.scenario import World, WorldConfig

POSE_SIGMA_M, POSE_SIGMA_RAD = 0.0008, 0.007
"""White error of tracked poses, `gemel bench track`."""
_FIRST_WORLD = 20_000
_TOUCHED_M = 0.005
"""An object that has moved so far has been touched."""


class Controller(Protocol):
    """What acts in all worlds of a fleet."""

    @property
    def estimator(self) -> Estimator | None:
        """What tells it about physics."""
        ...

    def start(self, count: int) -> None:
        """Begin so many episodes."""
        ...

    def act(self, object_xyyaw: Planar, tip_xy: Points) -> Points:
        """Displacements of the tips [m]."""
        ...


@dataclass(frozen=True)
class Job:
    """One training seed in one cell."""

    cell: Cell
    seed: int
    """Training seed of the networks."""
    episodes: int
    variants: tuple[str, ...]
    folder: str
    base: str = "noise_trained"
    first: int = 0
    """Moves all worlds to other seeds."""


@dataclass(frozen=True, eq=False)
class Trials:
    """What happened, one row for each episode."""

    variant: str
    errors: Float[np.ndarray, "n t 2"]
    """True distance [m] and angle [rad] from the goal after each control period."""
    touched: Float[np.ndarray, " n"]
    """Control period in which the object was first moved; infinite where it never was."""
    moved_last: Float[np.ndarray, " n"]
    """Control period after which it was not moved any more."""
    truth: float
    """The centre of mass [m]."""
    mean: Float[np.ndarray, "n t"]
    sigma: Float[np.ndarray, "n t"]
    """What was believed of it at each step; NaN where nothing was."""

    def is_success(self, tolerance: str) -> Float[np.ndarray, " n"]:
        """1 where the object is within a tolerance when the time is up."""
        return self._inside(tolerance)[:, -1].astype(np.float64)

    def seconds(self, tolerance: str, period_s: float) -> Float[np.ndarray, " n"]:
        """When the object came to stay within a tolerance; NaN where it did not."""
        inside = self._inside(tolerance)
        outside_last = inside.shape[1] - 1 - np.argmax(~inside[:, ::-1], axis=1)
        first = np.where(inside.all(axis=1), 0, outside_last + 1)
        return np.where(inside[:, -1], (first + 1) * period_s, np.nan)

    def _inside(self, tolerance: str) -> np.ndarray:
        metres, degrees = TOLERANCES[tolerance]
        return np.asarray((self.errors[..., 0] <= metres) & (self.errors[..., 1] <= np.radians(degrees)))


def run_job(job: Job) -> list[Trials]:
    """All variants of a job, one after the other on the same fleet; `job.episodes` worlds, one episode in each."""
    seeds = [_FIRST_WORLD + job.first + 1000 * job.seed + k for k in range(job.episodes)]
    given = {job.cell.parameter: job.cell.truth}
    worlds = [World(WorldConfig(job.cell.task_name, seed=seed), given=given) for seed in seeds]
    fleet = WorldFleet(worlds, threads=1)
    return [_run(job, variant, fleet) for variant in job.variants]


def _run(job: Job, variant: str, fleet: WorldFleet) -> Trials:
    if variant == MPC:
        return run_fleet(fleet, StrokeControls(job.cell), job.cell, variant, seed=job.seed)
    return run_fleet(fleet, make_controller(job, variant, fleet.worlds), job.cell, variant, seed=job.seed)


def make_controller(job: Job, variant: str, worlds: Sequence[World]) -> PushController:
    """The network that acts in a variant, and what tells it about physics."""
    path = policy_file(Path(job.folder), job.cell.task_name, variant, job.seed, job.base)
    network = load_network(path, "policy")
    return PushController(network, job.cell.task, _estimator(job, variant, network, worlds))


def run_fleet(
    fleet: WorldFleet, controller: Controller, cell: Cell, variant: str, *, seed: int, numbers: Sequence[int] = ()
) -> Trials:
    """One episode in every world: that of its number, or the first."""
    rng = np.random.default_rng([seed, 77])
    numbers = numbers or [0] * fleet.count
    fleet.reset([world.initial_condition(n) for world, n in zip(fleet.worlds, numbers, strict=True)], numbers)
    controller.start(fleet.count)
    noise = np.array([POSE_SIGMA_M, POSE_SIGMA_M, POSE_SIGMA_RAD])
    poses, believed = [fleet.object_poses()], []
    for _ in range(round(cell.task.time_limit_s / cell.task.control_period_s)):
        seen = poses[-1] + noise * rng.standard_normal(poses[-1].shape)
        action = controller.act(seen, fleet.tips(fleet.readings()))
        believed.append(believed_now(controller.estimator, cell.parameter, fleet.count))
        fleet.act(action)
        poses.append(fleet.object_poses())
    return trials_of(variant, cell, np.stack(poses, axis=1), np.stack(believed, axis=-1))


def trials_of(
    variant: str, cell: Cell, path: Float[np.ndarray, "n step 3"], believed: Float[np.ndarray, "2 n t"]
) -> Trials:
    """From true places and headings at all steps and after the last, and mean and sigma of what was believed."""
    steps = np.linalg.norm(np.diff(path[..., :2], axis=1), axis=-1)
    is_off = np.linalg.norm(path[:, 1:, :2] - path[:, :1, :2], axis=-1) > _TOUCHED_M
    is_moving = steps > 0.2 * _TOUCHED_M
    return Trials(
        variant=variant,
        errors=_errors(path[:, 1:], cell),
        touched=np.where(is_off.any(axis=1), np.argmax(is_off, axis=1), np.inf),
        moved_last=np.where(is_moving.any(axis=1), steps.shape[1] - 1 - np.argmax(is_moving[:, ::-1], axis=1), 0.0),
        truth=cell.truth,
        mean=believed[0],
        sigma=believed[1],
    )


def _errors(path: Float[np.ndarray, "n t 3"], cell: Cell) -> Float[np.ndarray, "n t 2"]:
    goal = cell.task.goal
    off = np.hypot(path[..., 0] - goal["object/x"], path[..., 1] - goal["object/y"])
    return np.stack([off, np.abs(wrapped(path[..., 2] - goal["object/yaw"]))], axis=-1)


def believed_now(estimator: Estimator | None, name: str, count: int) -> Float[np.ndarray, "2 n"]:
    """Mean and sigma of a parameter in so many episodes; NaN where nobody estimates it."""
    if estimator is None or name not in estimator.names:
        return np.full((2, count), np.nan)
    column = estimator.names.index(name)
    return np.stack([estimator.mean[:, column], estimator.sigma[:, column]])


def _estimator(job: Job, variant: str, network: TrainedNetwork, worlds: Sequence[World]) -> Estimator | None:
    """What tells the policy about physics: nobody, the truth, or an estimator that starts from the cell's prior."""
    if variant not in ESTIMATED:
        names = network.conditioned_on
        told = np.array([[world.hidden.parameters[name] for name in names] for world in worlds])
        return Fixed(names, told, np.zeros_like(told)) if names else None
    encoders = encoders_file(Path(job.folder), job.cell.task_name, job.seed) if variant in WITH_ENCODERS else None
    return make_estimator(variant, job.cell.task, [job.cell.prior], encoders=encoders)
