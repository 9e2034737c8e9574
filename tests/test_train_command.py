"""`gemel train`: in a task's nominal scene, in a project's twin, and what it says when it cannot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.policy_card import PolicyCard
from gemel.artifacts.provenance import Provenance
from gemel.cli import main
from gemel.commands.screen import ScreenReporter
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.pipeline import run_project
from gemel.project import Project, open_project
from gemel.running import Run
from gemel.services.policy.checkpoint import load_network
from gemel.services.tasks import get_task
from gemel.stages.train.config import TrainConfig
from gemel.store.store import Store
from gemel.train_wiring import make_policy
from services.sim.made_twin import SAMPLE_ROBOT, block_twin, sample_robot

pytest.importorskip("rsl_rl", reason="needs the extra `train`")
BELIEF = {"object/t_block/com_x": (-0.01, 0.01), "object/t_block/com_y": (0.0, 0.05)}
TINY = TrainConfig(variants=("privileged", "randomised"), worlds=8, rollout=4, steps=64, batches=2)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Store, dict[str, str]]:
    """The bundled capture, ingested and split, with a nominal twin of its robot put in place of a fitted one."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "twin.toml").write_text(f'[capture]\nsource = "{SAMPLE_ROBOT.parents[1]}"\n[task]\nname = "push-t"\n')
    project = open_project(folder)
    results = run_project(project, ScreenReporter(), last="split")
    addresses = {result.name: result.address for result in results}
    store = Store(project.store_folder)
    twin = replace(block_twin(store, BELIEF, robot=sample_robot(store)), task=get_task("push-t"))
    provenance = Provenance("assemble", {}, {}, {}, "", 0, "cpu")
    addresses["assemble"] = store.put(twin, provenance, key="made", duration_s=0.0)
    return replace(project, settings=replace(project.settings, train=TINY)), store, addresses


def test_policies_are_trained_in_a_twin_and_know_it(opened: tuple[Project, Store, dict[str, str]]) -> None:
    """A card for each policy, its network in the store and in the project's folder, both naming the twin."""
    project, store, addresses = opened
    card, _ = make_policy(Run(project, store, addresses), "key", lambda part: None)
    assert card.name == "privileged-0"
    assert card.conditioned_on == ("object/t_block/com_y",)
    assert card.trained_on["twin"] == addresses["assemble"]
    assert sum(quantity.width for quantity in card.observation) == 18
    folder = project.folder / "policies" / "push-t"
    assert card.checkpoint is not None
    assert store.get_bytes(card.checkpoint) == (folder / "privileged-0.safetensors").read_bytes()
    network = load_network(folder / "randomised-0.safetensors", "policy")
    assert network.meta["made_by"]["twin"] == addresses["assemble"]
    cards = [e.body["address"] for e in store.ledger.entries("artifact") if e.body["type"] == "PolicyCard"]
    assert [store.get(address, PolicyCard).name for address in cards] == ["randomised-0"]
    assert {path.stem for path in (folder / "pictures").iterdir()} == {"learning_curve", "privileged-0", "randomised-0"}


def test_a_twin_is_told_its_centre_of_mass_in_the_frame_of_the_task(
    opened: tuple[Project, Store, dict[str, str]],
) -> None:
    """Where the reconstructed frame is turned against the nominal one, policies are told what is along the stem."""
    from gemel.artifacts.twin import Twin
    from gemel.services.policy.twin_arena import twin_arena
    from gemel.stages.train.train import make_training
    from gemel.stages.train.variants import agents_of

    project, store, addresses = opened
    arena = twin_arena(store.get(addresses["assemble"], Twin), store, task=get_task("push-t"))
    arena = replace(arena, T_object_task=SE3(SO3.exp(np.array([0.0, 0.0, 0.7])), np.array([0.01, 0.02, 0.0])))
    env = make_training(arena, agents_of(("privileged",), 1), TINY, out=project.folder / "unused").env
    com = env.ground.drawn(["object/t_block/com_x", "object/t_block/com_y", "object/t_block/com_z"])
    in_task = np.array([arena.T_object_task.inverse() @ p for p in com])
    np.testing.assert_allclose(env.true_values()[:, 0], in_task[:, 1], atol=1e-12)


def test_a_twin_without_the_object_is_refused(opened: tuple[Project, Store, dict[str, str]]) -> None:
    project, store, addresses = opened
    twin = replace(block_twin(store, BELIEF, robot=sample_robot(store)), task=get_task("push-hammer"))
    provenance = Provenance("assemble", {}, {}, {}, "other", 0, "cpu")
    other = addresses | {"assemble": store.put(twin, provenance, key="other", duration_s=0.0)}
    with pytest.raises(ConfigError, match=r"pushes hammer; the twin has \['t_block'\]"):
        make_policy(Run(project, store, other), "key", lambda part: None)


def test_the_command_trains_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "policies"
    options = ["--variant", "randomised,privileged", "--worlds", "8", "--steps", "200", "--out", str(out)]
    assert main(["train", "push-hammer", *options]) == 0
    assert "privileged-0" in capsys.readouterr().out
    made_by = load_network(out / "privileged-0.safetensors").meta["made_by"]
    assert made_by["command"].startswith("gemel train push-hammer --variant randomised,privileged --seeds 1")
    assert made_by["twin"] == "nominal"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "push-tee"], "neither a project folder"),
        (["train", "push-t", "--variant", "clever"], "'clever' is unknown"),
        (["train", "push-t", "--backend", "gpu"], "'gpu' is unknown"),
        (["train", "push-t", "--start", "nothing.safetensors"], "There is no file"),
        (["train", "toss"], "is not a push"),
        (["train", "push-t", "--conditioned-on", "object/mug/mass"], "cannot be told"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
