"""What `gemel bench identify-pixels` makes of its worlds."""

import pytest

from gemel.benchmarks.identify_pixels import _figures


def _row(com: list[float], refined: list[float]) -> dict[str, object]:
    return {
        "com_true": 0.010, "friction_true": 0.5,
        "com_quantiles": com, "com_quantiles_refined": refined,
        "friction_quantiles": [0.4, 0.45, 0.48], "friction_quantiles_refined": [0.4, 0.52, 0.6],
    }  # fmt: skip


def test_errors_and_coverage_of_both_posteriors() -> None:
    """Medians of errors and widths, coverage over both parameters, and worlds that failed stay out of all."""
    rows = [
        _row([0.0, 0.004, 0.012], [0.008, 0.009, 0.012]),
        _row([0.012, 0.02, 0.03], [0.004, 0.013, 0.02]),
        {"world": 132, "failed": "SourceError: nothing was tracked"},
    ]
    figures = _figures(rows)
    assert figures["worlds_pixels"] == 2.0
    assert figures["failed_pixels"] == 1.0
    assert figures["com_error_mm_pixels"] == pytest.approx(8.0)
    assert figures["com_error_mm_pixels_refined"] == pytest.approx(2.0)
    assert figures["coverage90_com_pixels"] == 0.5
    assert figures["coverage90_pixels"] == 0.25  # friction's interval ends below the truth in both
    assert figures["coverage90_pixels_refined"] == 1.0
    assert figures["com_interval90_mm_pixels"] == pytest.approx(15.0)


def test_nothing_but_failures() -> None:
    """No figure is made of nothing."""
    assert _figures([{"world": 130, "failed": "x"}]) == {"worlds_pixels": 0.0, "failed_pixels": 1.0}
