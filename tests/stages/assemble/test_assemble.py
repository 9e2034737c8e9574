"""Assemble: what is seen becomes what can be simulated, and the gate names what cannot."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.belief import Belief
from gemel.artifacts.capture import JointSignal, UnitSource
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3, box_mesh, icosphere_mesh
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.chain import Chain
from gemel.services.sim.twin_simulator import draw_samples, simulate_twin
from gemel.services.tasks import get_object, get_task
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.stage import assemble, table_height
from gemel.store.store import Store
from services.sim.made_twin import at, belief, reconstruction, sample_robot, splat_mesh

SIZE = (0.1, 0.06, 0.04)
RNG = np.random.default_rng


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def _box() -> SplatMesh:
    return splat_mesh(*box_mesh(SIZE))


def _one(mesh: SplatMesh | None = None, pose: SE3 | None = None) -> Reconstruction:
    return reconstruction({"box": mesh or _box()}, {"box": pose or at(0.4, 0.0, 0.02, 0.3)})


def _assembled(
    seen: Reconstruction, store: Store, given: Belief | None = None, /, **settings: object
) -> tuple[Twin, Mapping[str, Finding]]:
    config = AssembleConfig(is_gate_strict=False, **settings)  # type: ignore[arg-type]
    twin, info = assemble(seen, given or belief({}), config, robot=None, joints=(), task=None, blobs=store, rng=RNG(0))
    return twin, {finding.code: finding for finding in info.findings}


NOTES = {"collider-gap", "deepest-overlap", "at-rest"}


def test_sound_objects_raise_nothing_but_notes(store: Store) -> None:
    """A box on a table is one piece, of the mass that its volume and density give, and stays where it is.

    What was measured is told although it passes.
    """
    twin, found = _assembled(_one(), store)
    assert set(found) == NOTES
    assert {finding.severity for finding in found.values()} == {Severity.NOTE}
    assert found["at-rest"].value == pytest.approx(0.0, abs=0.1)
    assert found["deepest-overlap"].value == pytest.approx(0.0, abs=0.1)
    assert twin.inertias["box"].mass_kg == pytest.approx(700.0 * np.prod(SIZE))
    assert len(twin.colliders["box"]) == 1
    assert twin.collider_gaps_m["box"] < 1e-9


def test_reconstructed_noise_does_not_rock(store: Store) -> None:
    """A T-block with a millimetre of noise on its bottom rests; without flat bottoms it would rock or creep."""
    model = get_object("t_block")
    rough = model.vertices.copy()
    bottom = rough[:, 2] < 0.0
    rough[bottom, 2] += RNG(3).uniform(0.0, 1e-3, bottom.sum())
    seen = reconstruction(
        {"t_block": splat_mesh(rough, model.faces)}, {"t_block": at(0.4, 0.0, 0.0215, 0.3)}
    )  # fmt: skip
    masses, frictions = np.geomspace(0.04, 1.0, 8), np.linspace(0.1, 1.0, 8)
    given = belief({"object/t_block/mass": tuple(masses), "contact/t_block-table/friction": tuple(frictions)})
    twin, found = _assembled(seen, store, given)
    assert "does-not-rest" not in found
    assert twin.initial_poses["t_block"].translation[2] < 0.0215
    assert twin.collider_gaps_m["t_block"] < 0.003
    draws = draw_samples(twin, 8, RNG(0))
    simulator, scene = simulate_twin(twin, store, draws)
    end = simulator.rollout(np.zeros((1, 1, 0)), every=1250)
    assert np.abs(end.qpos[:, -1] - scene.qpos(None)).max() < 1e-4


def test_robot_joints_and_task_go_into_the_twin(store: Store) -> None:
    """The twin knows the robot, which logged joint is which, and the task; and it compiles with all of them."""
    robot = sample_robot(store)
    finger = JointSignal("gripper.pos", "percent", "fraction", UnitSource.SOURCE, "joint6")
    signals = tuple(
        JointSignal(f"{name}.pos", "rad", "rad", UnitSource.SOURCE, name) for name in robot.joint_names
    )  # fmt: skip
    seen = reconstruction({"t_block": _box()}, {"t_block": at(0.4, 0.0, 0.02)}, has_robot=True)
    seen = replace(
        seen, joint_offsets=np.append(seen.joint_offsets, 0.0), joint_offset_sigmas=np.zeros(7), joint_plays=np.zeros(7)
    )
    twin, info = assemble(
        seen,
        belief({}),
        AssembleConfig(),
        robot=robot,
        joints=(*signals, finger),
        task=get_task("push-t"),
        blobs=store,
        rng=RNG(0),
    )
    assert twin.joints == (*robot.joint_names, "")
    assert {finding.code for finding in info.findings} == NOTES
    assert twin.task is not None


def test_any_belief_is_taken(store: Store) -> None:
    """A belief of what the scene has is the twin's belief."""
    given = belief({"object/box/mass": (0.1, 0.2)})
    twin, _ = _assembled(_one(), store, given)
    assert twin.belief is given


def test_bounce_is_left_out_unless_wanted(store: Store) -> None:
    """Restitution goes into the twin of what is tossed; contacts and sizes that no scene has never do."""
    given = belief({
        "object/box/mass": (0.1, 0.2), "contact/box-table/restitution": (0.3, 0.5),
        "contact/box-glove/friction": (0.5, 0.6), "object/box/size_x": (0.1, 0.1),
    })  # fmt: skip
    still, found = _assembled(_one(), store, given)
    assert still.belief.names == ("object/box/mass",)
    assert "contact/box-glove/friction" in found["not-in-scene"].message
    tossed, _ = _assembled(_one(), store, given, has_bounce=True)
    assert tossed.belief.names == ("object/box/mass", "contact/box-table/restitution")


def test_nothing_to_assemble(store: Store) -> None:
    """Without objects the twin is the scene alone, and says so."""
    twin, found = _assembled(replace(reconstruction({}, {}), table=None), store)
    assert "nothing-to-assemble" in found
    assert twin.table_height_m is None


def test_table_is_found_without_being_seen() -> None:
    """The lowest object tells the table's height when no table was reconstructed."""
    assert table_height(replace(_one(pose=at(0.0, 0.0, 0.3)), table=None)) == pytest.approx(0.28)


@pytest.mark.parametrize(
    ("values", "code", "word"),
    [
        ({"object/box/mass": (20.0,)}, "implausible-mass", "20 kg"),
        ({"object/box/com_x": (0.09,)}, "centre-outside", "90 mm"),
        ({"object/box/inertia_xx": (1.0,)}, "unphysical-parameters", "triangle"),
        ({"object/bocks/mass": (0.1,)}, "unphysical-parameters", "object/box/mass"),
    ],
)
def test_gate_names_what_is_wrong_with_a_belief(
    store: Store, values: Mapping[str, tuple[float, ...]], code: str, word: str
) -> None:
    """Beliefs that no body can have are errors with a remedy."""
    _, found = _assembled(_one(), store, belief(values))
    assert found[code].severity is Severity.ERROR
    assert word in found[code].message
    assert found[code].remedy


def test_gate_names_overlap(store: Store) -> None:
    """Two objects in one place."""
    seen = reconstruction({"a": _box(), "b": _box()}, {"a": at(0.4, 0.0, 0.02), "b": at(0.42, 0.01, 0.02)})
    _, found = _assembled(seen, store)
    assert found["initial-penetration"].severity is Severity.ERROR
    assert found["initial-penetration"].stream in ("a-b", "b-a")


def test_gate_names_what_does_not_rest(store: Store) -> None:
    """A box on its edge was never seen at rest."""
    from gemel.geometry import SO3

    tilted = SE3(SO3.exp(np.array([0.5, 0.0, 0.0])), np.array([0.4, 0.0, 0.034]))
    _, found = _assembled(_one(pose=tilted), store)
    assert found["does-not-rest"].severity is Severity.ERROR
    assert found["does-not-rest"].value is not None
    assert found["does-not-rest"].value > 5.0


def test_a_small_drift_is_an_error_too(store: Store) -> None:
    """A box that tips down by some millimetres; `drift_m` says how much is too much."""
    from gemel.geometry import SO3

    tilted = SE3(SO3.exp(np.array([0.05, 0.0, 0.0])), np.array([0.4, 0.0, 0.0215]))
    _, found = _assembled(_one(pose=tilted), store)
    assert found["does-not-rest"].severity is Severity.ERROR
    assert found["does-not-rest"].value is not None
    assert 1.0 < found["does-not-rest"].value < 10.0
    assert "does-not-rest" not in _assembled(_one(pose=tilted), store, drift_m=0.01)[1]


def test_a_card_is_assembled(store: Store) -> None:
    """An object thinner than the noise of bottoms keeps its volume and rests."""
    card = splat_mesh(*box_mesh((0.08, 0.05, 0.001)))
    twin, found = _assembled(_one(card, at(0.4, 0.0, 0.0005)), store)
    assert set(found) == NOTES
    (piece,) = twin.colliders["box"]
    assert np.ptp(np.asarray(store.get_table(piece)["vertices"])[:, 2]) == pytest.approx(0.001)


def test_gate_names_links_that_start_inside_things(store: Store) -> None:
    """The tool in the box where trials start, and not where the model has it; through the table at yet another pose."""
    robot = sample_robot(store)
    signals = tuple(JointSignal(f"{name}.pos", "rad", "rad", UnitSource.SOURCE, name) for name in robot.joint_names)
    home = np.array([0.64, 0.75, 1.63, 0.0, 0.76, 0.64])
    tip = Chain.to_tip(compile_stored_robot(robot, store)).tip_poses(home[None])[0, :3, 3]
    seen = reconstruction({"box": _box()}, {"box": at(float(tip[0]), float(tip[1]), 0.02)}, has_robot=True)
    seen = replace(seen, Ts_world_base=SE3.identity(1), joint_offsets=np.zeros(6))

    def overlaps(pose: np.ndarray | None) -> dict[str, Finding]:
        _, info = assemble(
            seen, belief({}), AssembleConfig(is_gate_strict=False), robot=robot, joints=signals, task=None, blobs=store,
            rng=RNG(0), home=pose,
        )  # fmt: skip
        return {finding.stream: finding for finding in info.findings if finding.code == "initial-penetration"}

    inside = overlaps(home)
    assert set(inside) == {"link6-box"}
    assert inside["link6-box"].severity is Severity.ERROR
    assert "'link6'" in inside["link6-box"].message
    assert overlaps(None) == {}
    assert any(name.endswith("-table") for name in overlaps(home + 0.5 * np.eye(6)[1]))


def test_gate_names_what_hovers(store: Store) -> None:
    """An object far above the table is left there and named."""
    twin, found = _assembled(_one(pose=at(0.4, 0.0, 0.1)), store)
    assert found["not-on-table"].value == pytest.approx(80.0)
    assert twin.initial_poses["box"].translation[2] == pytest.approx(0.1)


def test_gate_names_a_scale_that_nobody_knows(store: Store) -> None:
    """Without metres, gravity is a guess."""
    _, found = _assembled(replace(_one(), is_metric=False), store)
    assert found["no-metric-scale"].severity is Severity.WARNING


def test_gate_names_a_wide_gap(store: Store) -> None:
    """Pieces that gloss over a hollow are named."""
    shell, faces = icosphere_mesh(0.05, 3)
    bent = shell + np.stack([np.zeros(len(shell)), 20.0 * shell[:, 0] ** 2, np.zeros(len(shell))], axis=1)
    _, found = _assembled(_one(splat_mesh(bent, faces), at(0.4, 0.0, 0.05)), store, concavity=1.0)
    assert found["collider-gap"].severity is Severity.WARNING


def test_gate_names_a_scene_that_does_not_compile(store: Store) -> None:
    """An object with the name of a part of the scene."""
    seen = reconstruction({"table": _box()}, {"table": at(0.4, 0.0, 0.02)})
    _, found = _assembled(seen, store, belief({}))
    assert found["does-not-compile"].severity is Severity.ERROR


def test_errors_stop_the_stage_unless_told_not_to(store: Store) -> None:
    """A strict gate raises with all errors and how to go on."""
    with pytest.raises(ConfigError, match=r"(?s)implausible-mass.*is_gate_strict"):
        assemble(
            _one(), belief({"object/box/mass": (20.0,)}), AssembleConfig(), robot=None, joints=(), task=None,
            blobs=store, rng=RNG(0),
        )  # fmt: skip


def test_settings_out_of_range_are_refused() -> None:
    """CoACD's threshold has bounds."""
    with pytest.raises(ConfigError, match="concavity"):
        AssembleConfig(concavity=0.0)
