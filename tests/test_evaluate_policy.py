"""`gemel evaluate DIR --policy FILE --robot world:push-t`: a closed loop from the command line, and its refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

from gemel.cli import main
from gemel.commands import evaluate_policy
from gemel.commands.evaluate_policy import PolicyRun, table_rows
from services.policy.test_conditioned import made_policy


@pytest.mark.slow
def test_a_policy_runs_on_a_stand_in_and_leaves_what_happened(tmp_path: Path) -> None:
    """Success with its interval, trajectories, pictures of paths and of the belief."""
    policy = tmp_path / "noise_trained-0.safetensors"
    made_policy(policy)
    folder = tmp_path / "project"
    command = ["evaluate", str(folder), "--policy", str(policy), "--robot", "world:push-t:3", "--episodes", "1"]
    out = folder / "policy_runs" / "noise_trained-0-world-push-t-3"
    out.mkdir(parents=True)
    for name in ("paths-1", "belief-object-t_block-mass_of_old", "mine"):
        (out / f"{name}.png").touch()
    assert main([*command, "--prior", "0.04", "0.014"]) == 0
    assert {path.stem for path in out.glob("*.png")} & {"paths-1", "belief-object-t_block-mass_of_old", "mine"} == {
        "mine"
    }
    result = json.loads((out / "result.json").read_text())
    assert result["success"]["strict"]["n"] == 1
    assert result["success"]["paper"]["low"] < result["success"]["paper"]["high"]
    with np.load(out / "episodes.npz") as arrays:
        assert arrays["object_xyyaw"].shape == (1, 120, 3)
        assert arrays["belief"].shape == (1, 120, 2, len(arrays["parameters"]))
        assert "object/t_block/com_y" in arrays["parameters"]
    for name in ("paths-0", "belief-object-t_block-com_y"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--robot", "wurld:push-t"], "'wurld' is unknown. Closest: 'world'"),
        (["--robot", "world:push-t:x"], "a whole number was expected"),
        (["--robot", "world:push-hammer"], "trained for push-t"),
        (["--robot", "world:push-t", "--variant", "fuse"], "'fuse' is unknown"),
        (["--robot", "world:push-t", "--variant", "history_only"], "needs encoders"),
        (["--robot", "world:push-t", "--episodes", "0"], "at least one"),
        (["--robot", "world:push-t", "--episodes", "-3"], "--episodes is -3"),
        (["--robot", "world:push-t", "--prior", "1.0", "0.1"], "The prior of object/t_block/com_y"),
    ],
)
def test_bad_input_is_told_in_words(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing runs, nothing is written, and the message says what was given and what to do."""
    policy = tmp_path / "noise_trained-0.safetensors"
    made_policy(policy)
    assert main(["evaluate", str(tmp_path / "project"), "--policy", str(policy), *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "project").exists()


@pytest.mark.parametrize(
    ("option", "place", "message"),
    [
        ("--out", "file", "is no folder"),
        ("--out", "file/sub", "is no folder"),
        ("--record", "file", "is a file; a dataset is a folder"),
        ("--record", "file/sub", "is no folder"),
        ("--record", "/proc/rec", "Nothing can be written to /proc"),
    ],
)
def test_places_that_cannot_be_written_to_are_refused_before_the_first_episode(
    option: str, place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Episodes take minutes; their results must have somewhere to go."""
    (tmp_path / "file").touch()
    policy = tmp_path / "noise_trained-0.safetensors"
    made_policy(policy)
    monkeypatch.setattr(evaluate_policy, "run_episode", lambda *_, **__: pytest.fail("an episode ran"))
    command = ["evaluate", str(tmp_path / "project"), "--policy", str(policy), "--robot", "world:push-t"]
    assert main([*command, option, str(tmp_path / place)]) == 2
    assert message in capsys.readouterr().err


def test_mpc_may_be_told_the_truth_and_knows_its_variants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`known` says what the stand-in hides, without doubt; what would need encoders is refused."""
    run = PolicyRun(tmp_path, Path("mpc"), "world:push-t:3", 1, "known", None, None)
    controller, opened = evaluate_policy._planned(run)
    estimator = controller.estimator
    assert estimator is not None
    assert dict(zip(estimator.names, estimator.mean[0], strict=True)).items() <= opened.truth.items()
    assert "object/t_block/com_y" in estimator.names
    assert not estimator.sigma.any()
    command = ["evaluate", str(tmp_path), "--policy", "mpc", "--robot", "world:push-t", "--variant", "history_only"]
    assert main(command) == 2
    assert "Choices: ['fused', 'known', 'prior_only']" in capsys.readouterr().err


def test_the_table_says_what_its_tolerances_are() -> None:
    """Names stay in the JSON; people read lengths and angles."""
    share = {"n": 4, "rate": 0.5, "low": 0.1, "high": 0.9}
    rows = table_rows({"success": {"paper": share, "strict": share}, "means": {"seconds to paper": 7.0}})
    assert [label for label, _ in rows] == [
        "within 3 cm and 20 degrees (paper)",
        "within 1.5 cm and 5 degrees (strict)",
        "seconds until within 3 cm and 20 degrees (paper)",
    ]
