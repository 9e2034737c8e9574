"""Laws of the prior: what it must be whatever the object, and what every source contributes."""

import json
import math
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.belief import Belief, ValueSource
from gemel.geometry import Inertia, box_mesh
from gemel.services.tasks import get_object, get_task
from gemel.stages.prior.config import Matter, Measurement, Part, PriorConfig, Surface
from gemel.stages.prior.matter import draw_matter, pieces_of
from gemel.stages.prior.solid import Solid, solid_of
from gemel.stages.prior.stage import PriorInfo, prior
from stages.prior.made_objects import Kept, reconstruction, splatmesh

RANGES = get_task("push-t").parameter_ranges
COM = ("com_x", "com_y", "com_z")


def _prior(*names: str, seed: int = 0, kept: Kept | None = None, **options: Any) -> tuple[Belief, PriorInfo]:
    settings = {key: options.pop(key) for key in list(options) if key not in ("task_ranges", "file_table", "is_metric")}
    return prior(
        reconstruction(*names, is_metric=options.pop("is_metric", True)),
        PriorConfig(**settings),
        blobs=kept or Kept(),
        rng=np.random.default_rng(seed),
        **options,
    )


def _column(belief: Belief, name: str) -> np.ndarray:
    return belief.samples[:, belief.names.index(name)]


def _source(belief: Belief, name: str) -> ValueSource:
    return belief.parameters[belief.names.index(name)].source


def _solid(name: str) -> Solid:
    model = get_object(name)
    return solid_of(splatmesh(model.vertices, model.faces), np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["materials", "geometry", "flat"])
@pytest.mark.parametrize("name", ["t_block", "hammer", "mug", "ring", "bracket"])
def test_every_draw_is_physical(kind: str, name: str) -> None:
    """Centres of mass lie in the convex hull, everything within its bounds, weights sum to one."""
    belief, _ = _prior(name, kind=kind)
    com = np.stack([_column(belief, f"object/{name}/{what}") for what in COM], axis=1)
    assert _solid(name).is_in_hull(com, slack_m=1e-6).all()
    for parameter, column in zip(belief.parameters, belief.samples.T, strict=True):
        assert parameter.low <= column.min() <= column.max() <= parameter.high, parameter
        assert np.ptp(column) > 0.0
    assert belief.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["t_block", "hammer", "bracket"])
def test_geometry_is_uniform_density(name: str) -> None:
    """Mass and centre of mass agree with the inertia of the solid at the material's middle density."""
    belief, _ = _prior(name, kind="geometry", objects={name: Matter("aluminium")}, samples=4000)
    model = get_object(name)
    expected = Inertia.from_mesh(model.vertices, model.faces, math.sqrt(2640.0 * 2830.0))
    assert np.median(_column(belief, f"object/{name}/mass")) == pytest.approx(expected.mass_kg, rel=0.01)
    com = np.median([_column(belief, f"object/{name}/{what}") for what in COM], axis=1)
    np.testing.assert_allclose(com, expected.p_BoBcm_B, atol=0.0005)
    assert _source(belief, f"object/{name}/com_x") is ValueSource.INFERRED
    assert _source(belief, f"object/{name}/mass") is ValueSource.RANDOMISED


def test_parts_are_bodies_welded_together() -> None:
    """A wooden bar with a steel end weighs and balances as the two boxes that it consists of."""
    solid = solid_of(splatmesh(*box_mesh((0.3, 0.02, 0.02))), np.random.default_rng(0))
    matter = Matter("oak", (1.0,), 0.0, (Part("steel", "+x", 0.2, (1.0,)), Part("rubber", "-x", 0.1, (1.0,))))
    density = {"oak": 700.0, "steel": 7850.0, "rubber": 1000.0}
    pieces = pieces_of(solid, matter, where="")
    assert [piece.material.name for piece in pieces] == ["rubber", "oak", "steel"]
    masses = np.array([density[piece.material.name] * piece.slab.volume_m3 for piece in pieces])
    np.testing.assert_allclose(masses, np.array([0.1 * 1000.0, 0.7 * 700.0, 0.2 * 7850.0]) * 0.3 * 0.0004)
    np.testing.assert_allclose([piece.slab.centroid[0] for piece in pieces], [-0.135, -0.015, 0.12], atol=1e-12)
    drawn = draw_matter(solid, matter, 4000, np.random.default_rng(1))
    expected = float(masses @ [-0.135, -0.015, 0.12] / masses.sum())
    assert np.median(drawn.com[:, 0]) == pytest.approx(expected, abs=0.003)


def test_the_residual_range_is_that_of_section_13_5() -> None:
    """Lengths 9.8, 10.1, 10.0, 9.9 with a margin of 0.3 leave 9.5 to 10.4: in the belief, as measured."""
    low, high = Measurement((9.8, 10.1, 10.0, 9.9), 0.3).range
    assert (low, high) == (pytest.approx(9.5), pytest.approx(10.4))
    lengths = Measurement((0.0498, 0.0501, 0.05, 0.0499), 0.003)
    belief, _ = _prior("cube", measured={"object/cube/size_x": lengths})
    parameter = belief.parameters[belief.names.index("object/cube/size_x")]
    assert (parameter.low, parameter.high) == (pytest.approx(0.0468), pytest.approx(0.0531))
    column = _column(belief, "object/cube/size_x")
    assert parameter.low <= column.min() < 0.047
    assert 0.053 < column.max() <= parameter.high
    assert parameter.source is ValueSource.MEASURED


def test_measured_beats_file_beats_materials_beats_task() -> None:
    """Each source is taken where nothing stronger speaks, and the record says which."""
    kept = Kept()
    belief, info = _prior(
        "t_block",
        kept=kept,
        measured={"object/t_block/mass": Measurement((0.343, 0.344), 0.002)},
        file_table={
            "object/t_block/mass": {"uniform": [0.1, 0.2]},
            "contact/t_block-table/friction": {"normal": [0.4, 0.02]},
        },
        task_ranges=RANGES,
        objects={"t_block": Matter("wood")},
        surfaces={"table": Surface("steel")},
    )
    assert info.origins["object/t_block/mass"] == "measured"
    mass = _column(belief, "object/t_block/mass")
    assert 0.341 <= mass.min() < mass.max() <= 0.346
    assert info.origins["contact/t_block-table/friction"] == "file"
    assert np.std(_column(belief, "contact/t_block-table/friction")) == pytest.approx(0.02, rel=0.1)
    assert info.origins["contact/t_block-table/restitution"] == "materials"
    assert info.origins["object/t_block/com_y"] == "materials"
    assert info.origins["contact/t_block-pusher/friction"] == "task"
    pusher = belief.parameters[belief.names.index("contact/t_block-pusher/friction")]
    assert (pusher.low, pusher.high) == RANGES["contact/t_block-pusher/friction"]
    assert belief.record is not None
    record = json.loads(kept.get_bytes(belief.record))["parameters"]
    assert set(record["object/t_block/mass"]["overruled"]) == {"file", "materials", "task"}
    assert "CRC Handbook" in record["object/t_block/com_y"]["cited"]


def test_a_known_mass_tells_where_hidden_weight_may_be() -> None:
    """A light material that turns out heavy has something in it: its centre of mass is less sure, not more."""
    wood = {"t_block": Matter("pine", (1.0,))}
    spread = {}
    for mass_kg in (0.33, 0.65):
        belief, _ = _prior(
            "t_block", objects=wood, measured={"object/t_block/mass": Measurement((mass_kg,), 0.02)}, samples=2000
        )
        spread[mass_kg] = np.std(_column(belief, "object/t_block/com_y"))
    assert spread[0.65] > 1.5 * spread[0.33]


def test_a_mass_that_the_material_cannot_have_is_said() -> None:
    """Three kilograms are no foam of that size: the mass stays, the contradiction is a finding with numbers."""
    belief, info = _prior(
        "t_block", objects={"t_block": Matter("foam")}, measured={"object/t_block/mass": Measurement((3.0,), 0.01)}
    )
    assert [finding.code for finding in info.findings] == ["mass-unlike-material"]
    assert "2.99 to 3.01 kg" in info.findings[0].message
    assert np.median(_column(belief, "object/t_block/mass")) == pytest.approx(3.0, abs=0.01)


def test_the_default_covers_the_weighted_t_blocks_of_phys2real() -> None:
    """Both published centres of mass, +6.1 and -0.71 cm along the stem, lie in the 90 % interval; so does the mass."""
    belief, _ = _prior("t_block", samples=4000)
    low, high = np.quantile(_column(belief, "object/t_block/com_y"), [0.05, 0.95])
    assert low < -0.0071
    assert high > 0.061
    low, high = np.quantile(_column(belief, "object/t_block/mass"), [0.05, 0.95])
    assert low < 0.343 < high


def test_labelled_materials_cover_what_real_objects_weigh() -> None:
    """ContactNets' acrylic cube of 10 cm (0.37 kg, hollow) and Phys2Real's weighted T (0.343 kg) as a print."""
    for name, material, mass_kg in (("big_cube", "acrylic", 0.37), ("t_block", "3d-print", 0.343)):
        belief, _ = _prior(name, objects={name: Matter(material)}, samples=4000)
        low, high = np.quantile(_column(belief, f"object/{name}/mass"), [0.05, 0.95])
        assert low < mass_kg < high, (name, low, high)


def test_the_same_seed_gives_the_same_belief() -> None:
    """Draws are reproducible to the bit, the record included; another seed gives other draws."""
    first, second, other = (_prior("hammer", seed=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.samples, second.samples)
    assert first.record == second.record
    assert not np.array_equal(first.samples, other.samples)


def test_callipers_replace_the_meshs_own_error() -> None:
    """With all three sizes measured, the volume is no longer unsure; a longer object is heavier in proportion."""
    sizes = {f"object/cube/size_{axis}": Measurement((0.055,), 1e-5) for axis in "xyz"}
    solid_cube = {"cube": Matter("aluminium", (1.0,), 0.0)}
    plain, _ = _prior("cube", objects=solid_cube, samples=4000)
    measured, _ = _prior("cube", objects=solid_cube, measured=sizes, samples=4000)
    ratio = np.median(_column(measured, "object/cube/mass")) / np.median(_column(plain, "object/cube/mass"))
    assert ratio == pytest.approx(1.1**3, rel=0.01)
    spreads = [np.std(np.log(_column(belief, "object/cube/mass"))) for belief in (plain, measured)]
    assert spreads[1] < 0.5 * spreads[0]


def test_what_no_camera_saw_makes_the_mass_less_sure() -> None:
    """The same shape with an invented surface has a wider mass."""
    vertices, faces = box_mesh((0.1, 0.1, 0.1))
    sigmas = [solid_of(splatmesh(vertices, faces, seen=seen), np.random.default_rng(0)).log_volume_sigma
              for seen in (True, False)]  # fmt: skip
    assert sigmas[0] == pytest.approx(0.06)
    assert sigmas[1] > 2.0 * sigmas[0]


def test_a_tilt_test_is_the_tangent_of_its_angles() -> None:
    """Sliding at 18 to 20 degrees, plus or minus one, is a friction of tan 17 to tan 21 degrees."""
    name = "contact/t_block-table/friction"
    belief, _ = _prior("t_block", measured={name: Measurement(readings_deg=(18.0, 20.0, 19.0), margin_deg=1.0)})
    parameter = belief.parameters[belief.names.index(name)]
    assert parameter.low == pytest.approx(math.tan(math.radians(17.0)))
    assert parameter.high == pytest.approx(math.tan(math.radians(21.0)))


def test_flat_takes_the_tasks_ranges_as_bounds() -> None:
    """The flat prior fills the task's range, and any place in the hull where the task's frame is not ours."""
    belief, info = _prior("t_block", kind="flat", task_ranges=RANGES, samples=4000)
    for name in ("object/t_block/mass", "contact/t_block-table/friction"):
        low, high = RANGES[name]
        column = _column(belief, name)
        assert low <= column.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < column.max() <= high
        assert info.origins[name] == "task"
    assert info.origins["object/t_block/com_y"] == "flat"


@pytest.mark.parametrize("kind", ["materials", "geometry", "flat"])
def test_how_weight_is_spread_is_open(kind: str) -> None:
    """Turning on the table may be free or as hard as an even bottom makes it; tools touch at a point."""
    belief, _ = _prior("t_block", kind=kind, task_ranges=RANGES)
    column = _column(belief, "contact/t_block-table/torsional")
    assert np.quantile(column, [0.0, 0.5, 1.0]) == pytest.approx([0.0, 0.02, 0.04], abs=0.002)  # of 20 x 20 cm
    assert "contact/t_block-pusher/torsional" not in belief.names


def test_an_open_mesh_and_an_unknown_scale_are_said() -> None:
    """A mesh with a hole counts as its convex hull; without a scale, mass does not follow from volume."""
    vertices, faces = box_mesh((0.1, 0.1, 0.1))
    solid = solid_of(splatmesh(vertices, faces[1:]), np.random.default_rng(0))
    assert not solid.is_mesh_solid
    assert solid.volume_m3 == pytest.approx(0.001)
    np.testing.assert_allclose(solid.centroid, 0.0, atol=1e-12)
    _, info = _prior("cube", is_metric=False)
    assert "scale-unknown" in [finding.code for finding in info.findings]


def test_nothing_reconstructed_is_an_empty_belief() -> None:
    """Without objects there is nothing to believe, and no error."""
    belief, info = _prior(measured={"object/mug/mass": Measurement((0.3,), 0.01)})
    assert belief.names == ()
    assert info.findings == ()


def test_a_belief_of_some_parameters_keeps_their_joint_draws() -> None:
    """What a simulator does not know can be left out; rows still belong together."""
    belief, _ = _prior("t_block")
    kept = belief.only({"object/t_block/com_y", "object/t_block/mass"})
    assert kept.names == ("object/t_block/mass", "object/t_block/com_y")
    np.testing.assert_array_equal(kept.samples[:, 1], _column(belief, "object/t_block/com_y"))
    assert kept.record == belief.record


def test_hidden_weights_are_spread_evenly_through_the_shape() -> None:
    """Places inside a shape average to its middle, and none is in the hole of a ring."""
    for name in ("t_block", "ring", "bracket"):
        solid = _solid(name)
        size = np.std(solid.interior, axis=0) / np.sqrt(len(solid.interior))
        assert np.all(np.abs(solid.interior.mean(axis=0) - solid.centroid) < 4.0 * size + 0.05 * solid.extents), name
    radius = np.hypot(*_solid("ring").interior[:, :2].T)
    assert radius.min() > 0.035
    assert radius.max() < 0.065
