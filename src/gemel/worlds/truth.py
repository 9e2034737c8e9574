"""The sealed truth of a recorded world: a folder beside the dataset, opened only by benchmarks and tests.

`DIR.truth/truth.json` holds what is constant, `episode_000.npz` what changes, `mesh.npz` the object's surface. Nothing
in the dataset refers to it.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.camera import Camera
from gemel.errors import SourceError
from gemel.geometry import SE3
from gemel.services.formats.calibration import camera_from_table, camera_table
from gemel.worlds.scenario import World
from gemel.worlds.scene import object_inertia
from gemel.worlds.simulate import Simulated

_NOTE = "The truth of a stand-in world. Fitting anything to it makes every figure about that fit worthless."


@dataclass(frozen=True, eq=False)
class EpisodeTruth:
    """What really happened in one episode."""

    times_s: Float[np.ndarray, " t"]
    """Times of the recorded steps [s]."""
    Ts_world_object: SE3
    joint_positions: Float[np.ndarray, "t joint"]
    tool_force: Float[np.ndarray, " t"]
    """Normal force of the tools on the object [N]."""
    penetration: Float[np.ndarray, " t"]
    """Deepest overlap of two bodies [m]."""
    swept_friction: float
    """Mean table friction over the area that the object swept; NaN when it did not move."""
    is_success: bool | None
    events: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth of one recorded world."""

    task: str
    object_name: str
    parameters: dict[str, float]
    """True values by the names that `Belief` uses, SI units."""
    mass_kg: float
    com: Float[np.ndarray, "3"]
    """Centre of mass in the object frame [m]."""
    inertia: Float[np.ndarray, "3 3"]
    """About the centre of mass, in the object frame [kg·m²]."""
    joint_offsets: Float[np.ndarray, " joint"]
    """Reading minus true angle [rad]."""
    T_world_bases: dict[str, SE3]
    cameras: tuple[Camera, ...]
    actuator_lag_s: float
    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    episodes: tuple[EpisodeTruth, ...]


def truth_folder(dataset: Path) -> Path:
    """Where the truth of a dataset is kept."""
    return dataset.with_name(dataset.name + ".truth")


def write_truth(folder: Path, world: World, episodes: Sequence[Simulated]) -> None:
    """Seal the truth of a recording."""
    folder.mkdir(parents=True)
    model = world.scenario.model
    np.savez_compressed(folder / "mesh.npz", vertices=model.vertices, faces=model.faces)
    for simulated in episodes:
        kept = simulated.is_kept
        arrays = {name: values[kept] for name, values in simulated.log.items()}
        np.savez_compressed(
            folder / f"episode_{simulated.job.episode:03d}.npz",
            times_s=simulated.episode.times_s[kept],
            object_poses=simulated.object_poses[kept],
            **arrays,
        )
    text = json.dumps(_constants(world, episodes), indent=1, allow_nan=True)
    (folder / "truth.json").write_text(text + "\n", encoding="utf-8")


def read_truth(folder: Path) -> Truth:
    """Open the truth of a recording."""
    if not (folder / "truth.json").exists():
        raise SourceError(f"There is no truth at {folder}.", remedy="record the world again to get it")
    table = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    with np.load(folder / "mesh.npz") as mesh:
        vertices, faces = mesh["vertices"], mesh["faces"]
    return Truth(
        task=table["task"],
        object_name=table["object"]["name"],
        parameters=table["parameters"],
        mass_kg=table["object"]["mass_kg"],
        com=np.array(table["object"]["com"]),
        inertia=np.array(table["object"]["inertia"]),
        joint_offsets=np.array(table["joint_offsets"]),
        T_world_bases={n: SE3.from_wxyz_xyz(np.array(row)) for n, row in table["bases"].items()},
        cameras=tuple(camera_from_table(name, row) for name, row in table["cameras"].items()),
        actuator_lag_s=table["imperfections"]["actuator_lag_s"],
        vertices=vertices,
        faces=faces,
        episodes=tuple(_read_episode(folder, row) for row in table["episodes"]),
    )


def _constants(world: World, episodes: Sequence[Simulated]) -> dict[str, Any]:
    hidden, model = world.hidden, world.scenario.model
    inertia = object_inertia(model, hidden)
    return {
        "note": _NOTE,
        "task": world.task.name,
        "seed": world.config.seed,
        "object": {
            "name": model.name,
            "mass_kg": inertia.mass_kg,
            "com": inertia.p_BoBcm_B.tolist(),
            "inertia": inertia.I_BBcm_B.tolist(),
        },
        "parameters": dict(hidden.parameters),
        "joint_offsets": hidden.joint_offsets.tolist(),
        "bases": {name: pose.wxyz_xyz.tolist() for name, pose in hidden.T_world_bases.items()},
        "cameras": {camera.name: camera_table(camera) for camera in hidden.cameras},
        "friction_map": {"mean": hidden.friction.mean, "amplitude": hidden.friction.amplitude,
                         "waves": hidden.friction.waves.tolist()},
        "imperfections": dataclasses.asdict(world.config.imperfections),
        "episodes": [_episode_row(simulated) for simulated in episodes],
    }  # fmt: skip


def _episode_row(simulated: Simulated) -> dict[str, Any]:
    return {
        "episode": simulated.job.episode,
        "is_scan": simulated.job.is_scan,
        "initial_condition": dict(simulated.initial_condition),
        "swept_friction": simulated.swept_friction,
        "is_success": simulated.is_success,
        "events": [list(event) for event in simulated.events],
    }


def _read_episode(folder: Path, row: dict[str, Any]) -> EpisodeTruth:
    with np.load(folder / f"episode_{row['episode']:03d}.npz") as arrays:
        return EpisodeTruth(
            times_s=arrays["times_s"],
            Ts_world_object=SE3.from_wxyz_xyz(arrays["object_poses"]),
            joint_positions=arrays["joint_positions"],
            tool_force=arrays["tool_force"],
            penetration=arrays["penetration"],
            swept_friction=row["swept_friction"],
            is_success=row["is_success"],
            events=tuple((str(name), float(time_s)) for name, time_s in row["events"]),
        )
