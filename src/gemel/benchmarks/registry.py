"""Benchmarks by name; each is imported only when it is run."""

from collections.abc import Callable

Result = tuple[dict[str, float], list[dict[str, object]]]


def _ingest() -> Callable[..., Result]:
    from gemel.benchmarks.ingest import bench_ingest

    return bench_ingest


BENCHMARKS: dict[str, Callable[[], Callable[..., Result]]] = {"ingest": _ingest}
