"""An L-shaped block slides over a table until friction stops it, seen by two cameras that our own renderer draws."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.geometry import SE3
from gemel.services.inference import flat_belief
from gemel.services.sim.joint_path import JointPath
from gemel.services.sim.native import SimulatorNative
from gemel.services.tracking.view import View
from gemel.stages.identify.segments import Segment
from gemel.stages.identify.tracked_problem import Scene, TrackedProblem
from services.sim.made_scenes import pair, scene
from services.tracking.made_views import REST, views

FRICTION = "contact/block-table/friction"
PARAMETER = Parameter(FRICTION, "", 0.1, 0.8, "linear", ValueSource.RANDOMISED)
TIMES_S = 0.05 * np.arange(1, 9)
_SPEEDS = ((0.5, 0.1, 1.0), (-0.3, 0.5, -2.0), (-0.45, -0.4, 0.5), (0.2, -0.5, 2.0))
"""Along x and y [m/s] and about z [rad/s], at the start of each slide."""


def _model() -> Any:
    return scene(
        '<geom name="table" type="plane" size="5 5 0.1"/>'
        '<body name="block" pos="0 0 0.02" simple="false"><freejoint name="block"/>'
        '<geom name="long" type="box" size="0.06 0.02 0.02" mass="0.3"/>'
        '<geom name="short" type="box" size="0.02 0.04 0.02" pos="0.04 0.06 0" mass="0.2"/></body>'
        '<body name="parked" pos="2 2 1"><joint name="parked" type="slide" axis="1 0 0"/><geom size="0.01"/></body>',
        pair("long", "table", name="block-table/0") + pair("short", "table", name="block-table/1"),
        '<actuator><position joint="parked" kp="100" kv="10"/></actuator>',
        option='<option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="10"/>',
    )


def slide_problem() -> TrackedProblem:
    """All slides; where the track has seen the block does not matter for pixels, so it is left at the start."""
    model = _model()

    def place(commands: np.ndarray, Ts: SE3, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        qpos, qvel = np.tile(model.qpos0, (len(commands), 1)), np.zeros((len(commands), model.nv))
        qpos[:, :3], qpos[:, 3:7] = Ts.translation, Ts.rotation.wxyz
        qvel[:, :6] = velocities
        return qpos, qvel

    made = Scene(lambda count: SimulatorNative(model, count, threads=1), "block", place)
    segments = []
    for number, (x, y, yaw) in enumerate(_SPEEDS):
        velocity = np.array([x, y, 0.0, 0.0, 0.0, yaw])
        rest = SE3.from_wxyz_xyz(np.tile(REST.wxyz_xyz, (len(TIMES_S), 1)))
        segments.append(Segment(str(number), 0.0, REST, velocity, TIMES_S, rest, np.full((len(TIMES_S), 6), 1e-3)))
    paths = {str(k): JointPath(np.array([0.0, 9.0]), np.zeros((2, 1))) for k in range(len(_SPEEDS))}
    return TrackedProblem((PARAMETER,), tuple(segments), paths, made, push_worth=1.0)


class SlideFootage:
    """Pictures of the slides under a true friction."""

    def __init__(self, friction: float) -> None:
        problem = slide_problem()
        found, _ = problem.poses(np.array([[friction]]), [s.times_s for s in problem.segments])
        self._Ts = {
            segment.episode: poses[0].as_matrix() for segment, poses in zip(problem.segments, found, strict=True)
        }

    def frame_times_s(self, episode: str) -> np.ndarray:
        del episode
        return TIMES_S

    def views(self, episode: str, steps: Sequence[int]) -> Iterator[list[View]]:
        for step in steps:
            yield views(self._Ts[episode][step], 100 * int(episode) + step)


def about(mean: float, sd: float) -> tuple[Belief, Belief]:
    """The flat prior, and what a track might have left: a normal belief about a value."""
    samples = np.clip(mean + sd * np.random.default_rng(0).standard_normal(800), 0.11, 0.79)
    return flat_belief((PARAMETER,)), Belief((PARAMETER,), samples[:, None], np.full(800, 1.0 / 800))
