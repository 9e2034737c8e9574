"""The images of a twin's cameras from its simulated states, at the moments at which real frames would be taken.

Frames that arrive late show what was then, however late. Frames that were stamped too early would show what is yet to
come; a simulation that waits for its next action cannot know that, so they show now, and a warning says by how much.
"""

import math
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from gemel.geometry import SE3, SO3
from gemel.geometry.se3 import stack
from gemel.services.policy.randomisation import CameraDraw, Randomisation, draw_cameras
from gemel.services.render.twin_view import TwinView


class TwinCameras:
    """Cameras of N simulations of one scene; they remember where everything has been a moment ago."""

    def __init__(self, view: TwinView, cameras: Sequence[str], model: Any, period_s: float) -> None:
        import mujoco

        self.names = tuple(cameras)
        self._view, self._model, self._period_s = view, model, period_s
        self._mujoco: Any = mujoco
        self._data = mujoco.MjData(model)
        self._links = [model.body(name).id for name in self.links_of(model, view.objects)]
        self._objects = {name: model.body(name).id for name in view.objects if self._has(name)}
        self._past: deque[np.ndarray] = deque(maxlen=2)
        self._draws: dict[str, list[CameraDraw]] = {}
        for name in self.names:
            _warn_if_early(name, view.camera(name).time_offset_s)

    @staticmethod
    def links_of(model: Any, objects: Sequence[str]) -> list[str]:
        """Links in the order that a view of this scene has to be given."""
        return [model.body(i).name for i in range(1, model.nbody) if model.body(i).name not in objects]

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Width and height of each camera [px]."""
        return {name: (self._view.camera(name).width, self._view.camera(name).height) for name in self.names}

    def start(
        self, rows: np.ndarray, qpos: Float[np.ndarray, "sim nq"], randomisation: Randomisation,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """Some simulations begin an episode in these states, with cameras that are a little off."""
        if not self._past:
            self._past.append(qpos.copy())
            self._draws = {name: [CameraDraw.none()] * len(qpos) for name in self.names}
        cameras = [self._view.camera(name) for name in self.names]
        for row in rows:
            for name, draw in zip(self.names, draw_cameras(cameras, randomisation, rng), strict=True):
                self._draws[name][row] = draw
                self._remember(-draw.time_offset_s)
        for states in self._past:
            states[rows] = qpos[rows]

    def note(self, qpos: Float[np.ndarray, "sim nq"]) -> None:
        """States one control period later."""
        self._past.append(qpos.copy())

    def images(
        self, rows: Int[np.ndarray, " b"], randomisation: Randomisation, rng: np.random.Generator
    ) -> dict[str, UInt8[np.ndarray, "b _ _ 3"]]:
        """The newest frame of each camera of some simulations."""
        size = self._view.scenes_at_once
        parts = [rows[first : first + size] for first in range(0, len(rows), size)]
        return {
            name: np.concatenate([self._frames(name, part, randomisation.pixel_noise, rng) for part in parts])
            for name in self.names
        }

    def _frames(
        self, name: str, rows: Int[np.ndarray, " b"], noise: float, rng: np.random.Generator
    ) -> UInt8[np.ndarray, "b _ _ 3"]:
        from gemel.services.render.exposure import exposed

        draws = [self._draws[name][row] for row in rows]
        links, objects = self._poses(self._states(rows, np.array([draw.time_offset_s for draw in draws])))
        off = stack([draw.T_true_camera for draw in draws]).inverse().as_matrix()
        drawn = self._view.draw_scenes(links, objects, name, off @ self._view.Ts_camera_world(name, links))
        return exposed(drawn.colour, np.array([draw.gain for draw in draws]), noise, rng)

    def _remember(self, late_s: float) -> None:
        """Keep states for as long as the latest camera needs them."""
        depth = max(0, math.ceil(late_s / self._period_s)) + 1
        if depth > (self._past.maxlen or 0):
            self._past = deque(self._past, maxlen=depth)

    def _states(
        self, rows: Int[np.ndarray, " b"], time_offsets_s: Float[np.ndarray, " b"]
    ) -> Float[np.ndarray, "b nq"]:
        """States so long after now, each between two remembered ones; a camera cannot see the future."""
        past, oldest = np.stack([states[rows] for states in reversed(self._past)]), len(self._past) - 1
        back = np.clip(-time_offsets_s / self._period_s, 0.0, oldest)
        newer, each = back.astype(int), np.arange(len(rows))
        older = np.minimum(newer + 1, oldest)
        return between(self._model, past[newer, each], past[older, each], back - newer)

    def _poses(self, states: Float[np.ndarray, "b nq"]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """`Ts_world_link` (b, link, 4, 4) and `Ts_world_object` (b, 4, 4) by name."""
        quats, places = np.empty((len(states), self._model.nbody, 4)), np.empty((len(states), self._model.nbody, 3))
        for row, qpos in enumerate(states):
            self._data.qpos[:] = qpos
            self._mujoco.mj_kinematics(self._model, self._data)
            quats[row], places[row] = self._data.xquat, self._data.xpos
        every = SE3(SO3(quats), places).as_matrix()
        return every[:, self._links], {name: every[:, body] for name, body in self._objects.items()}

    def _has(self, name: str) -> bool:
        return bool(self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_BODY, name) >= 0)


def _warn_if_early(name: str, time_offset_s: float) -> None:
    if time_offset_s > 0.0:
        warnings.warn(
            f"Frames of camera {name!r} show what is {time_offset_s:.3g} s after their stamps; no simulation looks "
            "ahead, so its images here show the moment itself.",
            stacklevel=2,
        )


def between(
    model: Any, first: Float[np.ndarray, "b nq"], second: Float[np.ndarray, "b nq"], part: Float[np.ndarray, " b"]
) -> Float[np.ndarray, "b nq"]:
    """States between two that are near each other; quaternions keep to the nearer of their two signs."""
    other = second.copy()
    for joint in np.flatnonzero(model.jnt_type <= 1):  # mujoco.mjtJoint: free and ball
        at = int(model.jnt_qposadr[joint]) + (3 if model.jnt_type[joint] == 0 else 0)
        is_turned = np.sum(first[:, at : at + 4] * second[:, at : at + 4], axis=1) < 0.0
        other[is_turned, at : at + 4] *= -1.0
    return (1.0 - part[:, None]) * first + part[:, None] * other
