"""`gemel evaluate` from end to end on a robot without objects: openings, evidence, page and audit."""

import json
from pathlib import Path

import pytest

from gemel.cli import main
from gemel.outputs.report.evidence_json import SCHEMA_FILE
from outputs.schema_check import problems

_ARM = """<mujoco><compiler angle="radian"/><worldbody><body name="base"><body name="upper" pos="0 0 0.1">
<joint name="shoulder" axis="0 0 1" range="-3 3" damping="0.5"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
<body name="lower" pos="0.3 0 0"><joint name="elbow" axis="0 0 1" range="-3 3" damping="0.5"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02"/><body name="finger" pos="0.22 0 0">
<joint name="gripper" type="slide" axis="0 1 0" range="0 0.04"/><geom type="box" size="0.01 0.01 0.01"/>
</body></body></body></body></worldbody></mujoco>"""


@pytest.fixture
def arm_project(project: Path) -> Path:
    """The waving arm with a model; its gripper is logged as a part of an unknown range, so only hinges are compared."""
    (project / "arm.xml").write_text(_ARM)
    settings = project / "twin.toml"
    settings.write_text(settings.read_text() + '[robot]\nmodel = "arm.xml"\n[evaluate]\ndraws = 19\n')
    return project


def test_the_holdout_is_opened_once_counted_and_audited(arm_project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Again without change: nothing is opened. With other settings: refused, unless asked for, and then counted."""
    folder = str(arm_project)
    assert main(["run", folder]) == 0
    assert main(["evaluate", folder]) == 0
    tree = json.loads((arm_project / "evidence.json").read_text())
    assert problems(tree, json.loads(SCHEMA_FILE.read_text())) == []
    assert (tree["holdout"]["opening"], tree["holdout"]["openings_of_holdout"]) == (1, 1)
    errors = {(c["name"], c["drive"]): c["estimate"] for c in tree["claims"] if c["physics"] == "posterior"}
    assert errors["joint_rmse", "logged"] < errors["joint_rmse", "actions"] < 0.1
    assert set(tree["joint_error"]["weights"]) == {"shoulder.pos", "elbow.pos"}
    first = (arm_project / "report.html").read_text()
    assert "opening 1 of the holdout for this twin" in first
    assert main(["evaluate", folder]) == 0
    assert json.loads((arm_project / "evidence.json").read_text())["holdout"]["opening"] == 1

    settings = arm_project / "twin.toml"
    settings.write_text(settings.read_text().replace("draws = 19", "draws = 20"))
    capsys.readouterr()
    assert main(["evaluate", folder]) == 2
    assert "already been opened for this twin" in capsys.readouterr().err
    assert main(["evaluate", folder, "--again"]) == 0
    assert "opening 2 of the holdout for this twin" in (arm_project / "report.html").read_text()
    capsys.readouterr()
    assert main(["audit", folder]) == 0
    assert "holdout opened, 2:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("[evaluate.weights]\nelbow = 2.0\n", "[evaluate.weights] 'elbow' is unknown. Closest: 'elbow.pos'"),
        ("[evaluate.scales]\nwrist = 2.0\n", "[evaluate.scales] 'wrist' is unknown."),
    ],
)
def test_settings_that_mean_nothing_open_nothing(
    settings: str, problem: str, arm_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names are checked while the holdout is closed: a second try is a first opening."""
    folder, file = str(arm_project), arm_project / "twin.toml"
    assert main(["run", folder]) == 0
    usual = file.read_text()
    file.write_text(usual + settings)
    capsys.readouterr()
    assert main(["evaluate", folder]) == 2
    assert problem in capsys.readouterr().err
    file.write_text(usual)
    assert main(["evaluate", folder]) == 0
    assert json.loads((arm_project / "evidence.json").read_text())["holdout"]["openings_of_holdout"] == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('actions = "tool-steps"', "names that end in _x, _y or _z were expected"),
        ('arms = {one = ["sholder.pos"]}', "[evaluate.arms] one: 'sholder.pos' is unknown. Closest: 'shoulder.pos'"),
        ('arms = {all = ["shoulder.pos"]}', "an arm called 'all'"),
    ],
)
def test_actions_and_arms_that_are_none_are_refused_by_the_run_before(
    line: str, problem: str, arm_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Identify reads actions too, so nothing gets as far as the holdout."""
    folder, file = str(arm_project), arm_project / "twin.toml"
    file.write_text(file.read_text() + line + "\n")
    assert main(["run", folder]) == 2
    assert problem in capsys.readouterr().err
    assert main(["evaluate", folder]) == 2
    assert main(["audit", folder]) == 0
    assert "holdout opened" not in capsys.readouterr().out


def test_a_twin_of_nothing_opens_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without objects and without a robot model the holdout stays closed."""
    assert main(["run", str(project)]) == 0
    assert main(["evaluate", str(project)]) == 2
    assert "nothing can be held against the holdout" in capsys.readouterr().err
    assert main(["report", str(project)]) == 2
    assert main(["audit", str(project)]) == 0
    assert "holdout opened" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--robot", "twin", "--episodes", "2", "--record", "x"], "--robot, --episodes, --record"),
        (["--robot", "twin"], "--robot"),
        (["--episodes", "10"], "--episodes"),
        (["--variant", "fused"], "--variant"),
        (["--prior", "0.04", "0.01"], "--prior"),
    ],
)
def test_flags_of_a_policy_without_one_open_nothing(
    options: list[str], named: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forgotten --policy is no reason to open the holdout, even with flags that say what is usual."""
    assert main(["evaluate", str(project), *options]) == 2
    message = capsys.readouterr().err
    assert f"no use for {named}." in message
    assert "--policy FILE" in message
    assert not (project / ".gemel").exists()


def test_again_is_not_for_policies(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two flags that contradict each other are refused before anything moves."""
    assert main(["evaluate", str(project), "--policy", "mpc", "--again"]) == 2
    assert "leave one of the two out" in capsys.readouterr().err


def test_a_twin_that_nobody_has_seen_is_not_evaluated(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missing and stale stages are named, and nothing runs: the user is told to run first and to look."""
    folder = str(project)
    assert main(["evaluate", folder]) == 2
    assert f"Stage 'ingest' of {folder} is missing" in capsys.readouterr().err
    assert not (project / ".gemel").exists()
    assert main(["run", folder, "--until", "split"]) == 0
    settings = project / "twin.toml"
    settings.write_text(settings.read_text() + "[split]\nholdout = 0.4\n")
    capsys.readouterr()
    assert main(["evaluate", folder, "--again"]) == 2
    captured = capsys.readouterr()
    assert "Stage 'split' of" in captured.err
    assert "is stale" in captured.err
    assert f"run `gemel run {folder}` first, look at the twin" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_a_folder_that_cannot_be_made_is_refused_first(
    command: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything else is asked of the project: after an opening it would be too late."""
    file = tmp_path / "file"
    file.touch()
    for out in (file, file / "sub"):
        assert main([command, str(project), "--out", str(out)]) == 2
        assert f"Nothing can be written to {out}: {file} is no folder." in capsys.readouterr().err
