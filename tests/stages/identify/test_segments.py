"""Pieces of tracks start where the object was, at rest or in motion."""

import numpy as np
import pytest

from gemel.artifacts.track import Track
from gemel.geometry import SE3, SO3
from gemel.stages.identify.segments import find_segments


@pytest.mark.parametrize("period_s", [0.1, 0.2])
def test_a_piece_that_starts_in_motion_starts_where_the_object_was(period_s: float) -> None:
    """Under an even acceleration, as when a push begins, pose and velocity are exact, however rare the frames are."""
    times_s = np.arange(0.0, 3.0, period_s)
    way_m = 0.5 * 0.12 * np.maximum(times_s - 0.4, 0.0) ** 2
    poses = SE3(SO3.identity(len(times_s)), np.stack([way_m, 0.0 * way_m, 0.0 * way_m], axis=1))
    covariances = np.tile(np.diag([1e-4] * 6) ** 2, (len(times_s), 1, 1))
    track = Track("0", "block", times_s, poses, covariances, np.zeros(len(times_s), dtype=bool))
    pieces = find_segments(track, longest_s=1.0, model_error=0.03)
    moving = [piece for piece in pieces if piece.velocity.any()]
    assert len(pieces) > len(moving) >= 2
    for piece in moving:
        since_s = piece.start_s - 0.4
        assert abs(piece.T_world_object.translation[0] - 0.5 * 0.12 * since_s**2) < 1e-5
        assert abs(piece.velocity[0] - 0.12 * since_s) < 1e-4
