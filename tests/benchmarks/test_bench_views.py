"""`gemel bench views` end to end on real pictures, and what the command refuses."""

from pathlib import Path

import pytest

from gemel.benchmarks.views import bench_views
from gemel.benchmarks.views_data import read_views
from gemel.commands.bench import Bench
from gemel.errors import ConfigError


@pytest.mark.slow
def test_quick_bench_compares_equal_numbers(shared_data: Path) -> None:
    """Both methods have the same number of Gaussians, the mesh is closed, and figures have the promised names."""
    figures, rows = bench_views(quick=True, seed=0, data=shared_data / "dtu_scan24")
    assert {"psnr_db", "ssim", "psnr_free_gaussians_db", "gaussians", "seconds"} <= set(figures)
    assert figures["gaussians"] == figures["gaussians_free_gaussians"]
    assert figures["watertight"] == 1.0
    assert [row["method"] for row in rows] == ["SplatMesh", "free Gaussians"]


def test_sizes_are_the_full_one_or_its_halves(shared_data: Path) -> None:
    """Half the size halves the intrinsics; any other size is refused with what to do."""
    half = read_views(shared_data / "dtu_scan24", (200, 150))
    assert half.images.shape[1:3] == (150, 200)
    assert half.intrinsics[0, 0] == pytest.approx(0.5 * 723.08, abs=0.1)
    with pytest.raises(ConfigError, match="123x45"):
        read_views(shared_data / "dtu_scan24", (123, 45))


def test_options_that_a_benchmark_does_not_know_are_refused() -> None:
    """`gemel bench splat --gaussians 5` says that splat takes no such option."""
    with pytest.raises(ConfigError, match="takes no --gaussians"):
        Bench("splat", gaussians="5").run()
