"""What the sensors of many simulations say in one control period: encoders, and a tracker of the object.

Each reading is drawn once and stays until the period is over, so that controller, observations and whoever asks again
are told the same. What is right is another matter: rewards and criteria go by the simulation's state.
"""

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry import SE3, SO3
from gemel.services.policy.arena import Arena, Values
from gemel.services.policy.randomisation import Randomisation

Rows = Int[np.ndarray, " row"]
States = Float[np.ndarray, "sim nq"]


class Sensors:
    """Readings of the current control period; noise is drawn when somebody asks for it first."""

    def __init__(self, arena: Arena, randomisation: Randomisation) -> None:
        self._arena = arena
        self._joint_sigma = randomisation.joint_noise_rad
        place = randomisation.object_noise_m
        self._object_sigmas = np.array([place, place, randomisation.object_noise_rad])
        self._readings: Float[np.ndarray, "sim joint"] | None = None
        self._off: Float[np.ndarray, "sim 3"] | None = None

    def forget(self) -> None:
        """A control period has passed."""
        self._readings = self._off = None

    def begin(self, rows: Rows, qpos: States, rng: np.random.Generator) -> None:
        """Some simulations begin an episode; the readings of the others stay."""
        # Arrays that somebody may have kept are not written to.
        if self._readings is not None:
            self._readings = self._readings.copy()
            self._readings[rows] = self._read(qpos[rows], rng)
        if self._off is not None:
            self._off = self._off.copy()
            self._off[rows] = self._drawn(len(rows), rng)

    def readings(self, qpos: States, rng: np.random.Generator) -> Float[np.ndarray, "sim joint"]:
        """What the encoders say [rad or m], noise included."""
        if self._readings is None:
            self._readings = self._read(qpos, rng)
        return self._readings

    def values(self, qpos: States, rng: np.random.Generator) -> dict[str, Values]:
        """The task's quantities as they are observed: the tip through the encoders, the object through the tracker."""
        return self._arena.values(qpos, readings=self.readings(qpos, rng), off=self._tracker_off(len(qpos), rng))

    def object_poses(self, qpos: States, rng: np.random.Generator) -> SE3:
        """`Ts_world_object` by the tracker, in the task's frame of the object."""
        poses = self._arena.object_poses(qpos)
        off = self._tracker_off(len(qpos), rng)
        if off is None:
            return poses
        turn, shift = np.zeros((len(off), 3)), np.zeros((len(off), 3))
        turn[:, 2], shift[:, :2] = off[:, 2], off[:, :2]
        return SE3(SO3.exp(turn) @ poses.rotation, poses.translation + shift)

    def _read(self, qpos: States, rng: np.random.Generator) -> Float[np.ndarray, "n joint"]:
        plain = self._arena.readings(qpos)
        return plain + self._joint_sigma * rng.standard_normal(plain.shape) if self._joint_sigma else plain

    def _tracker_off(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "sim 3"] | None:
        """Errors of x, y [m] and yaw [rad]; None of a tracker that makes none."""
        if self._off is None and self._object_sigmas.any():
            self._off = self._drawn(count, rng)
        return self._off

    def _drawn(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "n 3"]:
        return self._object_sigmas * rng.standard_normal((count, 3))
