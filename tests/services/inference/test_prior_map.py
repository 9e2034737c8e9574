"""The map between parameters and normal scores keeps to physics."""

import numpy as np

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.services.inference.prior_map import PriorMap, flat_belief


def test_no_coordinate_leaves_the_bounds() -> None:
    """However far out, values are ones that physics allows: simulators refuse the next number after a bound."""
    parameters = (
        Parameter("contact/a-b/restitution", "1", 0.0, 1.0, "linear", ValueSource.RANDOMISED),
        Parameter("object/a/mass", "kg", 0.03, 0.7, "log", ValueSource.RANDOMISED),
    )
    values = PriorMap.of(flat_belief(parameters)).to_parameters(np.array([[-9.0, -9.0], [9.0, 9.0], [0.0, 0.0]]))
    assert ((values >= [0.0, 0.03]) & (values <= [1.0, 0.7])).all()
