"""Shade under objects: its laws, and that a fit finds it and takes it out."""

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.geometry import SE3, SO3
from gemel.services.render.contact_shadow import ContactShadow, ShadowCaster, occlusion
from gemel.services.render.shadow_fit import fit_shadow
from gemel.services.tasks import get_object
from services.sim.made_twin import splat_mesh

BLOCK = get_object("t_block")
MESH = splat_mesh(BLOCK.vertices, BLOCK.faces)


def placed(x: float, y: float, yaw: float, lift: float = 0.0) -> SE3:
    return SE3(SO3.exp(np.array([0.0, 0.0, yaw])), np.array([x, y, BLOCK.rest_height + lift]))


def test_a_wall_hides_half_the_sky_at_its_foot_and_none_far_away() -> None:
    """Also: less the further off, and less the higher an object floats that is off the table."""
    d = torch.linspace(0.0, 2.0, 200)
    hidden = occlusion(d, 0.04, 0.0, 0.07)
    assert hidden[0] == pytest.approx(0.5, abs=1e-3)
    assert hidden[-1] < 1e-3
    assert torch.all(hidden.diff() < 0.0)
    lifted = [float(occlusion(torch.tensor([0.01]), 0.04, torch.tensor(gap), 0.07)) for gap in (0.05, 0.1, 0.3, 1.0)]
    assert lifted == sorted(lifted, reverse=True)
    assert lifted[-1] < 0.05


def test_no_place_loses_more_light_than_it_has() -> None:
    """Under an object that hides most of the sky, the strongest shade that is fitted leaves darkness, not less."""
    p = torch.tensor(np.random.default_rng(0).uniform([0.2, -0.2], [0.7, 0.2], (4000, 2)), dtype=torch.float32)
    pose = placed(0.45, 0.0, 0.6).as_matrix()[None]
    kept = ShadowCaster(MESH, 0.0, "cpu").kept_light(ContactShadow(1.6), pose, p)
    assert float(kept.min()) == 0.0
    assert float(kept.max()) <= 1.0


def test_distances_turn_and_move_with_the_object() -> None:
    """A point fixed to the block has one distance from its outline wherever the block is; the truth is a ruler's."""
    caster = ShadowCaster(MESH, 0.0, "cpu")
    local = np.array([[0.13, 0.075, 0.0], [0.0, -0.15, 0.0], [0.0, 0.0, 0.0]])
    for pose in (placed(0.4, 0.1, 0.0), placed(0.3, -0.2, 2.1)):
        p = torch.tensor((pose @ local)[:, :2], dtype=torch.float32)
        (around,) = caster.distances(pose.as_matrix()[None], p)
        np.testing.assert_allclose(around.distances_m[0].numpy(), [0.03, 0.05, -0.025], atol=0.004)
        assert float(around.gaps_m) == pytest.approx(0.0, abs=1e-6)


def test_a_fit_finds_the_shade_on_a_textured_table_and_takes_it_out() -> None:
    """Strength within 15 % and the table's colours as they were, although boards and noise are on it."""
    rng = np.random.default_rng(0)
    places = rng.uniform([0.1, -0.3], [0.8, 0.3], (9000, 2))
    boards = 0.5 + 0.04 * np.sign(np.sin(places[:, 1] * 40.0)) + 0.05 * places[:, 0]
    truth = np.clip(boards[:, None] * [1.0, 0.8, 0.6] + 0.02 * rng.standard_normal((9000, 1)), 0.0, 1.0)
    p, plain = torch.tensor(places, dtype=torch.float32), torch.tensor(truth, dtype=torch.float32)
    shadow, pose = ContactShadow(0.8, 0.7, (0.3, -0.2)), placed(0.45, 0.0, 0.6)
    caster = ShadowCaster(MESH, 0.0, "cpu")
    shaded = plain * caster.kept_light(shadow, pose.as_matrix()[None], p)[0, :, None]
    (around,) = caster.distances(pose.as_matrix()[None], p)
    is_seen = around.distances_m[0].numpy() > 0.0
    found, clean = fit_shadow({"t_block": caster}, {"t_block": pose}, p, shaded, is_seen)
    assert found.strength == pytest.approx(shadow.strength, rel=0.15)
    beside = is_seen & (around.distances_m[0].numpy() < 0.1)
    error = (clean - plain).abs().mean(dim=1).numpy()
    before = (shaded - plain).abs().mean(dim=1).numpy()
    assert np.median(error[beside]) < 0.2 * np.median(before[beside])
    assert error[~is_seen].max() < 0.2


def test_a_table_without_shade_is_left_alone() -> None:
    """Where nothing is darker round the object, the fitted strength is near zero."""
    rng = np.random.default_rng(1)
    p = torch.tensor(rng.uniform([0.1, -0.3], [0.8, 0.3], (5000, 2)), dtype=torch.float32)
    colours = torch.tensor(0.5 + 0.02 * rng.standard_normal((5000, 3)), dtype=torch.float32)
    caster = ShadowCaster(MESH, 0.0, "cpu")
    found, _ = fit_shadow({"t_block": caster}, {"t_block": placed(0.45, 0.0, 0.6)}, p, colours, np.ones(5000, bool))
    assert found.strength < 0.08
