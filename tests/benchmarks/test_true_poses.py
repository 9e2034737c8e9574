"""The gauge takes out one rigid motion and nothing else; medians are over what they say."""

import numpy as np
import pytest

pytest.importorskip("torch")

from gemel.benchmarks.calibrate import _figures as calibrate_figures
from gemel.benchmarks.reconstruct import VARIANTS, _figures
from gemel.benchmarks.true_poses import gauge, pose_error
from gemel.geometry import SE3


def test_a_rigid_motion_of_everything_is_no_error() -> None:
    """Poses moved together have no error after the gauge, and the gauge is the motion back."""
    rng = np.random.default_rng(0)
    true, T = SE3.random(rng, 12).as_matrix(), SE3.random(rng)
    moved = T.as_matrix() @ true
    error = pose_error(moved, true, np.zeros(12, dtype=np.int64))
    assert error.rotation_deg < 1e-5
    assert error.translation_mm < 1e-6
    np.testing.assert_allclose(gauge(moved, true).as_matrix(), T.inverse().as_matrix(), atol=1e-9)


def test_a_turned_camera_is_an_error_that_no_gauge_hides() -> None:
    """One of many poses turned by two degrees leaves nearly two degrees over the number of poses."""
    rng = np.random.default_rng(1)
    true = SE3.random(rng, 40).as_matrix()
    given = true.copy()
    given[0] = given[0] @ SE3.exp(np.array([0.0, 0.0, 0.0, np.radians(2.0), 0.0, 0.0])).as_matrix()
    error = pose_error(given, true, np.zeros(40, dtype=np.int64))
    assert error.rotation_deg == pytest.approx(2.0 / 40, rel=0.2)


def _row(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "variant": "full", "size": "160x120", "sensor": True, "plain_table": False, "root_chamfer_aligned_mm": 1.0,
        "root_chamfer_robot_mm": 1.5, "hausdorff95_mm": 2.0, "volume_error": 0.05, "mask_iou": 0.9,
        "psnr_withheld_db": 28.0, "rotation_deg_before": 1.4, "rotation_deg_after": 0.2, "translation_mm_before": 8.0,
        "translation_mm_after": 2.0, "seconds": 40.0, "segment_seconds": 15.0,
    }  # fmt: skip
    return {**row, **changes}


def test_figures_are_medians_of_their_own_rows() -> None:
    """Variants, sizes and tables do not mix; a capture that failed is counted, not averaged."""
    rows = [_row(root_chamfer_aligned_mm=v) for v in (0.5, 1.0, 9.0)]
    rows += [_row(variant="proprio-only", root_chamfer_aligned_mm=5.0), _row(sensor=False, psnr_withheld_db=31.0)]
    rows += [_row(size="320x240", root_chamfer_aligned_mm=0.7), {"variant": "full", "failed": "no"}]
    figures = _figures(rows)
    assert figures["root_chamfer_aligned_mm"] == 1.0
    assert figures["root_chamfer_aligned_mm_proprio_only"] == 5.0
    assert figures["root_chamfer_aligned_mm_320x240"] == 0.7
    assert figures["psnr_withheld_clean_db"] == 31.0
    assert figures["camera_rotation_gain"] == pytest.approx(7.0)
    assert figures["failed"] == 1.0
    assert set(VARIANTS) >= {"full", "proprio-only", "sphere start", "no Laplacian", "no normal clamp"}


def test_intervals_that_know_each_world_beat_a_constant_width() -> None:
    """Errors drawn with the stated sigmas are covered at 90 %, and their score is below a constant band's."""
    rng = np.random.default_rng(2)
    rows = []
    for k in range(200):
        sigma = np.full(9, 1.0 if k % 2 else 6.0)
        error = sigma * rng.standard_normal(9)
        rows.append({
            "offset_error_mrad": list(error[:6]), "offset_sigma_mrad": list(sigma[:6]), "offset_true_mrad": [8.0] * 6,
            "base_error": list(error[6:]), "base_sigma": list(sigma[6:]), "tcp_mm_before": 9.0, "tcp_mm_after": 1.0,
            "rotation_deg_before": 1.0, "rotation_deg_after": 0.1, "translation_mm_before": 8.0,
            "translation_mm_after": 1.0,
        })  # fmt: skip
    figures = calibrate_figures(rows)
    assert figures["coverage90"] == pytest.approx(0.9, abs=0.03)
    assert figures["interval_score_ratio"] < 0.9
    assert figures["joint_offset_mrad_before"] == 8.0
