"""`gemel evaluate DIR --policy FILE --robot world:push-t`: a closed loop from the command line, and its refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

from gemel.cli import main
from services.policy.test_conditioned import made_policy


@pytest.mark.slow
def test_a_policy_runs_on_a_stand_in_and_leaves_what_happened(tmp_path: Path) -> None:
    """Success with its interval, trajectories, pictures of paths and of the belief."""
    policy = tmp_path / "noise_trained-0.safetensors"
    made_policy(policy)
    folder = tmp_path / "project"
    command = ["evaluate", str(folder), "--policy", str(policy), "--robot", "world:push-t:3", "--episodes", "1"]
    assert main([*command, "--prior", "0.04", "0.014"]) == 0
    out = folder / "policy_runs" / "noise_trained-0-world-push-t-3"
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
