"""A twin behind the `Robot` protocol: what runs on the arm runs in the twin, and the other way round."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import Domain
from gemel.artifacts.task import Task
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.services.policy.arena import Arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.robot import InitialCondition, Observation
from gemel.services.policy.site import Site
from gemel.services.policy.starts import checked_starts
from gemel.services.policy.twin_arena import twin_arena
from gemel.services.policy.twin_cameras import TwinCameras
from gemel.services.render.renderer import Renderer, make_renderer
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.native import SimulatorNative


class TwinRobot:
    """One simulation of a twin as a robot with cameras and a tracker that knows where the object is.

    Beyond the task's initial conditions it understands `joint/NAME`, the readings to start from. Without
    randomisation it is the belief's mean, and every episode with the same actions is the same.
    """

    domain = Domain.TWIN

    def __init__(self, playground: Playground) -> None:
        self.playground = playground

    @property
    def arena(self) -> Arena:
        """The task in the twin's scene."""
        return self.playground.arena

    @property
    def site(self) -> Site:
        """Where the twin has table and robot."""
        return self.arena.site

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the measured joints."""
        return self.arena.joint_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the action's elements."""
        return self.arena.action_names

    def reset(self, initial_condition: InitialCondition) -> None:
        """Put arm and object where they are asked for; what is not given is drawn from the task's ranges."""
        self.playground.reset(np.zeros(1, dtype=np.int64), checked_starts(initial_condition, 1))

    def observe(self) -> Observation:
        """Encoders, the newest frames, and the object's pose in the task's frame as a tracker sees it."""
        ground, cameras = self.playground, self.playground.cameras
        ground.check_begun()
        images = {} if cameras is None else cameras.images(np.zeros(1, dtype=int), ground.randomisation, ground.rng)
        return Observation(
            time_s=float(ground.steps[0]) * self.arena.task.control_period_s,
            joint_positions=ground.readings()[0],
            images={name: frames[0] for name, frames in images.items()},
            object_poses={self.arena.object: ground.seen_poses()[0]},
        )

    def act(self, action: Float[np.ndarray, " action"]) -> None:
        """Carry out an action for one control period; a simulation that breaks down is an error, not an episode."""
        self.playground.step(np.asarray(action, dtype=np.float64)[None])
        if self.playground.is_diverged[0]:
            raise ConfigError(
                "The twin's simulation broke down.",
                remedy="look at the flight recorder's folder, if one was given; reset and try a shorter physics step",
            )


def make_twin_robot(
    twin: Twin,
    blobs: Blobs,
    *,
    task: Task | None = None,
    home: Float[np.ndarray, " joint"] | None = None,
    cameras: Sequence[str] = (),
    randomisation: Randomisation | None = None,
    renderer: Renderer | None = None,
    flight_folder: Path | None = None,
    seed: int | None = 0,
) -> TwinRobot:
    """A twin as a robot; `cameras` are those whose images it gives."""
    arena = twin_arena(twin, blobs, task=task, home=home)
    return TwinRobot(
        Playground(
            arena,
            SimulatorNative(arena.model, 1, threads=1),
            randomisation=Randomisation.none() if randomisation is None else randomisation,
            cameras=twin_cameras(twin, arena, cameras, renderer=renderer),
            recorder=FlightRecorder(flight_folder) if flight_folder is not None else None,
            seed=seed,
        )
    )


def twin_cameras(
    twin: Twin, arena: Arena, cameras: Sequence[str], *, renderer: Renderer | None = None
) -> TwinCameras | None:
    """Cameras of a twin in its arena; None without any."""
    if not cameras:
        return None
    from gemel.services.render.twin_view import TwinView

    links = TwinCameras.links_of(arena.model, tuple(twin.reconstruction.objects))
    view = TwinView(twin.reconstruction, links, renderer=renderer or make_renderer())
    for name in cameras:
        view.camera(name)
    return TwinCameras(view, cameras, arena.model, arena.task.control_period_s)
