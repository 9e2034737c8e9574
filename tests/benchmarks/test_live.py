"""`gemel bench live`: what was learnt is judged in the object's true frame."""

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.benchmarks.live import _com_quantiles
from gemel.geometry import SE3


def test_a_centre_of_mass_is_compared_in_the_true_frame() -> None:
    """Draws around the true centre, told in the axes of a reconstruction that lies turned and shifted, come back."""
    rng = np.random.default_rng(0)
    true = np.array([0.004, -0.021, 0.0])
    T_reconstructed_true = SE3.exp(np.array([0.03, 0.02, -0.01, 0.1, -0.2, 2.4]))
    drawn = true + 0.001 * rng.standard_normal((400, 3))
    names = [f"object/t_block/com_{axis}" for axis in "xyz"]
    belief = Belief(
        tuple(Parameter(name, "m", -0.1, 0.1, "linear", ValueSource.INFERRED) for name in names),
        T_reconstructed_true @ drawn,
        np.full(400, 1.0 / 400),
    )
    low, middle, high = _com_quantiles(belief, T_reconstructed_true.as_matrix(), "t_block")
    np.testing.assert_allclose(middle, true[:2], atol=2e-4)
    np.testing.assert_allclose(high - low, 2 * 1.645e-3, rtol=0.2)
