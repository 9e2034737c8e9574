"""Plans of several strokes: what each stroke does, how long it takes, how sure it is, and which plan is best."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.task import Task
from gemel.services.policy.estimator import Planar
from gemel.services.policy.features import action_bound_m, to_object
from gemel.services.policy.outcome import wrapped
from gemel.services.policy.push_belief import PushBelief
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.stroke_library import LENGTHS_M, Ring, Strokes

Point = Float[np.ndarray, "2"]
Pose = Float[np.ndarray, "3"]
Table = Float[np.ndarray, "_ 13"]
"""Strokes with lengths: the ten columns of `plan_costs`, then where the tip is left, in the object's frame of after (x,
y) and its place on the way round."""
_REACH = (0.17, -0.37, 0.73, 0.37)
"""Lowest and highest x and y of a stroke [m]."""
_SAME = np.array([0.001, 0.001, 0.02, 0.02, 0.001])
"""Changes of `PushBelief.physics` that are not worth imagining strokes again."""


@dataclass(frozen=True)
class MpcConfig:
    """How many strokes are imagined, and what is good."""

    strokes: int = 300
    """Strokes beside the object; each is looked at with several lengths."""
    beam: int = 96
    """Plans that are followed up with another stroke."""
    depth: int = 3
    arm_m: float = 0.12
    """An angle counts as the way of a point so far off [m/rad]."""
    second_m: float = 0.004
    """What a second costs [m]."""
    push_speed: float = 0.6
    """Part of the largest step at which a stroke is made."""
    error_m: float = 0.003
    """Least error of a stroke [m]."""
    aside_m: float = 0.004
    """How far aside of its aim a stroke may be [m]: half of what that changes is added to its error."""
    change_m: float = 0.005
    """How much better another stroke must be than to go on from here [m]."""
    pause_s: float = 0.2
    """Time lost at the start of each stroke [s]."""
    seed: int = 0


class StrokePlans:
    """Plans for one object and task; `ring` is the way round the object."""

    def __init__(self, outline: Outline, task: Task, config: MpcConfig) -> None:
        self._outline, self._config, self.ring = outline, config, Ring.of(outline)
        self._bound_m, self._period_s = action_bound_m(task), task.control_period_s
        self._goal = np.array([task.goal["object/x"], task.goal["object/y"], task.goal["object/yaw"]])
        self._rng = np.random.default_rng(config.seed)
        self._strokes = Strokes.around(outline, config.strokes, self._rng)
        self._imagined: tuple[np.ndarray, Table] | None = None

    def library(self, belief: PushBelief) -> Table:
        """All strokes beside the object; imagined again when the belief has changed."""
        if self._imagined is None or np.any(np.abs(belief.physics - self._imagined[0]) > _SAME):
            self._imagined = belief.physics, self.table(self._strokes, belief)
        return self._imagined[1]

    def table(self, strokes: Strokes, belief: PushBelief) -> Table:
        """All lengths of all strokes."""
        config = self._config
        motions = strokes.motions(self._outline, belief.physics)
        length = np.array(LENGTHS_M)
        ends = strokes.starts[:, None] + length[None, :, None] * strokes.ways[:, None]
        starts = np.broadcast_to(strokes.starts[:, None], ends.shape)
        left = to_object((ends - motions[..., :2]).reshape(-1, 2), motions[..., 2].ravel()).reshape(ends.shape)
        seconds = config.pause_s + length / (config.push_speed * self._bound_m) * self._period_s
        error = config.error_m + 0.5 * self._fragility(strokes, motions, belief)
        columns = [
            motions, starts, ends, np.broadcast_to(self.ring.at(strokes.starts)[:, None, None], (*ends.shape[:2], 1)),
            np.stack([np.broadcast_to(seconds, error.shape), error], axis=-1), left,
            self.ring.at(left.reshape(-1, 2)).reshape(*ends.shape[:2], 1),
        ]  # fmt: skip
        return np.concatenate(columns, axis=-1).reshape(-1, 13)

    def _fragility(
        self, strokes: Strokes, motions: Float[np.ndarray, "n length 3"], belief: PushBelief
    ) -> Float[np.ndarray, "n length"]:
        """How far off objects end if strokes are a little aside [m]: at a corner a stroke turns either way."""
        off = np.zeros(motions.shape[:2])
        for side in (-1.0, 1.0):
            aside = side * self._config.aside_m * strokes.ways[:, ::-1] * [-1.0, 1.0]
            change = Strokes(strokes.starts + aside, strokes.ways).motions(self._outline, belief.physics) - motions
            far = np.hypot(change[..., 0], change[..., 1]) + self._config.arm_m * np.abs(change[..., 2])
            off = np.maximum(off, far)
        return off

    def first(self, pose: Pose, place: Point, table: Table, library: Table, left_s: float) -> int | None:
        """The row of the table that the best plan begins with; None where nothing is better than to leave it.

        The table has strokes from where the tip is, then the library; `left_s` is the time that is left.
        """
        from gemel.services.policy.stroke_kernel import plan_costs

        config = self._config
        speed = 1.1 * self._bound_m / self._period_s
        weights = np.array([config.arm_m, config.second_m, self.ring.length_m, speed, left_s])
        reach, goal = np.array(_REACH), self._goal
        leave = np.array([[*place, self.ring.at(place[None])[0]]])
        costs = plan_costs(pose[None], leave, np.zeros(1), table[:, :10], goal, reach, weights)[0]
        change = np.where(np.arange(len(table)) < len(table) - len(library), 0.0, config.change_m)
        value = costs + change
        chosen = self._beam(costs)
        roots, poses, leaves = chosen, composed(pose[None], table[chosen, :3]), table[chosen, 10:]
        spent = self._seconds(leave, table[chosen], weights)
        for _ in range(config.depth - 1 if len(chosen) else 0):
            then = plan_costs(poses, leaves, spent, library[:, :10], goal, reach, weights)
            np.minimum.at(value, roots, then.min(axis=1) + change[roots])
            flat = self._beam(then.reshape(-1))
            if not len(flat):
                break
            before, after = np.divmod(flat, len(library))
            spent = spent[before] + self._seconds(leaves[before], library[after], weights)
            poses, leaves, roots = composed(poses[before], library[after, :3]), library[after, 10:], roots[before]
        best = int(np.argmin(value))
        off = pose - self._goal
        now = float(np.hypot(off[0], off[1]) + config.arm_m * abs(float(wrapped(off[2:])[0])))
        return best if value[best] < now else None

    def _beam(self, costs: Float[np.ndarray, " n"]) -> Int[np.ndarray, " b"]:
        """The best plans, and some of the others: what is good in the end may look bad at first."""
        count = min(self._config.beam, len(costs))
        best = np.argpartition(costs, count - 1)[:count]
        fine = np.flatnonzero(np.isfinite(costs))
        some = fine[self._rng.integers(len(fine), size=count // 2)] if len(fine) else fine
        return np.concatenate([best[np.isfinite(costs[best])], some])

    def _seconds(
        self, leaves: Float[np.ndarray, "_ 3"], rows: Table, weights: Float[np.ndarray, "5"]
    ) -> Float[np.ndarray, " n"]:
        """Time of the way to strokes and of the strokes [s]."""
        apart = np.abs(leaves[:, 2] - rows[:, 7])
        straight = np.hypot(leaves[:, 0] - rows[:, 3], leaves[:, 1] - rows[:, 4])
        return np.asarray(np.maximum(straight, np.minimum(apart, weights[2] - apart)) / weights[3] + rows[:, 8])


def composed(poses: Float[np.ndarray, "#n 3"], motions: Float[np.ndarray, "n 3"]) -> Planar:
    """Poses after motions that are given in each pose's own frame."""
    x, y, yaw = poses.T
    c, s = np.cos(yaw), np.sin(yaw)
    return np.column_stack(
        [x + c * motions[:, 0] - s * motions[:, 1], y + s * motions[:, 0] + c * motions[:, 1], yaw + motions[:, 2]]
    )
