"""Paths out of a log never lead out of its folder, and templates cannot do more than name files."""

import os
from pathlib import Path

import pytest

from gemel.errors import SourceError
from gemel.services.formats.paths import files_below, fill_template, inside, plain_file

TEMPLATE = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
ALLOWED = ("video_key", "chunk_index", "file_index")


@pytest.mark.parametrize(
    "relative",
    [
        "../x", "a/../../x", "a/..", "/etc/passwd", "//x", "..", "", ".", "a\\..\\x", "a\0b", "a\nb", "\x1b[2J",
        "\ud800", "a" * 5000, "/".join(["a"] * 5000),
    ],
)  # fmt: skip
def test_paths_that_lead_out_are_refused(relative: str, tmp_path: Path) -> None:
    """Parents, absolute paths, other systems' separators, control characters, impossible names."""
    with pytest.raises(SourceError, match="leads out of its folder") as caught:
        inside(tmp_path, relative)
    assert "correct the path" in caught.value.remedy


@pytest.mark.parametrize("relative", ["a", "a/b.png", "./a", "a b/ç.mp4", "..a/b..", "a//b"])
def test_paths_that_stay_inside_are_given_back(relative: str, tmp_path: Path) -> None:
    """Ordinary names, also odd ones, are joined to the root."""
    assert inside(tmp_path, relative) == tmp_path / relative


def test_links_are_followed_before_they_are_judged(tmp_path: Path) -> None:
    """A link inside the folder is fine, one out of it or in a circle is not, nor is a linked folder on the way."""
    root, outside = tmp_path / "log", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("x")
    (root / "real").write_text("x")
    (root / "good").symlink_to("real")
    (root / "bad").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "circle").symlink_to("circle")
    assert inside(root, "good").read_text() == "x"
    for relative in ("bad", "folder/secret", "circle"):
        with pytest.raises(SourceError, match=f"'{relative}', which leads out"):
            inside(root, relative)
    with pytest.raises(SourceError, match="leads out"):
        files_below(root, ("",))


def test_a_linked_root_is_the_users_own_choice(tmp_path: Path) -> None:
    """The log itself may be reached through a link."""
    (tmp_path / "log").mkdir()
    (tmp_path / "link").symlink_to("log")
    assert inside(tmp_path / "link", "a") == tmp_path / "link" / "a"


def test_only_plain_files_are_listed_and_opened(tmp_path: Path) -> None:
    """A pipe would block its reader for ever; a dead link has nothing to read."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="pipe is not a file"):
        plain_file(tmp_path / "pipe", "table")
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        files_below(tmp_path, ("",))
    (tmp_path / "pipe").unlink()
    (tmp_path / "dead").symlink_to("nothing")
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        files_below(tmp_path, ("",))


def test_files_are_listed_once_and_sorted(tmp_path: Path) -> None:
    """Relative to the root, with forward slashes, only from the folders asked for."""
    for name in ("b/x", "a/y", "c/z"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    assert files_below(tmp_path, ("b", "a", "none")) == ("a/y", "b/x")


def test_the_usual_template_is_filled() -> None:
    """LeRobot's own."""
    filled = fill_template(TEMPLATE, allowed=ALLOWED, video_key="k", chunk_index=1, file_index=1234)
    assert filled == "videos/k/chunk-001/file-1234.mp4"


@pytest.mark.parametrize(
    "template",
    [
        "{chunk_index.__class__}", "{chunk_index[0]}", "{}", "{0}", "{other}", "{chunk_index", "}", "{chunk_index!r}",
        "{chunk_index:{file_index}}", "{chunk_index:0999999999d}", "{chunk_index:>10}", "{video_key:03d}",
    ],
)  # fmt: skip
def test_templates_that_do_more_are_refused(template: str) -> None:
    """No attributes, no indexing, no nesting, no conversions, no widths that would fill the memory."""
    with pytest.raises(SourceError, match="path template") as caught:
        fill_template(template, allowed=ALLOWED, video_key="k", chunk_index=1, file_index=2)
    assert "meta/info.json" in caught.value.remedy
