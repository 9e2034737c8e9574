"""Training learns, goes on after a kill, writes what it should, and refuses what cannot work before it begins."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rsl_rl", reason="needs the extra `train`")

from gemel.errors import ConfigError
from gemel.services.policy.checkpoint import load_network
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.stages.train.saved import FILE, SavedState, load_state, save_state
from gemel.stages.train.train import train_agents
from gemel.stages.train.variants import agents_of
from stages.train.made_training import ALL, ROLLOUT, WORLDS, small, training


def test_it_learns_to_reach(tmp_path: Path) -> None:
    """Rewarded for being near the object alone, a policy comes near within a minute of learning."""
    arena = nominal_arena()
    task = replace(arena.task, reward_weights={"reach": 1.0}, time_limit_s=4.0)
    found = training(tmp_path, small(worlds=32, rollout=24), replace(arena, task=task))
    for _ in range(16):
        found.run_update()
    rewards = next(iter(found.scores.curves.values())).reward
    assert np.mean(rewards[-3:]) > np.mean(rewards[:3]) + 0.006
    assert np.isfinite(rewards).all()


def test_exploration_may_shrink_towards_the_end_alone() -> None:
    """The bound stays, then falls evenly to its last value; without settling it stays for good."""
    config = replace(small(), least_sigma=0.3, last_sigma=0.1, settling=0.4)
    np.testing.assert_allclose([config.least_sigma_at(part) for part in (0.0, 0.6, 0.8, 1.0)], [0.3, 0.3, 0.2, 0.1])
    assert replace(config, settling=0.0).least_sigma_at(1.0) == 0.3


def test_agents_are_trained_side_by_side_and_written(tmp_path: Path) -> None:
    """One file for each agent, with who made it; numpy computes what torch does; curves and finals are there."""
    agents = agents_of(ALL, 1)
    config = small(variants=ALL, steps=2 * WORLDS * ROLLOUT)
    trained = train_agents(nominal_arena(), agents, config, out=tmp_path, made_by={"twin": "nominal"},
                           on_progress=lambda part, text: None)  # fmt: skip
    assert [found.agent.name for found in trained] == [f"{name}-0" for name in ALL]
    for found in trained:
        network = load_network(found.path, "policy")
        assert network.meta["made_by"]["twin"] == "nominal"
        assert network.meta["made_by"]["steps"] == 2 * WORLDS * ROLLOUT
        assert network.layers.inputs == found.agent.variant.width(1)
        assert network.conditioned_on == (("object/t_block/com_y",) if found.agent.variant.told != "nothing" else ())
        assert found.path.stat().st_size < 200_000
        assert found.curve.steps == [WORLDS * ROLLOUT, 2 * WORLDS * ROLLOUT]
        assert found.final.path.shape == (120, 5)
    x = np.zeros((1, 18))
    told_doubt = x + np.eye(18)[17]
    exact, noisy = trained[0].network.layers, trained[1].network.layers
    np.testing.assert_array_equal(exact(told_doubt), exact(x))  # it was never told of doubt
    assert np.abs(noisy(told_doubt) - noisy(x)).max() > 0.0
    folder = tmp_path / "training" / "privileged+noise_trained+randomised+randomised_history-0"
    assert (folder / "curves.json").exists()
    assert list((folder / "tensorboard").iterdir())


def test_the_network_in_numpy_is_the_one_in_torch(tmp_path: Path) -> None:
    import torch

    found = training(tmp_path, small())
    found.run_update()
    learner, views = found.learners[0], found.views(0)
    with torch.no_grad():
        wanted = learner.ppo.actor(learner._tensors(views)).numpy()
    np.testing.assert_allclose(learner.network()(views["policy"]), wanted, rtol=1e-4, atol=1e-5)


def test_a_state_restores_everything(tmp_path: Path) -> None:
    """Saved, loaded into fresh networks and saved again: the same bytes, and the same next update."""
    config = small(variants=("noise_trained", "randomised_history"))
    first, second = (training(tmp_path / name, config) for name in "ab")
    for _ in range(2):
        first.run_update()
    plan = {"task": "push-t"}
    save_state(tmp_path / FILE, first.learners, SavedState(plan, first.update, first.scores.as_dict()))
    found = load_state(tmp_path / FILE, second.learners, plan)
    second.update = found.update
    second.scores.restore(found.curves)
    save_state(tmp_path / "again", second.learners, SavedState(plan, second.update, second.scores.as_dict()))
    assert (tmp_path / "again").read_bytes() == (tmp_path / FILE).read_bytes()
    for made in (first, second):
        made.env.start([7])
        made.run_update()
    x = first.views(0)["policy"]
    np.testing.assert_array_equal(first.learners[0].network()(x), second.learners[0].network()(x))
    with pytest.raises(ConfigError, match="of something else: task was push-t and is push-hammer"):
        load_state(tmp_path / FILE, second.learners, {"task": "push-hammer"})


_SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stages.train.made_training import small
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.stages.train.train import train_agents
from gemel.stages.train.variants import agents_of
train_agents(nominal_arena(), agents_of(("privileged",), 1), small(steps=10**9), out=Path(sys.argv[1]))
"""


def test_a_killed_training_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killed with SIGKILL at any moment: the state is whole, and the resumed curve begins with the old one."""
    source = Path(__file__).parents[3] / "src"
    run = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, str(tmp_path), str(Path(__file__).parents[2])],
        env=os.environ | {"PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    state, deadline = tmp_path / "training" / "privileged-0" / FILE, time.monotonic() + 120.0
    while not state.exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    run.send_signal(signal.SIGKILL)
    _, errors = run.communicate()
    assert state.exists(), errors.decode()
    before = training(tmp_path / "other", small())
    kept = load_state(state, before.learners, _plan_of(state))
    config = small(steps=(kept.update + 3) * WORLDS * ROLLOUT)
    (found,) = train_agents(nominal_arena(), agents_of(("privileged",), 1), config, out=tmp_path,
                            on_progress=lambda part, text: None)  # fmt: skip
    assert len(found.curve.steps) == kept.update + 3
    assert found.curve.reward[: kept.update] == kept.curves["privileged-0"]["reward"]
    assert np.all(np.diff(found.curve.steps) == WORLDS * ROLLOUT)
    assert np.all(np.diff(found.curve.seconds) > 0.0)


def _plan_of(state: Path) -> dict[str, object]:
    import json

    from gemel.services.formats.tensor_file import read_tensors

    plan: dict[str, object] = json.loads(read_tensors(state)[1]["gemel-training"])["plan"]
    return plan


def test_a_policy_can_be_gone_on_from_if_it_sees_the_same(tmp_path: Path) -> None:
    config = small(steps=WORLDS * ROLLOUT)
    quiet = {"on_progress": lambda part, text: None}
    (first,) = train_agents(nominal_arena(), agents_of(("privileged",), 1), config, out=tmp_path / "a", **quiet)
    noisy = agents_of(("noise_trained",), 1)
    (second,) = train_agents(
        nominal_arena(), noisy, replace(config, variants=("noise_trained",)), out=tmp_path / "b", start=first.network,
        **quiet,
    )  # fmt: skip
    assert second.network.layers.inputs == first.network.layers.inputs
    for variant, task, match in (
        ("randomised_history", "push-t", "'history': 1"),
        ("privileged", "push-hammer", "'task': 'push-t'"),
    ):
        with pytest.raises(ConfigError, match=match):
            train_agents(nominal_arena(task), agents_of((variant,), 1), config, out=tmp_path / "c",
                         start=first.network, **quiet)  # fmt: skip
    assert not (tmp_path / "c").exists()


def test_what_cannot_work_is_refused_before_it_begins(tmp_path: Path) -> None:
    """Unknown variants and parameters, impossible ranges, another task."""
    arena, agents = nominal_arena(), agents_of(("privileged",), 1)
    with pytest.raises(ConfigError, match=r"Variant 'priviledged'.*'privileged'"):
        small(variants=("priviledged",))
    with pytest.raises(ConfigError, match="cannot be told object/mug/mass"):
        train_agents(arena, agents, small(conditioned_on=("object/mug/mass",)), out=tmp_path)
    ranges = arena.task.parameter_ranges | {"object/t_block/com_y": (0.1, -0.1)}
    with pytest.raises(ConfigError, match=r"from 0\.1 to -0\.1"):
        train_agents(replace(arena, task=replace(arena.task, parameter_ranges=ranges)), agents, small(), out=tmp_path)
    with pytest.raises(ConfigError, match="too few"):
        train_agents(arena, agents, small(worlds=1, rollout=1), out=tmp_path)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        small(discount=1.5)
    assert list(tmp_path.iterdir()) == []
