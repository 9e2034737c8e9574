"""Objects stand on what is below them: the table, or other objects."""

from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.finding import Severity
from gemel.geometry import SE3, SO3, box_mesh
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.stage import assemble
from gemel.stages.assemble.standing import drop, put_down
from gemel.store.store import Store
from services.sim.made_twin import at, belief, reconstruction, splat_mesh

BOX = box_mesh((0.1, 0.06, 0.04))
PLATE = box_mesh((0.2, 0.2, 0.008))


def test_things_fall_on_each_other() -> None:
    """A box over a box, half over it, beside it, turned, and in it; truth is known."""
    box, _ = BOX
    lift = np.array([0.0, 0.0, 0.05])
    assert drop([box], [box + lift]) == pytest.approx(0.01)
    assert drop([box], [box + lift + [0.09, 0.0, 0.0]]) == pytest.approx(0.01)
    assert drop([box], [box + lift + [0.11, 0.0, 0.0]]) == np.inf
    assert drop([box], [box + 0.7 * lift]) == pytest.approx(-0.005)
    tilted = SE3(SO3.exp(np.array([0.0, 0.5, 0.0])), np.array([0.0, 0.0, 0.1])) @ box
    assert drop([box], [tilted]) == pytest.approx(tilted[:, 2].min() - 0.02)


@pytest.mark.parametrize("gap", [0.0012, 0.008, -0.0005])
def test_a_stack_is_a_stack(tmp_path: Path, gap: float) -> None:
    """The upper box is put on the lower one, which is put on the table, whichever comes first; both rest."""
    box = splat_mesh(*BOX)
    for order in (("low", "high"), ("high", "low")):
        heights = {"low": 0.021, "high": 0.06 + gap}
        seen = reconstruction(dict.fromkeys(order, box), {name: at(0.4, 0.0, heights[name]) for name in order})
        twin, info = assemble(
            seen, belief({}), AssembleConfig(), robot=None, joints=(), task=None,
            blobs=Store(tmp_path / order[0]), rng=np.random.default_rng(0),
        )  # fmt: skip
        assert twin.initial_poses["low"].translation[2] == pytest.approx(0.02)
        assert twin.initial_poses["high"].translation[2] == pytest.approx(0.06)
        assert {finding.severity for finding in info.findings} == {Severity.NOTE}


def test_a_box_on_a_plate_is_not_pulled_into_it() -> None:
    """The plate is thinner than what objects are moved by."""
    pieces = {"box": (BOX[0],), "plate": (PLATE[0],)}
    poses, left = put_down(pieces, {"box": at(0.4, 0.0, 0.028), "plate": at(0.4, 0.0, 0.004)}, 0.0, 0.01)
    assert poses["box"].translation[2] == pytest.approx(0.028)
    assert left == {}


def test_what_hovers_and_what_leans_beside_is_told_from_what_stands() -> None:
    """A box far above a plate is left there; one beside it goes to the table; one under a table top stays under it."""
    pieces = {"a": (BOX[0],), "b": (BOX[0],), "top": (PLATE[0],)}
    placements = {"a": at(0.4, 0.0, 0.3), "b": at(0.0, 0.0, 0.023), "top": at(0.0, 0.0, 0.104)}
    poses, left = put_down(pieces, placements, 0.0, 0.01)
    assert left == {"a": pytest.approx(0.28), "top": pytest.approx(0.06)}
    assert poses["b"].translation[2] == pytest.approx(0.02)
