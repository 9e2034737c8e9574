"""Property tests: whatever happens to the files of a log, Gemel reads it or says what is wrong, and never crashes."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # noqa: TID253 (to damage tables on purpose)
import pyarrow.parquet as pq  # noqa: TID253
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.worlds.waving_arm import WavingArm, write_log
from services.formats.mutations import FILES, KINDS, Mutation, check_outcome

PARTS = st.floats(0.0, 1.0, exclude_max=True)
MUTATIONS = st.builds(
    Mutation,
    file=st.sampled_from(FILES),
    kind=st.sampled_from(KINDS),
    at=PARTS,
    size=PARTS.map(lambda part: 0.3 * part**6),  # mostly a few bytes, sometimes a third of the file
    byte=st.integers(1, 255),
)
LIGHT = settings(max_examples=30, deadline=None, derandomize=True)


@pytest.fixture(scope="module", params=["h264", "av1"])
def tiny_log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes of eight steps; read only."""
    root = tmp_path_factory.mktemp("tiny") / "log"
    return write_log(root, WavingArm(episode_count=2, step_count=8, codec=request.param, has_sidecar=True))


@pytest.fixture(scope="module")
def tiny_h264(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tiny") / "log"
    return write_log(root, WavingArm(episode_count=2, step_count=8, has_sidecar=True))


class damaged_copy:  # noqa: N801 (reads as a verb)
    """A copy of a log, and a place for a project, for the length of a `with`."""

    def __init__(self, log: Path) -> None:
        self._top = Path(tempfile.mkdtemp())
        self.root = Path(shutil.copytree(log, self._top / "log"))
        self.project = self._top / "project"

    def __enter__(self) -> "damaged_copy":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._top)


@LIGHT
@given(damage=st.lists(MUTATIONS, min_size=1, max_size=2, unique_by=lambda mutation: mutation.file))
def test_damaged_bytes(tiny_log: Path, damage: list[Mutation]) -> None:
    """Cut, flipped, zeroed, deleted, swapped, grown, emptied: one or two files at a time."""
    with damaged_copy(tiny_log) as copy:
        for mutation in sorted(damage, key=lambda m: m.kind != "swap"):
            mutation.apply(copy.root)
        check_outcome(copy.root, copy.project)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["../x", "/etc", "{0}", "video", "image", "\ud800", "\x1b[31m", "[/red]"]),
    st.lists(st.integers(-3, 10**9), max_size=4),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every value of a JSON tree."""
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


@LIGHT
@given(data=st.data())
def test_info_with_anything_anywhere(tiny_h264: Path, data: st.DataObject) -> None:
    """Any value of info.json replaced by anything that JSON can say, or taken out."""
    tree = json.loads((tiny_h264 / "meta" / "info.json").read_text())
    *path, last = data.draw(st.sampled_from(_places(tree)[1:]))
    parent = tree
    for key in path:
        parent = parent[key]
    if data.draw(st.booleans()):
        parent[last] = data.draw(JUNK)
    else:
        del parent[last]
    with damaged_copy(tiny_h264) as copy:
        (copy.root / "meta" / "info.json").write_text(json.dumps(tree))
        check_outcome(copy.root, copy.project)


CELLS = st.sampled_from(
    [None, -1, 0, 3, 2**62, -(2**63), np.nan, np.inf, -np.inf, 1e300, 0.5, "x", "", [1.0], [], {"k": 1}]
)


@LIGHT
@given(
    file=st.sampled_from([file for file in FILES if file.endswith("parquet")]),
    place=st.tuples(PARTS, PARTS),
    cell=CELLS,
    is_whole_column=st.booleans(),
)
def test_tables_with_anything_anywhere(
    tiny_h264: Path, file: str, place: tuple[float, float], cell: Any, is_whole_column: bool
) -> None:
    """Any cell or column of any table replaced by something else, in a file that is itself in order."""
    with damaged_copy(tiny_h264) as copy:
        path = copy.root / file
        table = pq.read_table(path)
        column = int(place[0] * table.num_columns)
        values = table.column(column).to_pylist()
        row = int(place[1] * len(values))
        values = [cell] * len(values) if is_whole_column else [*values[:row], cell, *values[row + 1 :]]
        try:
            changed = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return  # no column can hold such a mixture
        pq.write_table(table.set_column(column, table.column_names[column], changed), path)
        check_outcome(copy.root, copy.project)


@pytest.mark.slow
def test_no_damage_ends_the_process(tiny_log: Path) -> None:
    """In a process of its own, which must end by itself: a crash inside pyarrow or the decoder would show."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        mutation = Mutation(
            file=str(rng.choice(FILES[1:6])), kind="flip", at=float(rng.uniform(0.02, 0.98)),
            size=float(0.05 * rng.uniform() ** 3), byte=int(rng.integers(1, 256)),
        )  # fmt: skip
        with damaged_copy(tiny_log) as copy:
            mutation.apply(copy.root)
            command = [sys.executable, "-m", "services.formats.mutations", str(copy.root), str(copy.project)]
            done = subprocess.run(
                command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode in (0, 1, 2), f"{mutation}: {done.returncode}\n{done.stderr[-2000:]}"
            assert "Traceback" not in done.stderr, done.stderr[-2000:]
