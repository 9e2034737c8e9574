"""Finished folders take their places all together, or not at all.

Older folders go aside first and are kept until the last rename has succeeded. After an error everything is back where
it was; should even that fail, what was set aside is not deleted, and the error says where it is.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gemel.errors import ConfigError


def put_in_place(moves: Sequence[tuple[Path | None, Path]], aside: Path) -> None:
    """Rename every new folder to its target, and what is there to `aside`; None only clears a target.

    All paths are on one file system. `aside` is a folder that is there and holds the older folders afterwards.
    """
    with _undone_on_error() as done:
        for number, (new, target) in enumerate(moves):
            if target.exists():
                _rename(target, aside / f"{number}-{target.name}", done)
            if new is not None:
                _rename(new, target, done)


def _rename(source: Path, target: Path, done: list[tuple[Path, Path]]) -> None:
    source.rename(target)
    done.append((source, target))


@contextmanager
def _undone_on_error() -> Iterator[list[tuple[Path, Path]]]:
    """Renames as pairs of before and after, which are taken back when the body fails or is interrupted."""
    done: list[tuple[Path, Path]] = []
    try:
        yield done
    except BaseException as error:
        for before, after in reversed(done):
            try:
                after.rename(before)
            except OSError as second:
                raise ConfigError(
                    f"The export failed ({error}), and {before} could not be put back ({second.strerror or second}).",
                    remedy=f"move {after} back to {before} yourself",
                ) from error
        raise
