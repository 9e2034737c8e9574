"""The benchmark runs and gives the keys that the documents promise."""

import pytest

from gemel.benchmarks.splat import bench_splat


@pytest.mark.slow
def test_quick_benchmark_gives_its_figures() -> None:
    """The smoke version measures two thousand Gaussians and returns finite headline figures and one row."""
    figures, rows = bench_splat(quick=True, seed=0)
    assert {"speedup_over_reference", "thread_efficiency", "pairs_over_exp"} <= set(figures)
    assert all(value > 0.0 for value in figures.values())
    assert len(rows) == 1
