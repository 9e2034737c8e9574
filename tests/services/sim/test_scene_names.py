"""Names and lengths that do not fit are refused in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.belief import Belief
from gemel.artifacts.capture import JointSignal, UnitSource
from gemel.errors import ConfigError
from gemel.geometry import box_mesh
from gemel.services.sim.compile import compile_twin
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.stage import assemble
from gemel.store.store import Store
from services.sim.made_twin import at, belief, block_twin, reconstruction, sample_robot, splat_mesh


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.parametrize(
    ("name", "words"),
    [("pusher", "part of the robot"), ("link6", "part of the robot"), ("joint6", "part of the robot"),
     ("floor_below_table", "part of the robot or of the scene"), ("", "not empty"), ("a/b", "no slash")],
)  # fmt: skip
def test_names_that_are_taken(store: Store, name: str, words: str) -> None:
    """Geoms, links and joints of the robot, parts of the scene, nothing at all."""
    twin = block_twin(store, {}, robot=sample_robot(store))
    (pieces,), (pose,), (inertia,) = (each.values() for each in (twin.colliders, twin.initial_poses, twin.inertias))
    twin = replace(twin, colliders={name: pieces}, initial_poses={name: pose}, inertias={name: inertia})
    with pytest.raises(ConfigError, match=words):
        compile_twin(twin, store)


def test_names_whose_hyphens_make_two_contacts_one(store: Store) -> None:
    """`a` with `b-c` and `a-b` with `c`."""
    twin = block_twin(store, {})
    (pieces,), (pose,), (inertia,) = (each.values() for each in (twin.colliders, twin.initial_poses, twin.inertias))
    names = ("a", "b-c", "a-b", "c")
    twin = replace(
        twin, colliders=dict.fromkeys(names, pieces), initial_poses=dict.fromkeys(names, pose),
        inertias=dict.fromkeys(names, inertia),
    )  # fmt: skip
    with pytest.raises(ConfigError, match="'a-b-c'"):
        compile_twin(twin, store)


def test_joints_and_offsets_of_different_number(store: Store) -> None:
    """Five logged joints, offsets of six."""
    twin = block_twin(store, {}, robot=sample_robot(store))
    with pytest.raises(ConfigError, match="5 logged joints; its reconstruction has offsets of 6"):
        compile_twin(replace(twin, joints=twin.joints[:5]), store)


@pytest.mark.parametrize("home", [np.zeros(4), np.full(6, np.nan)])
def test_a_home_that_is_none(store: Store, home: np.ndarray) -> None:
    """Too short, or not finite."""
    robot = sample_robot(store)
    signals = tuple(JointSignal(name, "rad", "rad", UnitSource.SOURCE, name) for name in robot.joint_names)
    seen = reconstruction(
        {"box": splat_mesh(*box_mesh((0.1, 0.06, 0.04)))}, {"box": at(0.4, 0.0, 0.02)}, has_robot=True
    )
    with pytest.raises(ConfigError, match="6 finite joint positions"):
        assemble(
            seen, belief({}), AssembleConfig(), robot=robot, joints=signals, task=None, blobs=store,
            rng=np.random.default_rng(0), home=home,
        )  # fmt: skip


def test_a_belief_with_other_weights_than_samples() -> None:
    """Three samples, two weights."""
    with pytest.raises(ConfigError, match="3 samples and 2 weights"):
        Belief((), np.zeros((3, 0)), np.array([0.5, 0.5]))
