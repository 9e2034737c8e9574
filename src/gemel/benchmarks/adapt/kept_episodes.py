"""Episodes that were run before: a benchmark of an hour that is cut short goes on where it was.

An episode is found again only where everything that it came from is the same: world, registration (and so the twin),
networks, variant, number and every line of code that it runs.
"""

from dataclasses import fields
from pathlib import Path

import numpy as np

from gemel.benchmarks.adapt.files import network_files
from gemel.benchmarks.adapt.watched import Watch, Watched, run_watched
from gemel.services.formats.tensor_file import read_tensors, write_tensors
from gemel.store.address import hash_file, hash_json
from gemel.store.code_version import code_version


def kept_or_run(watch: Watch) -> Watched:
    """An episode from its file, or run and written to it."""
    path = _path(watch)
    if path.is_file():
        arrays, _ = read_tensors(path)
        return Watched(**{field.name: np.array(arrays[field.name]) for field in fields(Watched)})
    watched = run_watched(watch)
    write_tensors(path, {field.name: getattr(watched, field.name) for field in fields(Watched)}, {})
    return watched


def _path(watch: Watch) -> Path:
    recording = watch.scene.recording
    name = f"{watch.variant}-{watch.job.cell.name}-{watch.number}-{_key(watch)[:16]}.safetensors"
    return recording.with_name(recording.name + ".episodes") / name


def _key(watch: Watch) -> str:
    job, folder = watch.job, Path(watch.job.folder)
    files = network_files(folder, job.cell.task_name, watch.variant, job.seed, job.base)
    poses = (watch.registration.T_world_twin, watch.registration.T_object_task)
    return hash_json({
        "code": code_version("gemel.benchmarks.adapt.watched"),
        "networks": [hash_file(file) for file in files],
        "scene": [watch.scene.pushes.name, watch.scene.seed],
        "registration": [pose.as_matrix().ravel().tolist() for pose in poses],
        "episode": [job.cell.name, watch.variant, watch.number, watch.steps],
    })  # fmt: skip
