"""Files of real measurements: numbers in an npz, read without pickle, with an error that says what to do."""

import zipfile
from pathlib import Path

import numpy as np

from gemel.errors import SourceError


def read_measurements(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an npz file by name, as float64."""
    if not path.is_file():
        raise SourceError(
            f"There are no measurements at {path}.",
            remedy="give the file's path; real measurements are not part of the repository (docs/real-data.md)",
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise SourceError(f"{path} is not an npz file of plain numbers: {error}.", remedy="give another file") from None
    if not arrays:
        raise SourceError(f"{path} holds no arrays.", remedy="give another file")
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def check_columns(path: Path, name: str, array: np.ndarray, columns: int) -> None:
    """A table with so many columns, at least two rows and only finite numbers, or an error."""
    if array.ndim != 2 or array.shape[1] != columns or len(array) < 2 or not np.isfinite(array).all():
        raise SourceError(
            f"{name} in {path} has shape {array.shape}; finite numbers in {columns} columns were expected.",
            remedy="compare the file's layout with docs/real-data.md",
        )
