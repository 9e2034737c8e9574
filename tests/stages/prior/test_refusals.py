"""Bad input is refused with what was given, what was expected and what to do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.project import open_project
from gemel.stages.prior.config import Matter, Measurement, Part, PriorConfig
from gemel.stages.prior.stage import prior
from stages.prior.made_objects import Kept, reconstruction

CORNER = {f"object/t_block/com_{a}": {"normal": [v, 0.001]} for a, v in zip("xyz", (0.09, -0.09, 0.0), strict=True)}


def _prior(file_table: Any = None, **settings: Any) -> None:
    config = PriorConfig(**settings)
    rng = np.random.default_rng(0)
    prior(reconstruction("t_block"), config, blobs=Kept(), rng=rng, file_table=file_table)


@pytest.mark.parametrize(
    ("name", "measurement", "message"),
    [
        ("object/t_block/mass", Measurement((-0.3,), 0.01), "contradicts physics"),
        ("object/t_block/mass", Measurement((343.0,), 1.0), r"4.914e\+05 kg/m³ \(steel 7850, osmium 22590\)"),
        ("object/t_block/com_y", Measurement((0.3,), 0.01), "the object itself reaches from -0.1 to 0.1 m"),
        ("object/t_block/size_x", Measurement((20.0,), 0.1), "the reconstructed object measures 0.2 m"),
        ("contact/t_block-table/friction", Measurement((2.5,), 0.1), "contradicts physics"),
        ("contact/t_block-table/friction", Measurement((-0.2,), 0.1), "contradicts physics"),
        ("contact/t_block-table/restitution", Measurement((1.2,), 0.1), "contradicts physics"),
        ("object/t_block/mass", Measurement(readings_deg=(20.0,), margin_deg=1.0), "measures friction only"),
        ("object/t_block/mas", Measurement((0.3,), 0.01), "Closest: 'object/t_block/mass'"),
        ("contact/t_block-tabel/friction", Measurement((0.3,), 0.01), "Closest: 'contact/t_block-table/friction'"),
    ],
)  # fmt: skip
def test_measurements_that_cannot_be_are_refused(name: str, measurement: Measurement, message: str) -> None:
    """Impossible values come with the numbers that make them impossible, unknown parameters with the closest name."""
    with pytest.raises(ConfigError, match=message):
        _prior(measured={name: measurement})


def test_a_centre_of_mass_in_the_notch_of_the_t_is_allowed_and_beyond_the_hull_is_not() -> None:
    """The convex hull decides, not the surface: inside the bounding box there are still impossible places."""
    beside_stem = {
        "object/t_block/com_x": Measurement((0.03,), 0.001),
        "object/t_block/com_y": Measurement((0.0,), 0.001),
    }
    _prior(measured=beside_stem)
    corner = {
        "object/t_block/com_x": Measurement((0.095,), 0.001),
        "object/t_block/com_y": Measurement((-0.095,), 0.001),
    }
    with pytest.raises(ConfigError, match="convex hull in 100 % of cases"):
        _prior(measured=corner)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"object/t_block/mass": {"normal": [-1.0, 0.1]}}, "contradicts physics"),
        ({"object/t_block/mass": {"normal": [1.0]}}, "one, with two numbers, was expected"),
        ({"object/t_block/mass": {"uniform": [0.2, 0.1]}}, "has no width"),
        ({"object/t_block/mass": {"log_normal": [0.3, 0.9]}}, "a factor above 1"),
        ({"object/t_block/mass": {"uniform": [0.1, 0.2], "normal": [0.1, 0.2]}}, "2 distributions are given"),
        ({"object/t_block/mass": {"gaussian": [0.1, 0.2]}}, "'gaussian' is unknown"),
        ({"object/mug/mass": {"normal": [0.3, 0.1]}}, "'object/mug/mass' is unknown"),
        ({"contact/t_block-table/friction": {"uniform": [0.1, 3.0]}}, "contradicts physics"),
        (CORNER, "convex hull"),
    ],
)  # fmt: skip
def test_files_that_contradict_physics_or_themselves_are_refused(table: dict[str, Any], message: str) -> None:
    """The user's own distributions are checked as measurements are."""
    with pytest.raises(ConfigError, match=message):
        _prior(table)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Measurement(()), "one of both was expected"),
        (lambda: Measurement((0.3,)), "has no margin"),
        (lambda: Measurement((0.3,), -0.1), "is negative"),
        (lambda: Measurement(readings_deg=(85.0,)), "0 to 63 degrees"),
        (lambda: Part("steel", "top", 0.5), "'top' is unknown"),
        (lambda: Part("steel", "+x", 1.5), "between 0 and 1"),
        (lambda: Matter("wood", (0.5, 0.2)), "low, high"),
        (lambda: Matter("wood", parts=(Part("steel", "+x", 0.2), Part("steel", "+y", 0.2))), "several axes"),
        (lambda: Matter("wood", parts=(Part("steel", "+x", 0.7), Part("steel", "-x", 0.7))), "sum to 1.4"),
        (lambda: PriorConfig(kind="file"), "has no file"),
        (lambda: PriorConfig(samples=3), "samples = 3"),
        (lambda: _prior(objects={"t_block": Matter("woood")}), r"Closest: \['wood'"),
        (lambda: _prior(objects={"t-block": Matter("wood")}), "Closest: 't_block'"),
        (lambda: _prior(kind="vlm"), "needs the address and the name of a model"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    """Each says what was expected."""
    with pytest.raises(ConfigError, match=message):
        make()


def test_twin_toml_becomes_the_priors_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Materials, parts, surfaces and measurements arrive; the prompt stays what segment gets."""
    (tmp_path / "twin.toml").write_text(
        """
        [capture]
        source = "log"
        [prior]
        kind = "vlm"
        vlm.model = "local"
        [objects.hammer]
        prompt = "hammer"
        material = "wood"
        parts = [{ material = "steel", where = "+x", share = 0.2 }]
        [objects.hammer.measured]
        mass_kg = { readings = [0.62, 0.621], margin = 0.001 }
        size_x_m = { readings = [0.28], margin = 0.001 }
        [surfaces.table]
        material = "steel"
        [measured."contact/hammer-table/friction"]
        readings_deg = [17.0, 18.5]
        margin_deg = 0.5
        """
    )
    monkeypatch.setenv("GEMEL_VLM_URL", "http://localhost:1/v1")
    monkeypatch.setenv("GEMEL_VLM_KEY", "secret")
    project = open_project(tmp_path)
    config = project.prior_config()
    assert config.objects["hammer"] == Matter("wood", parts=(Part("steel", "+x", 0.2),))
    assert set(config.measured) == {"object/hammer/mass", "object/hammer/size_x", "contact/hammer-table/friction"}
    assert config.measured["object/hammer/mass"].range == pytest.approx((0.619, 0.622))
    assert (config.vlm.url, config.vlm.model) == ("http://localhost:1/v1", "local")
    assert "secret" not in repr(config)
    assert project.segment_config().objects["hammer"].text == "hammer"
    assert "material" not in repr(project.segment_config())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[objects.mug]\nmatrial = 'wood'", "Closest: 'material'"),
        ("[objects.mug.measured]\nmass = { readings = [1.0], margin = 0.1 }", "Closest: 'mass_kg'"),
        ("[prior]\nkind = 'vml'", "Closest: 'vlm'"),
        ("[prior.vlm]\nkey = 'secret'", "'key' is unknown"),
    ],
)
def test_unknown_keys_of_twin_toml_list_the_closest(tmp_path: Path, line: str, message: str) -> None:
    """A key of the model's server has no place in twin.toml, and mistyped ones get a hint."""
    (tmp_path / "twin.toml").write_text(f'[capture]\nsource = "log"\n{line}\n')
    with pytest.raises(ConfigError, match=message):
        open_project(tmp_path)
