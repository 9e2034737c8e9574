"""What calibration leaves is inferred beside physics, and changes nothing of what was believed of physics before."""

import numpy as np
import pytest

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.errors import ConfigError
from gemel.services.inference import flat_belief
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.track_frame import TRACK_PARAMETERS, FrameDoubt, with_track_frame

PRIOR = flat_belief((Parameter("object/t_block/com_y", "m", -0.035, 0.075, "linear", ValueSource.RANDOMISED),))


def test_errors_of_the_frame_are_normal_and_independent_of_physics() -> None:
    both = with_track_frame(PRIOR, FrameDoubt(0.0015, 0.003, 0.004))
    assert both.names == (*PRIOR.names, *TRACK_PARAMETERS)
    assert np.array_equal(both.only(PRIOR.names).samples, PRIOR.samples)
    np.testing.assert_allclose(both.samples[:, 1:].std(axis=0), [0.0015, 0.0015, 0.003, 0.004], rtol=0.02)
    assert np.abs(np.corrcoef(both.samples.T) - np.eye(5)).max() < 0.12
    for parameter, column in zip(both.parameters, both.samples.T, strict=True):
        assert parameter.low <= column.min()
        assert column.max() <= parameter.high


def test_no_doubt_adds_nothing_and_none_is_added_twice() -> None:
    assert with_track_frame(PRIOR, FrameDoubt(0.0, 0.0, 0.0)) is PRIOR
    once = with_track_frame(PRIOR, FrameDoubt(0.001, 0.0, 0.0))
    assert once.names == (*PRIOR.names, "track/offset_x", "track/offset_y")
    assert with_track_frame(once, FrameDoubt(0.002, 0.0, 0.0)) is once


def test_a_negative_deviation_is_refused() -> None:
    with pytest.raises(ConfigError, match="frame_m"):
        IdentifyConfig(frame_m=-0.001)
