"""The pushes of one set as a `Problem`: nine parameters in, end poses and end gaps out.

| parameter | what it is |
|---|---|
| `contact/object-surface/support_ratio` | how far out the supports lie: 1 under the corners, 0 under the centroid |
| `contact/object-tip/friction` | of the probe on the object's wall |
| `object/pressure_x`, `pressure_y` | centre of pressure from the outline's centroid, object frame [m] |
| `tracker/tip_x`, `tip_y` | where the probe truly is in the tracker's frame, minus where it is reported [m] |
| `tracker/outline_x`, `outline_y`, `outline_yaw` | where the outline truly is in the tracked frame [m, rad] |

Probe and outline touch at the end of a push that still pushes, so the gap that the measured end leaves between them
is an observation of the tracker's five parameters, ten times sharper than where the object went.
"""

from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.benchmarks.push.data import PROBE_RADIUS_M, Pushes
from gemel.benchmarks.push.model import push_model, set_draws
from gemel.benchmarks.push.outline import compose, inverse, nearest, rotated
from gemel.services.inference import NoiseLayout

STEPS = 100
"""Physics steps of a push."""
PARAMETERS = tuple(
    Parameter(name, unit, low, high, transform, ValueSource.RANDOMISED)
    for name, unit, low, high, transform in (
        ("contact/object-surface/support_ratio", "", 0.2, 1.0, "linear"),
        ("contact/object-tip/friction", "", 0.02, 1.0, "log"),
        ("object/pressure_x", "m", -0.01, 0.01, "linear"),
        ("object/pressure_y", "m", -0.01, 0.01, "linear"),
        ("tracker/tip_x", "m", -0.004, 0.004, "linear"),
        ("tracker/tip_y", "m", -0.004, 0.004, "linear"),
        ("tracker/outline_x", "m", -0.003, 0.003, "linear"),
        ("tracker/outline_y", "m", -0.003, 0.003, "linear"),
        ("tracker/outline_yaw", "rad", -0.12, 0.12, "linear"),
    )
)
SCALES = np.array([0.002, 0.002, np.radians(2.5)])
"""Expected errors of x, y [m] and yaw [rad]; the true ones are inferred."""
_GAP_SCALE_M = 0.0003
_NEAR_M = 0.0035
_PUSHING = -0.5
"""Cosine between push and outward normal above which the probe glances off and need not touch at the end."""
Draws = Float[np.ndarray, "*n p"]


class PushProblem:
    """End poses of the pushes of one set; see `gemel.stages.identify.problem.Problem`."""

    parameters = PARAMETERS

    def __init__(self, pushes: Pushes, *, threads: int = 0) -> None:
        self.pushes, self._threads = pushes, threads
        self._touching = self._touches_at_end()

    @cached_property
    def observed(self) -> Float[np.ndarray, " m"]:
        """x, y, yaw of each push, yaw within half a turn of the start's; then gaps, which are zero."""
        end = self.pushes.end.copy()
        end[:, 2] = self.pushes.start[:, 2] + wrapped(end[:, 2] - self.pushes.start[:, 2])
        return np.concatenate([end.ravel(), np.zeros(len(self._touching))])

    @cached_property
    def noise(self) -> NoiseLayout:
        """Positions, angles and gaps have a level each; pushes are independent."""
        count, gaps = len(self.pushes), len(self._touching)
        group = np.concatenate([np.tile([0, 0, 1], count), np.full(gaps, 2)])
        scale = np.concatenate([np.tile(SCALES, count), np.full(gaps, _GAP_SCALE_M)])
        return NoiseLayout(group, scale, np.arange(len(group)), np.zeros(len(group)), ("position", "angle", "gap"))

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """End poses and gaps under each draw."""
        ends = self.end_poses(np.repeat(draws[:, None], len(self.pushes), axis=1))
        return np.concatenate([ends.reshape(len(draws), -1), self._gaps(draws)], axis=1)

    def end_poses(self, draws: Float[np.ndarray, "n push p"]) -> Float[np.ndarray, "n push 3"]:
        """End poses where every push may have parameters of its own."""
        from mujoco.batch import Batch

        pushes, model, sims = self.pushes, self._model, draws.reshape(-1, len(PARAMETERS))
        T_object_outline, every = sims[:, 6:9], np.tile(np.arange(len(pushes)), len(draws))
        batch = Batch(model, len(sims), nthread=self._threads)
        set_draws(batch, pushes.outline, ratio=sims[:, 0], tip_friction=sims[:, 1], pressure=sims[:, 2:4])
        qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
        qpos[:], qvel[:] = 0.0, 0.0
        qpos[:, [0, 1, 3]] = compose(pushes.start[every], T_object_outline)
        qpos[:, 4:6] = pushes.tip_start[every] + sims[:, 4:6]
        qvel[:, 4:6] = (pushes.tip_end - pushes.tip_start)[every] / (model.opt.timestep * STEPS)
        batch.step(nstep=STEPS)
        ends = compose(qpos[:, [0, 1, 3]], inverse(T_object_outline))
        return np.asarray(ends.reshape(len(draws), len(pushes), 3))

    def _gaps(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n touching"]:
        """Gap [m] between probe and outline at the measured end of the pushes that touch there."""
        end, tip = self.pushes.end[self._touching], self.pushes.tip_end[self._touching]
        T_world_outline = compose(end[None], draws[:, None, 6:9])
        offset = tip + draws[:, None, 4:6] - T_world_outline[..., :2]
        return nearest(self.pushes.outline, rotated(-T_world_outline[..., 2], offset))[0] - PROBE_RADIUS_M

    def _touches_at_end(self) -> np.ndarray:
        """Pushes whose probe is near the outline at the end and pushes into it."""
        pushes = self.pushes
        local = rotated(-pushes.end[:, 2], pushes.tip_end - pushes.end[:, :2])
        distance, normal = nearest(pushes.outline, local)
        push = rotated(-pushes.end[:, 2], pushes.tip_end - pushes.tip_start)
        cosine = np.sum(push * normal, axis=1) / np.maximum(np.linalg.norm(push, axis=1), 1e-12)
        return np.flatnonzero((np.abs(distance - PROBE_RADIUS_M) < _NEAR_M) & (cosine < _PUSHING))

    @cached_property
    def _model(self) -> Any:
        length = float(np.median(np.linalg.norm(self.pushes.tip_end - self.pushes.tip_start, axis=1)))
        return push_model(self.pushes.outline, duration_s=length / self.pushes.speed, steps=STEPS)


def wrapped(angle: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Angles [rad] within half a turn."""
    return np.angle(np.exp(1j * angle))
