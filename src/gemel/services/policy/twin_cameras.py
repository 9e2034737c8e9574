"""The images of a twin's cameras from its simulated states, at the moments at which real frames would be taken."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from gemel.geometry import SE3, SO3
from gemel.services.policy.randomisation import CameraDraw, Randomisation, draw_camera
from gemel.services.render.twin_view import TwinView, Viewpoint

_LONGEST_LATENCY_S = 0.5


class TwinCameras:
    """Cameras of N simulations of one scene; they remember where everything has been a moment ago."""

    def __init__(self, view: TwinView, cameras: Sequence[str], model: Any, period_s: float) -> None:
        import mujoco

        self.names = tuple(cameras)
        self._view, self._model, self._period_s = view, model, period_s
        self._mujoco: Any = mujoco
        self._data = mujoco.MjData(model)
        self._bodies = [model.body(name).id for name in self.links_of(model, view.objects)]
        depth = int(np.ceil(_LONGEST_LATENCY_S / period_s)) + 1
        self._past: deque[np.ndarray] = deque(maxlen=depth)
        self._draws: dict[int, dict[str, CameraDraw]] = {}

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
        for states in self._past:
            states[rows] = qpos[rows]
        for row in rows:
            self._draws[int(row)] = {
                name: draw_camera(self._view.camera(name), randomisation, rng) for name in self.names
            }

    def note(self, qpos: Float[np.ndarray, "sim nq"]) -> None:
        """States one control period later."""
        self._past.append(qpos.copy())

    def images(
        self, row: int, randomisation: Randomisation, rng: np.random.Generator
    ) -> dict[str, UInt8[np.ndarray, "_ _ 3"]]:
        """The newest frame of each camera of one simulation."""
        found = {}
        for name in self.names:
            draw = self._draws[row][name]
            links, objects = self._poses(self._state(row, draw.time_offset_s))
            plain = self._view.viewpoint(name, links)
            T_camera_world = draw.T_true_camera.inverse().as_matrix() @ plain.T_camera_world
            (image,) = self._view.draw(links, objects, [Viewpoint(name, T_camera_world, draw.gain)])
            noisy = image.colour + randomisation.pixel_noise * rng.standard_normal(image.colour.shape, dtype=np.float32)
            found[name] = np.clip(np.round(255.0 * noisy), 0, 255).astype(np.uint8)
        return found

    def _state(self, row: int, time_offset_s: float) -> np.ndarray:
        """The state so long after now, between two remembered ones; a camera cannot see the future."""
        back = float(np.clip(-time_offset_s / self._period_s, 0.0, len(self._past) - 1))
        newer = int(back)
        older = min(newer + 1, len(self._past) - 1)
        return between(self._model, self._past[-1 - newer][row], self._past[-1 - older][row], back - newer)

    def _poses(self, qpos: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """`Ts_world_link` and `T_world_object` by name."""
        self._data.qpos[:] = qpos
        self._mujoco.mj_kinematics(self._model, self._data)
        every = SE3(SO3(np.array(self._data.xquat)), np.array(self._data.xpos)).as_matrix()
        objects = {name: every[self._model.body(name).id] for name in self._view.objects if self._has(name)}
        return every[self._bodies], objects

    def _has(self, name: str) -> bool:
        return bool(self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_BODY, name) >= 0)


def between(
    model: Any, first: Float[np.ndarray, " nq"], second: Float[np.ndarray, " nq"], part: float
) -> Float[np.ndarray, " nq"]:
    """A state between two that are near each other; quaternions keep to the nearer of their two signs."""
    other = second.copy()
    for joint in np.flatnonzero(model.jnt_type <= 1):  # mujoco.mjtJoint: free and ball
        at = int(model.jnt_qposadr[joint]) + (3 if model.jnt_type[joint] == 0 else 0)
        if first[at : at + 4] @ second[at : at + 4] < 0.0:
            other[at : at + 4] *= -1.0
    return (1.0 - part) * first + part * other
