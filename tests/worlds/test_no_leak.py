"""No recorded number equals or encodes a sealed one.

Three statements: what the lab tells is the same for every seed (see `test_record.py`); no number of the dataset, its
statistics included, equals a sealed value or a simple function of one; and the first readings of a log, which could
give the encoders' offsets away, are the same in every world.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gemel
from gemel.worlds.truth import Truth, read_truth
from recorded_worlds import Recorded

SAMPLE = Path(gemel.__file__).parent / "samples" / "push_t"
SAMPLE_TRUTH = Path(__file__).parents[1] / "data" / "push_t_truth"


def _sealed(truth: Truth) -> dict[str, float]:
    """Every sealed number by name: parameters, inertia, offsets, bases, true cameras, felt friction."""
    values = {f"parameter/{name}": value for name, value in truth.parameters.items()}
    values |= {f"com/{axis}": float(c) for axis, c in zip("xyz", truth.com, strict=True)}
    values |= {f"inertia/{i}": float(truth.inertia[i, i]) for i in range(3)}
    values |= {f"offset/{i}": float(offset) for i, offset in enumerate(truth.joint_offsets)}
    for name, pose in truth.T_world_bases.items():
        values |= {f"base/{name}/{i}": float(v) for i, v in enumerate(pose.wxyz_xyz)}
    for camera in truth.cameras:
        assert camera.model is not None
        assert camera.T_parent_camera is not None
        values |= {f"camera/{camera.name}/{i}": float(v) for i, v in enumerate(camera.T_parent_camera.wxyz_xyz)}
        values |= {f"camera/{camera.name}/focal": camera.model.fx, f"camera/{camera.name}/delay": camera.time_offset_s}
    values |= {f"felt/{i}": episode.swept_friction for i, episode in enumerate(truth.episodes)}
    # Exact zeros and ones are conventions (a base that stands upright), not information.
    return {name: v for name, v in values.items() if np.isfinite(v) and v not in (0.0, 1.0)}


def _numbers(tree: Any) -> Iterator[float]:
    if isinstance(tree, dict):
        for value in tree.values():
            yield from _numbers(value)
    elif isinstance(tree, list | tuple | np.ndarray):
        for value in tree:
            yield from _numbers(value)
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield float(tree)


def _recorded(folder: Path) -> np.ndarray:
    """Every number of the dataset: tables, statistics, side-car, info, robot model, video times."""
    import pyarrow.parquet as pq

    found: list[float] = []
    for path in sorted(folder.rglob("*.parquet")):
        found += _numbers(pq.read_table(path).to_pylist())
    for path in sorted(folder.rglob("*.json")):
        found += _numbers(json.loads(path.read_text()))
    found += _numbers(tomllib.loads((folder / "meta" / "gemel.toml").read_text()))
    text = (folder / "meta" / "robot.xml").read_text().replace('"', " ").split()
    found += [float(word) for word in text if _is_number(word)]
    return np.array(found)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _disguises(value: float) -> dict[str, float]:
    """The value, and what somebody might store instead of it."""
    return {
        "itself": value, "negative": -value, "degrees": float(np.degrees(value)), "millimetres": 1e3 * value,
        "inverse": 1.0 / value, "square": value**2, "logarithm": float(np.log(abs(value))),
    }  # fmt: skip


@pytest.mark.parametrize("which", ["recorded", "recorded_other"])
def test_no_number_of_the_dataset_is_a_sealed_one(which: str, request: pytest.FixtureRequest) -> None:
    """To single precision no recorded number equals a sealed one, in any of several disguises."""
    recording: Recorded = request.getfixturevalue(which)
    numbers = np.sort(np.unique(_recorded(recording.folder).astype(np.float32)).astype(np.float64))
    sealed = _sealed(recording.truth)
    assert len(sealed) > 30
    for name, value in sealed.items():
        for disguise, told in _disguises(value).items():
            nearest = numbers[np.argmin(np.abs(numbers - told))]
            assert abs(nearest - told) > 2e-7 * abs(told), f"{name} ({disguise}) = {told} is recorded"


def test_no_number_of_the_bundled_sample_is_a_sealed_one() -> None:
    """The same for the sample capture: ten times as many numbers, each compared with every sealed value itself."""
    numbers = np.unique(_recorded(SAMPLE).astype(np.float32))
    sealed = _sealed(read_truth(SAMPLE_TRUTH))
    assert any(name.startswith("felt/") for name in sealed)
    leaked = [name for name, value in sealed.items() if np.isin(np.float32(value), numbers)]
    assert leaked == []


def test_the_check_would_notice_a_leak(recorded: Recorded) -> None:
    """A sealed value put among the numbers is found: the test above can fail."""
    value = recorded.truth.parameters["object/t_block/com_y"]
    numbers = np.append(_recorded(recorded.folder), np.degrees(value)).astype(np.float32).astype(np.float64)
    assert np.abs(numbers - np.degrees(value)).min() <= 2e-7 * abs(np.degrees(value))


def test_readings_at_the_start_do_not_depend_on_the_truth(recorded: Recorded, recorded_other: Recorded) -> None:
    """The arm drives to its first view by its encoders: both worlds log the same pose there, up to noise."""
    from gemel.services.formats.source import open_source

    starts = [next(iter(open_source(r.folder).episodes(lambda f: None))).state[0] for r in (recorded, recorded_other)]
    offsets = [np.linalg.norm(r.truth.joint_offsets) for r in (recorded, recorded_other)]
    assert np.linalg.norm(starts[0] - starts[1]) < 0.4 * min(offsets)
