"""The table without its objects, from trials: no ghost of an old shadow, whatever shape the shadow has."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.splatmesh import SplatMesh
from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.geometry import SE3
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.render.renderer import make_renderer
from gemel.services.render.spherical_harmonics import C0
from gemel.services.render.twin_view import TwinView
from gemel.stages.assemble.bare_table import SeenTrials, TrialFrame, with_bare_table

NOMINAL = nominal_looks()
SCAN = NOMINAL.placements["t_block"].as_matrix()
AWAY = [(-0.25, 0.1), (-0.2, -0.2), (0.05, 0.25), (0.0, -0.28), (-0.22, 0.0), (-0.1, 0.24)]
NO_LINKS = np.tile(np.eye(4), (1, 1, 1))
NO_LINKS[0, :3, 3] = [0.2, 0.35, 0.08]


def bare_colours() -> np.ndarray:
    """Dark and light boards with grain, (n, 3)."""
    assert NOMINAL.table is not None
    p = gaussians_of(NOMINAL.table).means
    boards = 0.55 + 0.1 * np.sign(np.sin(25.0 * p[:, 1])) + 0.01 * np.random.default_rng(0).standard_normal(len(p))
    return boards[:, None] * np.array([1.0, 0.8, 0.6])


def lamp_shadow(pose: np.ndarray) -> np.ndarray:
    """Light kept under a lamp: a tilted ellipse beside the block with a soft rim; no wall, no footprint, (n,)."""
    assert NOMINAL.table is not None
    local = gaussians_of(NOMINAL.table).means[:, :2] - pose[:2, 3] - [0.05, -0.04]
    radius = np.hypot(local @ [0.8, 0.6] / 0.13, local @ [-0.6, 0.8] / 0.07)
    return np.asarray(1.0 - 0.4 / (1.0 + np.exp((radius - 1.0) / 0.12)))


def table_in(colours: np.ndarray) -> SplatMesh:
    assert NOMINAL.table is not None
    return replace(NOMINAL.table, sh=((np.clip(colours, 0.0, 1.0) - 0.5) / C0)[:, None].astype(np.float32))


def view_of(seen: Reconstruction, *, has_shadows: bool) -> TwinView:
    return TwinView(seen, ("pusher",), renderer=make_renderer("cpu"), has_shadows=has_shadows)


def scanned() -> Reconstruction:
    """The block's shadow is in the table's colours, and grey is where nobody could look under it."""
    colours = bare_colours() * lamp_shadow(SCAN)[:, None]
    assert NOMINAL.table is not None
    is_under = (np.abs(gaussians_of(NOMINAL.table).means[:, :2] - SCAN[:2, 3]) < 0.04).all(axis=1)
    colours[is_under] = 0.4
    return replace(NOMINAL, table=table_in(colours))


def trials(shifts: list[tuple[float, float]]) -> SeenTrials:
    """What the camera sees with the block, and its shadow, moved so far from its place in the scan."""
    frames = []
    for k, shift in enumerate(shifts):
        pose = SCAN @ SE3.exp(np.array([*shift, 0.0, 0.0, 0.0, 0.0])).as_matrix()
        links = NO_LINKS.copy()
        links[0, 0, 3] += 0.05 * k
        world = view_of(
            replace(NOMINAL, table=table_in(bare_colours() * lamp_shadow(pose)[:, None])), has_shadows=False
        )
        (image,) = world.draw(links, {"t_block": pose}, [world.viewpoint("front", links)])
        frames.append(TrialFrame("front", image.colour, links, {"t_block": pose}))
    return SeenTrials(("pusher",), tuple(frames))


def ghost(seen: Reconstruction) -> np.ndarray:
    """Drawn over true brightness of the empty table where the block and its shadow were in the scan."""
    true = view_of(replace(NOMINAL, table=table_in(bare_colours())), has_shadows=False)
    twin = view_of(seen, has_shadows=True)
    images = [view.draw(NO_LINKS, {}, [view.viewpoint("front", NO_LINKS)])[0].colour for view in (twin, true)]
    shaded = view_of(replace(NOMINAL, table=table_in(lamp_shadow(SCAN)[:, None] * np.ones(3))), has_shadows=False)
    (light,) = shaded.draw(NO_LINKS, {}, [shaded.viewpoint("front", NO_LINKS)])
    is_old_place = (light.colour.mean(axis=-1) < 0.85) & (light.colour.mean(axis=-1) > 0.4)
    drawn, wanted = (image[is_old_place].mean(axis=-1) for image in images)
    return np.asarray(drawn / wanted)


@pytest.fixture(scope="module")
def painted() -> Reconstruction:
    """The scan, painted from trials in which the block lay elsewhere."""
    found, findings = with_bare_table(scanned(), trials(AWAY))
    assert findings == ()
    return found


def test_a_moved_object_leaves_no_ghost_of_a_shadow_of_any_shape(painted: Reconstruction) -> None:
    """The old place is as bright as the table is, within 2 % for half of its pixels; the fitted shade alone is not."""
    before, after = (np.abs(np.log(ghost(seen))) for seen in (scanned(), painted))
    assert np.median(before) > 0.04
    assert np.median(after) < 0.02
    assert np.percentile(after, 95) < 0.5 * np.percentile(before, 95)


def test_the_shade_still_follows_the_object(painted: Reconstruction) -> None:
    """Where the block is now, the table beside it is darker than without it, on the lamp's far side."""
    view = view_of(painted, has_shadows=True)
    assert view.shadow.strength > 0.2
    assert view.shadow.lean[0] > 0.0 > view.shadow.lean[1]


@pytest.mark.parametrize("shifts", [[], [(0.0, 0.0)] * 4], ids=["no trials", "an object that never moved"])
def test_what_no_trial_shows_is_said(shifts: list[tuple[float, float]]) -> None:
    seen = scanned()
    painted, (finding,) = with_bare_table(seen, trials(shifts))
    assert finding.code == "table-under-objects"
    assert finding.value is not None
    assert finding.value > 0.1
    assert (painted.bare_table is None) == (not shifts)


def test_nothing_is_painted_where_no_object_was(painted: Reconstruction) -> None:
    """Far from the objects' places in the scan the table keeps its colours."""
    seen = scanned()
    assert painted.bare_table is not None
    assert seen.table is not None
    far = np.linalg.norm(gaussians_of(seen.table).means[:, :2] - SCAN[:2, 3], axis=1) > 0.4
    scan = view_of(seen, has_shadows=True).table_colours.numpy()
    np.testing.assert_array_equal(painted.bare_table[far], scan[far])
