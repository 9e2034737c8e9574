"""Whether a folder can be written to, asked before the work whose result goes there."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from gemel.errors import ConfigError


def check_target_folder(folder: Path) -> None:
    """Refuse a folder that neither is there nor can be made, or that nothing can be written to."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not nearest.is_dir():
        raise ConfigError(
            f"Nothing can be written to {folder}: {nearest} is no folder.", remedy="give another folder, or a new one"
        )
    try:  # permissions alone do not say it: some file systems take nothing from anybody
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with TemporaryDirectory(dir=nearest, prefix=".gemel-"):
            pass
    except OSError as error:
        raise ConfigError(
            f"Nothing can be written to {nearest}: {error.strerror or error}.",
            remedy="mend its permissions, or give another folder",
        ) from error
