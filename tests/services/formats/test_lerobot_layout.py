"""The layout of a written LeRobot v3.0 dataset, field by field, against tables written out here."""

import json
from pathlib import Path
from typing import Any

import av  # noqa: TID253 (an independent look at what was written)
import numpy as np
import pyarrow as pa  # noqa: TID253 (an independent look at what was written)
import pyarrow.parquet as pq  # noqa: TID253 (an independent look at what was written)
import pytest

from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter
from services.formats.coded_frames import HEIGHT, WIDTH, coded_frames

KEY = "observation.images.front"
LENGTHS, FPS = (9, 14), 20

INFO = {
    "codebase_version": "v3.0",
    "robot_type": "so101_follower",
    "total_episodes": 2,
    "total_frames": 23,
    "total_tasks": 2,
    "chunks_size": 1000,
    "data_files_size_in_mb": 100,
    "video_files_size_in_mb": 200,
    "fps": 20,
    "splits": {"train": "0:2"},
    "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
    "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": [2], "names": ["pan.pos", "lift.pos"]},
    "action": {"dtype": "float32", "shape": [2], "names": ["pan.pos", "lift.pos"]},
    "observation.effort": {"dtype": "float32", "shape": [3], "names": None},
    "next.reward": {"dtype": "float32", "shape": [1], "names": None},
    KEY: {
        "dtype": "video",
        "shape": [48, 64, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": 48,
            "video.width": 64,
            "video.codec": "av1",
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": 20,
            "video.channels": 3,
            "has_audio": False,
        },
    },
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
DATA_COLUMNS = {
    "observation.state": "fixed_size_list<element: float>[2]",
    "action": "fixed_size_list<element: float>[2]",
    "observation.effort": "fixed_size_list<element: float>[3]",
    "next.reward": "float",
    "timestamp": "float",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
EPISODE_COLUMNS = {
    "episode_index": "int64",
    "tasks": "list<element: string>",
    "length": "int64",
    "data/chunk_index": "int64",
    "data/file_index": "int64",
    "dataset_from_index": "int64",
    "dataset_to_index": "int64",
    f"videos/{KEY}/chunk_index": "int64",
    f"videos/{KEY}/file_index": "int64",
    f"videos/{KEY}/from_timestamp": "double",
    f"videos/{KEY}/to_timestamp": "double",
    "meta/episodes/chunk_index": "int64",
    "meta/episodes/file_index": "int64",
}
STATISTICS = ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99")
WHOLE = ("frame_index", "episode_index", "index", "task_index")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes, one AV1 camera, two extras."""
    target = tmp_path_factory.mktemp("layout") / "set"
    spec = LerobotSpec(
        fps=FPS, joint_names=("pan.pos", "lift.pos"), action_names=("pan.pos", "lift.pos"),
        extras={"observation.effort": 3, "next.reward": 1}, camera_sizes={"front": (WIDTH, HEIGHT)},
        robot_type="so101_follower", codec="av1",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    with LerobotWriter(target, spec) as writer:
        for episode, count in enumerate(LENGTHS):
            writer.add_episode(
                task=f"task {episode}", state=rng.normal(size=(count, 2)), action=rng.normal(size=(count, 2)),
                extras={"observation.effort": rng.normal(size=(count, 3)), "next.reward": np.ones((count, 1))},
                images={"front": coded_frames(0, count)},
            )  # fmt: skip
    return target


def _schema(path: Path) -> dict[str, str]:
    return {field.name: str(field.type) for field in pq.ParquetFile(path).schema_arrow}


def test_files(root: Path) -> None:
    """These files and no others."""
    assert sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()) == [
        "data/chunk-000/file-000.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        "meta/info.json",
        "meta/stats.json",
        "meta/tasks.parquet",
        "videos/observation.images.front/chunk-000/file-000.mp4",
    ]


def test_info(root: Path) -> None:
    """info.json holds exactly these keys and values, in this order of features."""
    info = json.loads((root / "meta" / "info.json").read_text())
    features = info.pop("features")
    assert info == INFO
    assert features == FEATURES
    assert list(features) == list(FEATURES)


def test_data_columns(root: Path) -> None:
    """Vectors are fixed-length lists of float32, width 1 is a scalar, and there is no video column."""
    path = root / "data" / "chunk-000" / "file-000.parquet"
    assert _schema(path) == DATA_COLUMNS
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == list(LENGTHS)


def test_bookkeeping(root: Path) -> None:
    """frame_index counts within the episode, index through the set; timestamp is frame_index / fps as float32."""
    table = pq.read_table(root / "data" / "chunk-000" / "file-000.parquet")
    frame = np.concatenate([np.arange(n) for n in LENGTHS])
    episode = np.repeat([0, 1], LENGTHS)
    for name, expected in (
        ("frame_index", frame),
        ("episode_index", episode),
        ("index", np.arange(sum(LENGTHS))),
        ("task_index", episode),
        ("timestamp", (frame / FPS).astype(np.float32)),
    ):
        assert np.array_equal(table[name].to_numpy(), expected)


def test_episode_columns(root: Path) -> None:
    """The episode list has these columns, ten statistics of every feature, and nothing of our own."""
    expected = dict(EPISODE_COLUMNS)
    for feature in FEATURES:
        for name in STATISTICS:
            is_whole = name == "count" or (feature in WHOLE and name in ("min", "max"))
            is_image = feature == KEY and name != "count"
            kind = "list<element: int64>" if is_whole else "list<element: double>"
            expected[f"stats/{feature}/{name}"] = f"list<element: list<element: {kind}>>" if is_image else kind
    assert _schema(root / "meta" / "episodes" / "chunk-000" / "file-000.parquet") == expected


def test_episode_ranges_are_contiguous(root: Path) -> None:
    """Rows and seconds of one episode begin where those of the one before end."""
    rows = pq.read_table(root / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()
    assert [row["length"] for row in rows] == list(LENGTHS)
    assert [row["tasks"] for row in rows] == [["task 0"], ["task 1"]]
    assert [(row["dataset_from_index"], row["dataset_to_index"]) for row in rows] == [(0, 9), (9, 23)]
    spans = [(row[f"videos/{KEY}/from_timestamp"], row[f"videos/{KEY}/to_timestamp"]) for row in rows]
    assert spans[0][0] == 0.0
    assert spans[0][1] == spans[1][0] == pytest.approx(9 / FPS)
    assert spans[1][1] == pytest.approx(23 / FPS)


def test_video_times_match_the_tables_within_lerobots_tolerance(root: Path) -> None:
    """Time in the mp4 = from_timestamp + timestamp, to 1e-4 s."""
    data = pq.read_table(root / "data" / "chunk-000" / "file-000.parquet")
    rows = pq.read_table(root / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
    start = np.repeat(rows[f"videos/{KEY}/from_timestamp"].to_numpy(), LENGTHS)
    with av.open(str(root / "videos" / KEY / "chunk-000" / "file-000.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("libdav1d", "yuv420p")
        stamps = np.array([float(frame.time) for frame in container.decode(stream)])
    assert np.abs(stamps - (start + data["timestamp"].to_numpy())).max() < 1e-4


def test_tasks_is_a_pandas_frame_indexed_by_the_text(root: Path) -> None:
    """tasks.parquet holds task_index as a column and the text as the index named `task`."""
    table = pq.read_table(root / "meta" / "tasks.parquet")
    pandas = json.loads(table.schema.metadata[b"pandas"])
    assert pandas["index_columns"] == ["task"]
    assert [column["field_name"] for column in pandas["columns"]] == ["task_index", "task"]
    assert table.schema.field("task_index").type == pa.int64()
    assert table.to_pydict() == {"task_index": [0, 1], "task": ["task 0", "task 1"]}


def test_stats(root: Path) -> None:
    """stats.json: ten statistics of every feature; images per channel on a 0..1 scale, shape (3, 1, 1)."""
    stats = json.loads((root / "meta" / "stats.json").read_text())
    assert list(stats) == [key for key in FEATURES if key != KEY] + [KEY]
    for feature, values in stats.items():
        shape: tuple[int, ...] = (3, 1, 1) if feature == KEY else tuple(FEATURES[feature]["shape"])  # type: ignore[arg-type]
        assert set(values) == set(STATISTICS)
        assert all(np.shape(values[name]) == shape for name in STATISTICS if name != "count")
        assert values["count"] == [sum(LENGTHS)]
    image = {name: np.array(value).reshape(-1) for name, value in stats[KEY].items()}
    assert np.all((image["min"] > 0.1) & (image["max"] < 0.9) & (image["mean"] > image["min"]))
    _check_numbers(stats, pq.read_table(root / "data" / "chunk-000" / "file-000.parquet"))


def _check_numbers(stats: dict[str, Any], table: pa.Table) -> None:
    for feature in ("observation.state", "action", "observation.effort", "index"):
        values = np.array(table[feature].to_pylist(), dtype=np.float64).reshape(sum(LENGTHS), -1)
        expected = {"min": values.min(0), "max": values.max(0), "mean": values.mean(0), "std": values.std(0)}
        for name, value in expected.items():
            assert np.allclose(stats[feature][name], value, rtol=1e-6, atol=1e-9), (feature, name)
    assert all(isinstance(stats["index"][name][0], int) for name in ("min", "max"))


def test_object_column_only_where_there_are_objects(tmp_path: Path) -> None:
    """`object` in meta/episodes is our own addition: it is there only when some episode names one."""
    for names, has_column in ((("", ""), False), (("", "mug"), True)):
        target = tmp_path / f"set{has_column}"
        with LerobotWriter(target, LerobotSpec(10, ("a",), ("a",))) as writer:
            for name in names:
                writer.add_episode(task="t", state=np.zeros((2, 1)), action=np.zeros((2, 1)), object_name=name)
        schema = _schema(target / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
        assert ("object" in schema) is has_column
        info = json.loads((target / "meta" / "info.json").read_text())
        assert info["video_path"] is None


def test_our_columns_are_those_of_lerobots_own_writer(shared_data: Path, tmp_path: Path) -> None:
    """Against a dataset that LeRobot itself wrote: the same columns and types, for the same features."""
    real = shared_data / "so101_lerobot_v3"
    joints = tuple(f"j{i}" for i in range(6))
    spec = LerobotSpec(30, joints, joints, {"wrist": (640, 360)}, codec="av1", video_files_size_in_mb=500)
    with LerobotWriter(tmp_path / "set", spec) as writer:
        images = iter([np.zeros((360, 640, 3), dtype=np.uint8)] * 2)
        writer.add_episode(task="t", state=np.zeros((2, 6)), action=np.zeros((2, 6)), images={"wrist": images})
    for name in ("data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet"):
        assert _schema(tmp_path / "set" / name) == _schema(real / name)
    ours, theirs = (json.loads((r / "meta" / "info.json").read_text()) for r in (tmp_path / "set", real))
    assert list(ours) == list(theirs)
    assert list(ours["features"]) == list(theirs["features"])
    entry = "observation.images.wrist"
    assert ours["features"][entry]["info"] == theirs["features"][entry]["info"]
