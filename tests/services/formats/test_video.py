"""Video: random access equals decoding straight through, memory is bounded, damage gives one clear error."""

import os
import tracemalloc
from fractions import Fraction
from pathlib import Path

import av  # noqa: TID253 (an independent look at what was written)
import numpy as np
import pytest

from gemel.errors import SourceError
from gemel.services.formats.video import VideoReader, VideoWriter, read_header
from services.formats.coded_frames import HEIGHT, WIDTH, coded_frame, number_of, write_coded_video

CODECS = ("h264", "av1")
FPS = 20.0


@pytest.fixture(scope="module", params=CODECS)
def video(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 numbered frames at 20 Hz."""
    path = tmp_path_factory.mktemp("video") / f"{request.param}.mp4"
    return write_coded_video(path, np.arange(120) / FPS, codec=request.param, fps=FPS)


def _straight_through(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_any_order_gives_the_same_pixels_as_decoding_straight_through(video: Path) -> None:
    """Seeking is invisible: frame_at is a function of time alone."""
    expected = _straight_through(video)
    rng = np.random.default_rng(0)
    orders = (np.arange(120), np.arange(120)[::-1], rng.permutation(120), np.repeat(rng.integers(0, 120, 20), 2))
    with VideoReader(video) as reader:
        for order in orders:
            for number in order:
                assert np.array_equal(reader.frame_at(number / FPS), expected[number])
    assert [number_of(image) for image in expected] == list(range(120))


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="only Linux tells how a process is scheduled")
def test_encoding_leaves_the_process_scheduled_as_it_was(tmp_path: Path) -> None:
    """As root, SVT-AV1 would leave its caller on real-time priority, and everything else on the machine waiting."""
    before = os.sched_getscheduler(0)
    write_coded_video(tmp_path / "short.mp4", np.arange(4) / FPS, codec="av1", fps=FPS)
    assert os.sched_getscheduler(0) == before


def test_times_between_frames_go_to_the_nearest(video: Path) -> None:
    """A clock that is off by less than half a period still finds its own frame, in any order."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 120, 100)
    shifts_s = rng.uniform(-0.45, 0.45, 100) / FPS
    with VideoReader(video) as reader:
        for number, shift_s in zip(numbers, shifts_s, strict=True):
            assert number_of(reader.frame_at(float(number / FPS + shift_s))) == number


@pytest.mark.parametrize("codec", CODECS)
def test_a_gap_in_time_does_not_blur_the_frames_around_it(codec: str, tmp_path: Path) -> None:
    """A long pause lowers the average rate of the file; frames are found by their own times all the same."""
    times_s = np.concatenate([np.arange(10) / FPS, 60.0 + np.arange(10) / FPS])
    path = write_coded_video(tmp_path / "gap.mp4", times_s, codec=codec, fps=FPS)
    with VideoReader(path) as reader:
        for number in np.random.default_rng(2).permutation(20):
            assert number_of(reader.frame_at(float(times_s[number]))) == number
        assert number_of(reader.frame_at(30.0)) == 9  # inside the pause, the last frame stays on
    header = read_header(path)
    assert header.period_s == pytest.approx(1 / FPS, rel=1e-3)
    assert header.last_s == pytest.approx(times_s[-1], abs=1e-4)


def test_reordered_frames_are_found_and_counted_to_the_end(tmp_path: Path) -> None:
    """B-frames are stored out of order: neither their order nor the file's end may be misread."""
    path = tmp_path / "bframes.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=20)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.options = {"bf": "3", "g": "30"}
        for number in range(100):
            frame = av.VideoFrame.from_ndarray(coded_frame(number), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 20)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    assert read_header(path).last_s == pytest.approx(99 / 20)
    with VideoReader(path) as reader:
        for number in np.random.default_rng(3).permutation(100):
            assert number_of(reader.frame_at(number / 20)) == number


def test_header_says_what_was_written(video: Path) -> None:
    """Codec, size, number of frames, rate and end come from the index, without decoding."""
    header = read_header(video)
    assert header.codec in CODECS
    assert header.codec in video.name
    assert (header.width, header.height, header.frame_count) == (WIDTH, HEIGHT, 120)
    assert header.period_s == pytest.approx(1 / FPS)
    assert header.last_s == pytest.approx(119 / FPS)


def test_times_that_the_file_does_not_have_are_refused(video: Path) -> None:
    """Past the end, before the start, and times that are no times at all: an error that names file and time."""
    with VideoReader(video) as reader:
        for time_s in (120 / FPS, 1e6, 1e300, -1.0, float("nan"), float("inf"), -float("inf")):
            with pytest.raises(SourceError, match=r"\.mp4 cannot be decoded: the file has no frame there") as caught:
                reader.frame_at(time_s)
            assert "gemel inspect" in caught.value.remedy
        assert number_of(reader.frame_at(0.0)) == 0  # the reader is still good after all that


def test_reading_holds_a_frame_or_two(tmp_path: Path) -> None:
    """Memory does not grow with the number of frames read."""
    path = write_coded_video(tmp_path / "long.mp4", np.arange(1500) / FPS)
    tracemalloc.start()
    try:
        with VideoReader(path) as reader:
            reader.frame_at(0.0)
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            for number in range(1500):
                reader.frame_at(number / FPS)
            _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 40 * WIDTH * HEIGHT * 3, f"{peak - before} bytes for frames of {WIDTH * HEIGHT * 3}"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc to measure memory")
def test_the_decoder_holds_no_more_either(tmp_path: Path) -> None:
    """Resident memory stays flat over a video that would take 90 MB decoded."""
    path = tmp_path / "large.mp4"
    writer = VideoWriter(path, width=640, height=480, fps=FPS)
    for number in range(200):
        writer.add(np.full((480, 640, 3), number, dtype=np.uint8), number / FPS)
    writer.close()
    with VideoReader(path) as reader:
        reader.frame_at(0.0)
        before = _resident_bytes()
        largest = 0
        for number in range(200):
            reader.frame_at(number / FPS)
            largest = max(largest, _resident_bytes())
    assert largest - before < 40e6


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_a_cut_off_file_is_told_from_a_whole_one(video: Path, tmp_path: Path) -> None:
    """Cut anywhere, the header is refused."""
    data = video.read_bytes()
    for size in [*np.random.default_rng(4).integers(1, len(data), 40), len(data) - 1]:
        path = tmp_path / f"cut{size}.mp4"
        path.write_bytes(data[:size])
        with pytest.raises(SourceError, match=path.name):
            read_header(path)


def test_a_cut_off_file_with_its_index_in_front_is_refused(tmp_path: Path) -> None:
    """Files made for streaming keep their index when they lose their tail."""
    video, path = write_coded_video(tmp_path / "v.mp4", np.arange(40) / FPS), tmp_path / "faststart.mp4"
    with av.open(str(video)) as source, av.open(str(path), "w", options={"movflags": "faststart"}) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    assert read_header(path).frame_count == 40
    data = path.read_bytes()
    path.write_bytes(data[: int(0.9 * len(data))])
    with pytest.raises(SourceError, match=r"faststart\.mp4 is cut off or damaged: its boxes need \d+ bytes"):
        read_header(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has 0 bytes"),
        (b"just some text\n" * 40, "damaged, cut off, or no video"),
        (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "damaged, cut off, or no video"),
        (b"\0" * 4096, "damaged, cut off, or no video"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "damaged, cut off, or no video"),
    ],
)
def test_files_that_are_no_video(data: bytes, message: str, tmp_path: Path) -> None:
    """Header and reader give the same clear error; a playlist is never followed."""
    path = tmp_path / "wrong.mp4"
    path.write_bytes(data)
    for open_it in (read_header, VideoReader):
        with pytest.raises(SourceError, match=message) as caught:
            open_it(path)
        assert str(path) in caught.value.problem
        assert "copy it again" in caught.value.remedy


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """What is not there, and what is not a file, is said so."""
    with pytest.raises(SourceError, match="is missing"):
        read_header(tmp_path / "none.mp4")
    with pytest.raises(SourceError, match="is not a file"):
        read_header(tmp_path)


def test_unknown_codec_is_named_as_such(tmp_path: Path) -> None:
    """A codec tag that the decoder does not know."""
    path = write_coded_video(tmp_path / "v.mp4", np.arange(5) / FPS)
    path.write_bytes(path.read_bytes().replace(b"avc1", b"zzz1"))
    for open_it in (read_header, VideoReader):
        with pytest.raises(SourceError, match=r"The codec of .*v\.mp4 is unknown") as caught:
            open_it(path)
        assert "re-encode the video as H.264 or AV1" in caught.value.remedy


def test_the_writer_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    """Unknown codecs and frames of another size."""
    with pytest.raises(SourceError, match="'mpeg2' cannot be written"):
        VideoWriter(tmp_path / "v.mp4", width=64, height=48, fps=10, codec="mpeg2")
    writer = VideoWriter(tmp_path / "w.mp4", width=64, height=48, fps=10)
    with pytest.raises(SourceError, match=r"shape \(10, 10, 3\)"):
        writer.add(np.zeros((10, 10, 3), dtype=np.uint8), 0.0)
    writer.add(coded_frame(0), 0.0)
    writer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_the_same_frames_give_the_same_bytes(codec: str, tmp_path: Path) -> None:
    """Encoding is reproducible on one machine."""
    first, second = (
        write_coded_video(tmp_path / f"{name}.mp4", np.arange(30) / FPS, codec=codec).read_bytes() for name in "ab"
    )
    assert first == second


@pytest.mark.parametrize("codec", CODECS)
def test_what_lies_in_memory_does_not_reach_the_file(codec: str, tmp_path: Path) -> None:
    """Small noisy frames, encoded 150 times among blocks of memory that held other data, give one and the same file.

    With x264's macroblock tree a fortieth of the files differed, and this failed in 6 runs of 6.
    """
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 255, (4, 6, 8, 3), dtype=np.uint8).repeat(4, 1).repeat(4, 2)
    shown = [np.roll(frames[i % 4], i // 2, axis=1) for i in range(24)]
    files = set()
    for _ in range(150):
        litter = [np.full(int(rng.integers(100, 200_000)), int(rng.integers(256)), np.uint8) for _ in range(40)]
        del litter[::2]
        writer = VideoWriter(tmp_path / "film.mp4", width=32, height=24, fps=10.0, codec=codec, rate_factor=23)
        for i, frame in enumerate(shown):
            writer.add(frame, 0.1 * i, is_first=i % 11 == 0)
        writer.close()
        files.add((tmp_path / "film.mp4").read_bytes())
    assert len(files) == 1
