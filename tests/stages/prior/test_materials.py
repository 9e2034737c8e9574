"""The table of materials is complete, consistent and cited."""

import itertools
import tomllib

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.stages.prior.material_table import (
    FRICTION_BOUNDS,
    TABLE_FILE,
    UNKNOWN,
    draw_friction,
    draw_log_normal,
    draw_restitution,
    material_table,
)


def test_every_row_is_possible_and_cites_a_source() -> None:
    """Ranges ascend and are physical; every source that a row names is described, and every description is used."""
    tables = tomllib.loads(TABLE_FILE.read_text())
    assert len(tables["material"]) >= 25
    used = {key for row in tables["material"].values() for key in row["sources"]}
    used |= {row["source"] for row in tables["pair"]}
    assert used == set(tables["sources"])
    for material in material_table().material_from_name.values():
        assert 2.0 < material.density[0] < material.density[1] < 22_590.0
        assert 0.0 < material.fill[0] <= material.fill[1] <= 1.0
        assert FRICTION_BOUNDS[0] < material.friction[0] < material.friction[1] < FRICTION_BOUNDS[1]
        assert 0.0 < material.restitution[0] < material.restitution[1] < 1.0


def test_names_aliases_and_pairs_are_unambiguous() -> None:
    """No alias is also a name or listed twice; pairs speak of materials and families that exist."""
    tables = tomllib.loads(TABLE_FILE.read_text())
    names = list(tables["material"])
    aliases = [alias for row in tables["material"].values() for alias in row["aliases"]]
    assert len(set(names + aliases)) == len(names) + len(aliases)
    families = {row["family"] for row in tables["material"].values()} - {""}
    assert all(word in families or word in names for row in tables["pair"] for word in row["between"])


def test_an_unknown_material_lists_the_closest() -> None:
    """A mistyped material is refused with what may have been meant."""
    with pytest.raises(ConfigError, match=r"Closest: \['aluminium'"):
        material_table().find("alluminium", where="[objects.mug]")
    assert material_table().find("Plexiglas", where="").name == "acrylic"


def test_the_more_particular_pair_counts_and_order_does_not() -> None:
    """Oak on oak is not any wood on wood; friction of a pair is symmetric, for all pairs."""
    table = material_table()
    oak, pine = (table.find(name, where="") for name in ("oak", "pine"))
    assert table.friction(oak, oak).range != table.friction(pine, pine).range
    for a, b in itertools.combinations(table.material_from_name.values(), 2):
        assert table.friction(a, b).range == pytest.approx(table.friction(b, a).range)


def test_draws_have_the_stated_middle_part() -> None:
    """Nine of ten draws of a density lie in its range, within the binomial bound; pairs stay physical."""
    rng = np.random.default_rng(0)
    draws = draw_log_normal((400.0, 850.0), 10_000, rng)
    assert abs(np.mean((draws > 400.0) & (draws < 850.0)) - 0.9) < 3 * np.sqrt(0.09 / 10_000)
    table = material_table()
    rubber, unknown = table.find("rubber", where=""), table.find(UNKNOWN, where="")
    friction = draw_friction(table.friction(rubber, unknown), 10_000, rng)
    assert friction.min() >= FRICTION_BOUNDS[0]
    assert friction.max() <= FRICTION_BOUNDS[1]
    restitution = draw_restitution(rubber, unknown, 10_000, rng)
    assert 0.0 <= restitution.min() < restitution.max() <= 1.0
