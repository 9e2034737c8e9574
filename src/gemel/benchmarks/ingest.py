"""`gemel bench ingest`: time over hashing the same bytes, and peak memory at one and eight times the length.

The log is a LeRobot v3.0 set of real H.264 video (noise, so that it does not compress away): one 16 MB file is
encoded and repeated, each copy made distinct by a trailing `free` box, with its own joint data. The full size is
64 files, 1 GB, 256 episodes, 100,000 steps. `gemel run --until ingest` runs as a process of its own, start-up
included; hashing is `hashlib.sha256` over the same files on one thread, interleaved, best of three.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter

_JOINTS = tuple(f"joint{i}" for i in range(6))
_EPISODES_PER_FILE = 4
_CAMERA = "front"
_KEY = f"observation.images.{_CAMERA}"


def bench_ingest(*, quick: bool, seed: int) -> tuple[dict[str, float], list[dict[str, object]]]:
    """Figures `time_over_sha256`, `peak_mb_1x`, `peak_mb_8x`, and one row per size."""
    file_count, step_count = (8, 20) if quick else (64, 400)
    rounds = 1 if quick else 3
    with tempfile.TemporaryDirectory(prefix="gemel-bench-") as folder:
        root = Path(folder)
        unit = _write_unit(root / "unit", step_count, seed)
        small = _repeat(unit, root / "small", file_count // 8, seed)
        large = _repeat(unit, root / "large", file_count, seed)
        rows = [_measure(name, log, root, rounds) for name, log in (("1x", small), ("8x", large))]
    figures = {
        "time_over_sha256": float(str(rows[1]["time_over_sha256"])),
        "peak_mb_1x": float(str(rows[0]["peak_mb"])),
        "peak_mb_8x": float(str(rows[1]["peak_mb"])),
    }
    return figures, rows


def _measure(name: str, log: Path, root: Path, rounds: int) -> dict[str, object]:
    files = sorted(path for path in log.rglob("*") if path.is_file())
    size_mb = sum(path.stat().st_size for path in files) / 1e6
    _sha256_seconds(files)  # brings every file into the page cache, for both sides alike
    hashing, ingesting, peak_mb = [], [], 0.0
    for i in range(rounds):
        hashing.append(_sha256_seconds(files))
        seconds, peak = _ingest_seconds(log, root / f"project-{name}-{i}")
        ingesting.append(seconds)
        peak_mb = max(peak_mb, peak)
    return {
        "size": name,
        "megabytes": round(size_mb, 1),
        "files": len(files),
        "sha256_s": round(min(hashing), 3),
        "ingest_s": round(min(ingesting), 3),
        "time_over_sha256": round(min(ingesting) / min(hashing), 3),
        "peak_mb": round(peak_mb, 1),
    }


def _sha256_seconds(files: list[Path]) -> float:
    start = time.perf_counter()
    for path in files:
        digest = hashlib.sha256()
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return time.perf_counter() - start


def _ingest_seconds(log: Path, project: Path) -> tuple[float, float]:
    """Wall time and peak resident memory [MB] of `gemel run --until ingest` in a process of its own."""
    project.mkdir()
    joints = "".join(f'[joints.{name}]\nunit = "rad"\n' for name in _JOINTS)
    (project / "twin.toml").write_text(f'[capture]\nsource = "{log}"\n{joints}')
    command = [sys.executable, "-m", "gemel", "run", str(project), "--until", "ingest"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(command)} failed")
    return seconds, usage.ru_maxrss / 1e3


def _write_unit(root: Path, step_count: int, seed: int) -> Path:
    """One video file with its episodes."""
    rng = np.random.default_rng(seed)
    spec = LerobotSpec(30.0, _JOINTS, _JOINTS, {_CAMERA: (480, 360)})
    with LerobotWriter(root, spec) as writer:
        for _ in range(_EPISODES_PER_FILE):
            state = rng.normal(size=(step_count, len(_JOINTS))).cumsum(axis=0) * 0.01
            images = (_noise(rng) for _ in range(step_count))
            writer.add_episode(task="bench", state=state, action=state, images={_CAMERA: images})
    return root


def _noise(rng: np.random.Generator) -> np.ndarray:
    """A frame that encodes to about 10 kB."""
    coarse = rng.integers(100, 156, size=(36, 48, 3), dtype=np.uint8)
    return coarse.repeat(10, axis=0).repeat(10, axis=1)


def _repeat(unit: Path, target: Path, count: int, seed: int) -> Path:
    """A log of `count` video files, each a distinct copy of the unit's, with joint data of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed + 1)
    data = pq.read_table(unit / "data/chunk-000/file-000.parquet")
    rows = pq.read_table(unit / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    video = (unit / f"videos/{_KEY}/chunk-000/file-000.mp4").read_bytes()
    (target / "data/chunk-000").mkdir(parents=True)
    (target / f"videos/{_KEY}/chunk-000").mkdir(parents=True)
    (target / "meta/episodes/chunk-000").mkdir(parents=True)
    listed = []
    for i in range(count):
        tail = (24).to_bytes(4, "big") + b"free" + rng.bytes(16)
        (target / f"videos/{_KEY}/chunk-000/file-{i:03d}.mp4").write_bytes(video + tail)
        state = rng.normal(size=(data.num_rows, len(_JOINTS))).astype(np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(state.reshape(-1)), len(_JOINTS))
        episodes = data["episode_index"].to_numpy() + i * len(rows)
        table = data.set_column(data.schema.get_field_index("observation.state"), "observation.state", column)
        table = table.set_column(table.schema.get_field_index("episode_index"), "episode_index", pa.array(episodes))
        pq.write_table(table, target / f"data/chunk-000/file-{i:03d}.parquet", row_group_size=data.num_rows)
        listed += [
            row | {"episode_index": row["episode_index"] + i * len(rows), "data/file_index": i,
                   f"videos/{_KEY}/file_index": i}
            for row in rows
        ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(listed), target / "meta/episodes/chunk-000/file-000.parquet")
    shutil.copy(unit / "meta/tasks.parquet", target / "meta/tasks.parquet")
    info = json.loads((unit / "meta/info.json").read_text())
    info |= {"total_episodes": len(listed), "total_frames": data.num_rows * count}
    (target / "meta/info.json").write_text(json.dumps(info))
    return target
