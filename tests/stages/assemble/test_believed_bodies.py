"""The gate looks at all draws of a belief, not at their mean alone."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.finding import Finding, Severity
from gemel.geometry import box_mesh
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.stage import assemble
from gemel.store.store import Store
from services.sim.made_twin import at, belief, reconstruction, splat_mesh

SIZE = (0.1, 0.06, 0.04)


def _found(folder: Path, values: Mapping[str, tuple[float, ...]], height: float = 0.02) -> dict[str, Finding]:
    box = splat_mesh(*box_mesh(SIZE))
    _, info = assemble(
        reconstruction({"box": box}, {"box": at(0.4, 0.0, height)}), belief(values),
        AssembleConfig(is_gate_strict=False, settle_s=2.0), robot=None, joints=(), task=None, blobs=Store(folder / "s"),
        rng=np.random.default_rng(0),
    )  # fmt: skip
    return {finding.code: finding for finding in info.findings}


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ({"object/box/com_x": (-0.5, 0.5, 0.0)}, "centre-outside", "67 % of the belief's draws"),
        ({"object/box/mass": (0.1, 0.1, 0.1, 0.001)}, "implausible-mass", "25 % of the belief's draws"),
        (dict.fromkeys(("object/box/inertia_xx", "object/box/inertia_yy", "object/box/inertia_zz"), (1e3,)),
         "implausible-inertia", "times as wide"),
        (dict.fromkeys(("object/box/inertia_xx", "object/box/inertia_yy", "object/box/inertia_zz"),
                       (5e-5, 5e-5, 5e-5, 3e-4)), "implausible-inertia", "25 % of the belief's draws"),
    ],
)  # fmt: skip
def test_draws_that_no_such_object_can_be_are_errors(
    tmp_path: Path, values: Mapping[str, tuple[float, ...]], code: str, words: str
) -> None:
    """Centres outside, masses and inertias that the shape cannot have, with the share of draws."""
    found = _found(tmp_path, values)[code]
    assert found.severity is Severity.ERROR
    assert words in found.message


def test_a_rare_draw_is_only_noted(tmp_path: Path) -> None:
    """One draw in fifty beyond the edge is the tail of a fit."""
    found = _found(tmp_path, {"object/box/com_x": (*np.linspace(-0.01, 0.01, 49), 0.051)})
    assert found["centre-outside"].severity is Severity.NOTE
    assert "2 % of the belief's draws" in found["centre-outside"].message


def test_inertia_of_real_bodies_passes(tmp_path: Path) -> None:
    """Hollow and dense ones, with all mass on the surface or in the middle."""
    mass, (x, y, z) = 0.168, SIZE
    for part in (
        0.9 / 4.0,
        1.0 / 12.0,
        1e-3,
    ):  # second moment over squared extent: nearly all at the ends, even, middle
        xx, yy, zz = (mass * part * (a**2 + b**2) for a, b in ((y, z), (x, z), (x, y)))
        values = {"object/box/inertia_xx": (xx,), "object/box/inertia_yy": (yy,), "object/box/inertia_zz": (zz,)}
        assert "implausible-inertia" not in _found(tmp_path / str(part), values)


def test_draws_are_watched_at_rest(tmp_path: Path) -> None:
    """A wedge with its centre of mass above its foot in the mean, but beyond it in a third of its draws, tips then."""
    vertices, faces = box_mesh((0.12, 0.06, 0.1))
    vertices = vertices - np.where(((vertices[:, 0] > 0) & (vertices[:, 2] < 0))[:, None], [0.08, 0.0, 0.0], 0.0)
    given = belief({"object/box/com_x": (-0.05,) * 4 + (0.0,) * 2, "object/box/com_z": (-0.02,) * 6})
    _, info = assemble(
        reconstruction({"box": splat_mesh(vertices, faces)}, {"box": at(0.4, 0.0, 0.05)}), given,
        AssembleConfig(is_gate_strict=False), robot=None, joints=(), task=None, blobs=Store(tmp_path / "s"),
        rng=np.random.default_rng(0),
    )  # fmt: skip
    found = {finding.code: finding for finding in info.findings}["does-not-rest"]
    assert found.severity is Severity.ERROR
    assert "2 of 6 draws" in found.message
