"""The last states of simulations, written to a folder when one of them breaks down, so that it can be looked at again.

A dump is three files: `model.mjb`, MuJoCo's own format, with the values of that simulation; `states.npz`, positions,
velocities and commands of the last control periods, oldest first, with what its drives held at the start of one; and
`parameters.json`. `replay` runs it again from there. Nothing here stops the simulations: a recorder that cannot write
says so once, and one that has written enough only counts.
"""

import itertools
import json
import re
import shutil
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.sim.drives import DriveState, is_drive_parameter
from gemel.services.sim.simulator import Rollout

MOST_DUMPS = 20
"""What one recorder writes: a scene that breaks down often does so for one reason."""
_STRIDE = 25
"""What drives hold is large, and on a GPU far away: it is fetched once in so many periods."""
_NUMBERED = re.compile(r"diverged-(\d+)")


class FlightRecorder:
    """Remembers the last `keep` periods of all simulations."""

    def __init__(self, folder: Path, *, keep: int = 50, most: int = MOST_DUMPS) -> None:
        self.folder = folder
        self.left_out = 0
        """Break-downs that were not written: too many of them, or a disk that does not take them."""
        self._periods: deque[tuple[np.ndarray, np.ndarray, np.ndarray, DriveState | None]] = deque(maxlen=keep)
        self._stride, self._noted = min(_STRIDE, keep), 0
        self.room = most
        """How many more dumps this recorder writes."""
        self._is_warned = False

    def clear(self) -> None:
        """Forget everything: the simulations start again."""
        self._periods.clear()

    def note(
        self,
        qpos: Float[np.ndarray, "sim nq"],
        qvel: Float[np.ndarray, "sim nv"],
        commands: Float[np.ndarray, "sim nu"],
        drives: Callable[[], DriveState] | None = None,
    ) -> None:
        """States at the start of a period and the commands that were given for it; kept, so do not write to them.

        `drives` tells what drives hold: `drive_state` of the simulations, asked now and then.
        """
        is_asked = drives is not None and self._noted % self._stride == 0
        self._periods.append((qpos, qvel, commands, drives() if drives is not None and is_asked else None))
        self._noted += 1

    def dump(
        self,
        sim: int,
        model: Any,
        *,
        every: int,
        parameters: Mapping[str, float],
        periods: int | None = None,
        is_ramp: bool = False,
    ) -> Path | None:
        """Write what led to the break-down of one simulation; `model` is its own `mujoco.MjModel`.

        `every` and `is_ramp` say how commands were carried out, as in `rollout`. `periods` are those since its reset:
        older ones belong to another episode. None where nothing was written.
        """
        if self.room < 1:
            self.left_out += 1
            return None
        self.room -= 1
        how = {"every": np.array(every), "is_ramp": np.array(is_ramp)}
        try:
            target = self._new_folder()
            try:
                self._write(target, sim, model, parameters, self._rows(sim, periods) | how)
            except OSError:
                shutil.rmtree(target, ignore_errors=True)
                raise
        except OSError as error:
            self.left_out += 1
            self._warn(error)
            return None
        return target

    def _new_folder(self) -> Path:
        """A folder of the next number; another process may take that one meanwhile, then it is the one after."""
        self.folder.mkdir(parents=True, exist_ok=True)
        taken = [int(found[1]) for path in self.folder.iterdir() if (found := _NUMBERED.fullmatch(path.name))]
        for number in itertools.count(max(taken, default=-1) + 1):
            target = self.folder / f"diverged-{number:04d}"
            try:
                target.mkdir()
            except FileExistsError:
                continue
            return target
        raise AssertionError("numbers do not end")

    def _rows(self, sim: int, periods: int | None) -> dict[str, np.ndarray]:
        """What was noted of one simulation since its reset, oldest first."""
        oldest = 0 if periods is None else max(0, len(self._periods) - periods)
        kept = list(self._periods)[oldest:]
        rows = {
            name: np.array([period[i][sim] for period in kept])  # type: ignore[index]
            for i, name in enumerate(("qpos", "qvel", "commands"))
        }
        held = [(at, period[3]) for at, period in enumerate(kept) if period[3] is not None]
        if held:
            at, (past, link) = held[0]
            rows |= {"drive_past": past[sim], "drive_link": link[sim], "drive_period": np.array(at)}
        return rows

    def _write(
        self, target: Path, sim: int, model: Any, parameters: Mapping[str, float], rows: Mapping[str, np.ndarray]
    ) -> None:
        import mujoco

        np.savez(target / "states.npz", allow_pickle=False, **rows)
        facts = {"simulation": sim, "parameters": {name: float(value) for name, value in parameters.items()}}
        (target / "parameters.json").write_text(json.dumps(facts, indent=1))
        whole = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
        mujoco.mj_saveModel(model, None, whole)  # a file that MuJoCo writes itself may end early without a word
        (target / "model.mjb").write_bytes(whole.tobytes())

    def _warn(self, error: OSError) -> None:
        if not self._is_warned:
            self._is_warned = True
            warnings.warn(
                f"The record of a simulation that broke down cannot be written to {self.folder}: {error.strerror}. "
                "Simulations go on without. Check permissions and free space, or give another folder.",
                stacklevel=2,
            )


def replay(folder: Path) -> Rollout:
    """What a dump's commands lead to, on the processor: the break-down once more.

    From the oldest state of which it is known what drives held; else from the oldest, drives as after a reset.
    """
    import mujoco

    from gemel.services.sim.native import SimulatorNative

    with np.load(folder / "states.npz", allow_pickle=False) as file:
        states = {name: file[name] for name in file.files}
    parameters = json.loads((folder / "parameters.json").read_text())["parameters"]
    simulator = SimulatorNative(mujoco.MjModel.from_binary_path(str(folder / "model.mjb")), 1, threads=1)
    drives = [name for name in parameters if is_drive_parameter(name)]  # the rest is in the model
    if drives:
        simulator.set_parameters(drives, np.array([[parameters[name] for name in drives]]))
    first = int(states.get("drive_period", 0))
    simulator.reset(states["qpos"][first : first + 1], states["qvel"][first : first + 1])
    if "drive_past" in states:
        simulator.resume_drives(states["drive_past"][None], states["drive_link"][None])
    commands, every = states["commands"][None, first:], int(states["every"])
    return simulator.rollout(commands, every=every, is_ramp=bool(states["is_ramp"]))
