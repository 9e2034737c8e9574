"""Whether a folder can be written to, asked before the work whose result goes there."""

import os
import tempfile
from pathlib import Path

from gemel.errors import ConfigError


def check_target_folder(folder: Path) -> None:
    """Refuse a folder that neither is there nor can be made, or that nothing can be written to."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not nearest.is_dir():
        raise ConfigError(
            f"Nothing can be written to {folder}: {nearest} is no folder.", remedy="give another folder, or a new one"
        )
    if not os.access(nearest, os.W_OK | os.X_OK) or not _takes_a_file(nearest):
        raise ConfigError(
            f"Nothing can be written to {nearest}.", remedy="mend its permissions, or give another folder"
        )


def _takes_a_file(folder: Path) -> bool:
    """Tried, since the superuser may write even where nothing can be written, such as below /proc."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
