"""The last states of simulations, written to a folder when one of them breaks down, so that it can be looked at again.

A dump is three files: `model.mjb`, MuJoCo's own format, with the values of that simulation; `states.npz`, positions,
velocities and commands of the last control periods, oldest first; and `parameters.json`.
"""

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import StoreError


class FlightRecorder:
    """Remembers the last `keep` periods of all simulations."""

    def __init__(self, folder: Path, *, keep: int = 50) -> None:
        self.folder = folder
        self._periods: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=keep)

    def clear(self) -> None:
        """Forget everything: the simulations start again."""
        self._periods.clear()

    def note(
        self,
        qpos: Float[np.ndarray, "sim nq"],
        qvel: Float[np.ndarray, "sim nv"],
        commands: Float[np.ndarray, "sim nu"],
    ) -> None:
        """States at the start of a period and the commands that were given for it; kept, so do not write to them."""
        self._periods.append((qpos, qvel, commands))

    def dump(self, sim: int, model: Any, *, every: int, parameters: Mapping[str, float]) -> Path:
        """Write what led to the break-down of one simulation; `model` is its own `mujoco.MjModel`."""
        import mujoco

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            number = len([path for path in self.folder.iterdir() if path.name.startswith("diverged-")])
            target = self.folder / f"diverged-{number:04d}"
            target.mkdir()
            mujoco.mj_saveModel(model, str(target / "model.mjb"), None)
            names = ("qpos", "qvel", "commands")
            rows = {name: np.array([period[i][sim] for period in self._periods]) for i, name in enumerate(names)}
            np.savez(target / "states.npz", allow_pickle=False, every=np.array(every), **rows)
            facts = {"simulation": sim, "parameters": {name: float(value) for name, value in parameters.items()}}
            (target / "parameters.json").write_text(json.dumps(facts, indent=1))
        except OSError as error:
            raise StoreError(
                f"The record of a simulation that broke down cannot be written to {self.folder}: {error.strerror}.",
                remedy="check permissions and free space, or give another folder",
            ) from error
        return target
