"""Gymnasium environments of a project's twin: importing this file registers `gemel/Twin-v0`.

import gemel.envs, gymnasium
env = gymnasium.make("gemel/Twin-v0", twin="my-project", task="push-t")
envs = gymnasium.make_vec("gemel/Twin-v0", num_envs=256, twin="my-project", task="push-t")

Gymnasium has no plugins; "gemel.envs:gemel/Twin-v0" makes it import this file by itself.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import Capture, JointSignal
from gemel.artifacts.task import Task
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, MissingExtraError
from gemel.in_force import twin_in_force
from gemel.project import open_project
from gemel.running import Run
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.twin_arena import twin_arena
from gemel.services.policy.twin_robot import TwinRobot, make_twin_robot, twin_cameras
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.make import make_simulator
from gemel.services.tasks import get_task
from gemel.store.store import Store
from gemel.trials import calibration_trials, home_of

ID = "gemel/Twin-v0"


@dataclass(frozen=True, eq=False)
class OpenedTwin:
    """The twin of a project and what its robot needs besides."""

    twin: Twin
    blobs: Blobs
    task: Task | None
    home: Float[np.ndarray, " joint"] | None
    """Where the robot waits for calibration trials; None without any."""
    joints: tuple[JointSignal, ...]
    """As they are logged."""
    folder: Path

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """Those whose images the twin can draw."""
        cameras = self.twin.reconstruction.cameras
        return tuple(camera for camera in cameras if camera.is_calibrated and not camera.has_pose_per_frame)


def open_twin(folder: str | Path, *, task: str | None = None) -> OpenedTwin:
    """A project's twin that is in force. `task` names another task than the project's; without either there is none."""
    project = open_project(Path(folder))
    store = Store.open(project.store_folder)
    current = twin_in_force(project, store)
    if current.note:
        warnings.warn(current.note, stacklevel=2)
    named = get_task(task) if task else current.twin.task
    run = Run(project, store, dict(current.addresses))
    home = home_of(calibration_trials(run, "environment", current.address))
    return OpenedTwin(current.twin, store, named, home, run.get("ingest", Capture).joints, Path(folder))


def make_robot(
    project: str | Path | OpenedTwin, *, task: str | None = None, cameras: str | Sequence[str] = (),
    seed: int | None = 0, **options: Any,
) -> TwinRobot:  # fmt: skip
    """A project's twin behind the `Robot` protocol; options are those of `make_twin_robot`."""
    _check_seed(seed)
    opened = project if isinstance(project, OpenedTwin) else open_twin(project, task=task)
    return make_twin_robot(
        opened.twin, opened.blobs, task=opened.task, home=opened.home, cameras=_names(cameras), seed=seed,
        flight_folder=opened.folder / "flight", **options,
    )  # fmt: skip


def make_playground(
    twin: str | Path,
    count: int,
    *,
    task: str | None = None,
    cameras: str | Sequence[str] = (),
    randomisation: Randomisation | None = None,
    backend: str = "native",
    seed: int | None = None,
) -> Playground:
    """Simulations of a project's twin, with a flight recorder in `PROJECT/flight`; without a seed each time others."""
    _check_seed(seed)
    opened = open_twin(twin, task=task)
    arena = twin_arena(opened.twin, opened.blobs, task=opened.task, home=opened.home)
    return Playground(
        arena,
        make_simulator(arena.model, count, backend),
        randomisation=randomisation,
        cameras=twin_cameras(opened.twin, arena, _names(cameras)),
        recorder=FlightRecorder(opened.folder / "flight"),
        seed=seed,
    )


def make_env(twin: str | Path, *, render_mode: str | None = None, **options: Any) -> Any:
    """`gymnasium.make` calls this; options are those of `make_playground`."""
    _require_gymnasium()
    from gemel.services.policy.twin_env import TwinEnv

    return TwinEnv(make_playground(twin, 1, **options), render_mode=render_mode)


def make_vector_env(twin: str | Path, num_envs: int = 1, *, render_mode: str | None = None, **options: Any) -> Any:
    """`gymnasium.make_vec` calls this; options are those of `make_playground`."""
    _require_gymnasium()
    from gemel.services.policy.twin_vector_env import TwinVectorEnv

    return TwinVectorEnv(make_playground(twin, num_envs, **options), render_mode=render_mode)


def _names(cameras: str | Sequence[str]) -> Sequence[str]:
    """A plain string means that one camera."""
    return (cameras,) if isinstance(cameras, str) else cameras


def _check_seed(seed: object) -> None:
    is_number = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if seed is not None and not (is_number and int(seed) >= 0):  # type: ignore[call-overload]
        raise ConfigError(
            f"The seed is {seed!r}; seeds begin at 0.",
            remedy="give a whole number from 0 on, or None for another one every time",
        )


def _require_gymnasium() -> None:
    import importlib.util

    if importlib.util.find_spec("gymnasium") is None:
        raise MissingExtraError("gymnasium", extra="gym", needed_for="The twin as an environment")


def _register() -> None:
    """Tell gymnasium; without it the functions above say what is missing."""
    import importlib.util

    if importlib.util.find_spec("gymnasium") is None:
        return
    import gymnasium

    if ID not in gymnasium.registry:
        gymnasium.register(id=ID, entry_point="gemel.envs:make_env", vector_entry_point="gemel.envs:make_vector_env")


_register()
