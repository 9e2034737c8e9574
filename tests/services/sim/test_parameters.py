"""Names of parameters: they round-trip, say what is wrong, and refuse what no body can have."""

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.geometry import Inertia
from gemel.services.sim.mass_properties import KINDS, nominal_inertia
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.parameters import ParameterMap
from services.sim.made_scenes import box_on_table, servo_arm, turntable

BLOCK = [f"object/block/{kind}" for kind in KINDS]
PLAIN_BLOCK = [name for name in BLOCK if "cholesky" not in name]


@pytest.mark.parametrize("make", [box_on_table, turntable, servo_arm])
def test_compiled_values_change_nothing(make) -> None:  # type: ignore[no-untyped-def]
    """Writing every parameter's compiled value gives the compiled fields."""
    model = make()
    parameters = ParameterMap(model)
    names = [name for name in parameters.names if "cholesky" not in name and "object/lid" not in name]
    settings = parameters.settings(names, parameters.nominal(names)[None])
    for field, rows in settings.fields.items():
        owner, part = (model.opt, field[4:]) if field.startswith("opt.") else (model, field)
        if field not in ("body_inertia", "body_iquat"):  # principal axes may come out in another order
            np.testing.assert_allclose(rows[0], getattr(owner, part), rtol=1e-12, atol=1e-15)
    assert settings.drives.is_ideal


def test_values_are_read_back_from_each_simulation() -> None:
    """What is written by name is what the model of that simulation has by that name."""
    simulator = SimulatorNative(box_on_table(), 5)
    names = [*(n for n in simulator.parameter_names if not n.startswith("object/")), *PLAIN_BLOCK]
    rng = np.random.default_rng(0)
    nominal = simulator.parameters.nominal(names)
    scatter = 1.0 + rng.uniform(0.0, 0.2, (5, len(names)))
    values = np.where(nominal == 0.0, rng.uniform(0.0, 1e-4, scatter.shape), nominal * scatter)
    simulator.set_parameters(names, values)
    for sim in range(5):
        read = ParameterMap(simulator._batch.get_model(sim)).nominal(names)
        np.testing.assert_allclose(read, values[sim], rtol=1e-9, atol=1e-12)


def test_log_cholesky_parameters_are_those_of_the_inertia() -> None:
    """Ten numbers of any body reach MuJoCo as that body."""
    wanted = Inertia.box(0.7, (0.1, 0.2, 0.05)).transformed(_some_pose())
    names = [name for name in BLOCK if "cholesky" in name]
    model = box_on_table()
    simulator = SimulatorNative(model, 1)
    simulator.set_parameters(names, wanted.log_cholesky()[None])
    got = nominal_inertia(simulator._batch.get_model(0), model.body("block").id)
    assert got.mass_kg == pytest.approx(wanted.mass_kg)
    np.testing.assert_allclose(got.p_BoBcm_B, wanted.p_BoBcm_B, atol=1e-12)
    np.testing.assert_allclose(got.I_BBcm_B, wanted.I_BBcm_B, atol=1e-12)


def test_a_contact_may_be_named_from_either_side() -> None:
    """`table-block` is `block-table`."""
    parameters = ParameterMap(box_on_table())
    both = parameters.nominal(["contact/block-table/friction", "contact/table-block/friction"])
    assert both.tolist() == [0.5, 0.5]


def test_frictions_that_a_contact_does_not_have_have_no_name() -> None:
    """A contact without rolling friction in it would ignore the value without a word."""
    names = ParameterMap(box_on_table()).names
    assert "contact/block-table/torsional" in names
    assert "contact/block-table/rolling" not in names


def test_unknown_name_lists_the_closest() -> None:
    """A typing error is answered with what was meant."""
    with pytest.raises(ConfigError, match=r"contact/block-table/friction"):
        ParameterMap(box_on_table()).nominal(["contact/blok-table/friction"])
    with pytest.raises(ConfigError, match=r"robot/hinge/damping"):
        ParameterMap(servo_arm()).nominal(["robot/hing/damping"])


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        (["object/block/mass"], [0.0], "above 0"),
        (["object/block/mass"], [np.nan], "object/block/mass is nan in simulation 0"),
        (["contact/block-table/friction"], [-0.1], "at least 0"),
        (["contact/block-table/solref_time"], [0.003], "at least 0.004"),
        (["object/block/inertia_xx"], [1.0], "triangle inequality"),
        (["object/block/mass", "object/block/mass"], [1.0, 1.0], "twice"),
        (["object/block/mass", "object/block/log_cholesky_d1"], [1.0, 0.0], "log-Cholesky"),
        (["object/block/mass"], [1.0, 2.0], "columns"),
    ],
)
def test_unphysical_values_are_refused(names: list[str], values: list[float], message: str) -> None:
    """The error says which parameter, where and what would be physical."""
    with pytest.raises(ConfigError, match=message):
        ParameterMap(box_on_table()).settings(names, np.array([values]))


def _some_pose():  # type: ignore[no-untyped-def]
    from gemel.geometry import SE3

    return SE3.exp(np.array([0.01, -0.02, 0.005, 0.3, -0.5, 0.2]))
