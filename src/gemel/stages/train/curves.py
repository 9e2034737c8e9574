"""How training goes: success of the episodes that ended, over control steps and seconds, for each agent."""

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.stages.train.push_env import PushEnv, Step


@dataclass
class Curve:
    """One agent's learning curve, one entry for each update."""

    steps: list[int] = field(default_factory=list)
    """Control steps of this agent so far."""
    seconds: list[float] = field(default_factory=list)
    """Since training began, pauses between two runs left out."""
    success: list[float] = field(default_factory=list)
    """Part of the last episodes that ended inside the task's tolerance, with exploration; -1 before any."""
    reward: list[float] = field(default_factory=list)
    """Mean reward of a control step."""

    def at_success(self, level: float) -> float | None:
        """Seconds until this success was reached first."""
        return next((s for s, found in zip(self.seconds, self.success, strict=True) if found >= level), None)


class Scores:
    """Collects what episodes came to."""

    def __init__(self, names: Sequence[str], window: int) -> None:
        """Success is taken over at least `window` episodes, where there have been as many."""
        self.curves = {name: Curve() for name in names}
        self._window = window
        self._ends: list[deque[tuple[int, int]]] = [deque() for _ in names]
        self._now = np.zeros((len(names), 3))

    def note(self, env: PushEnv, step: Step) -> None:
        """One control period of all worlds."""
        shape = (len(self._ends), env.worlds_each)
        counted = step.is_counted.reshape(shape)
        self._now[:, 0] += counted.sum(axis=1)
        self._now[:, 1] += (counted & step.is_success.reshape(shape)).sum(axis=1)
        self._now[:, 2] += step.rewards.reshape(shape).mean(axis=1, dtype=np.float64)

    def close(self, steps: int, seconds: float, rollout: int) -> None:
        """An update is done: one more point of all curves."""
        for i, curve in enumerate(self.curves.values()):
            ends = self._ends[i]
            ends.append((int(self._now[i, 0]), int(self._now[i, 1])))
            while len(ends) > 1 and sum(n for n, _ in ends) - ends[0][0] >= self._window:
                ends.popleft()
            total = sum(n for n, _ in ends)
            curve.steps.append(steps)
            curve.seconds.append(round(seconds, 3))
            curve.success.append(round(sum(k for _, k in ends) / total, 4) if total else -1.0)
            curve.reward.append(round(float(self._now[i, 2]) / rollout, 6))
        self._now[:] = 0.0

    @property
    def latest(self) -> Float[np.ndarray, " agent"]:
        """Each agent's success now, 0 before any episode ended."""
        return np.array([max(curve.success[-1], 0.0) if curve.success else 0.0 for curve in self.curves.values()])

    def as_dict(self) -> dict[str, Any]:
        """For a state file."""
        return {name: asdict(curve) for name, curve in self.curves.items()}

    def restore(self, found: dict[str, Any]) -> float:
        """Go on from a state file; returns the seconds so far."""
        self.curves = {name: Curve(**values) for name, values in found.items()}
        return max((curve.seconds[-1] for curve in self.curves.values() if curve.seconds), default=0.0)
