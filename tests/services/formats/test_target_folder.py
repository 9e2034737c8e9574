"""Folders for results are judged before there are any."""

import os
from pathlib import Path

import pytest

from gemel.errors import ConfigError
from gemel.services.formats.target_folder import check_target_folder


def test_what_is_there_or_can_be_made_is_accepted_and_nothing_is_made(tmp_path: Path) -> None:
    check_target_folder(tmp_path)
    check_target_folder(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_files_links_to_nothing_and_what_is_below_them_are_no_folders(tmp_path: Path) -> None:
    """Each would fail at the first file that is written."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    link.symlink_to(tmp_path / "gone")
    for path in (file, file / "sub", link, link / "sub"):
        with pytest.raises(ConfigError, match="is no folder"):
            check_target_folder(path)


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest folder that exists is asked; permissions are made up, since they do not bind the superuser."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(ConfigError, match=f"Nothing can be written to {tmp_path}"):
        check_target_folder(tmp_path / "new" / "folder")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files, whoever asks")
def test_a_folder_that_takes_no_files_is_refused_even_for_the_superuser() -> None:
    with pytest.raises(ConfigError, match="Nothing can be written to /proc"):
        check_target_folder(Path("/proc/no-such-folder"))
