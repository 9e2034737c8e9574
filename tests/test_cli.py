import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemel.artifacts.capture import Domain
from gemel.cli import _commands, main
from gemel.commands.demo import _adapt, _policy_command
from gemel.project import open_project
from gemel.worlds.waving_arm import WavingArm, write_log

COMMANDS = tuple(_commands())
HEAVY = ("torch", "mujoco", "numba", "pyarrow", "av", "numpy")


def test_importing_gemel_loads_nothing_heavy() -> None:
    """`import gemel` brings none of the large packages."""
    code = f"import gemel, sys; print([m for m in {HEAVY} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_help_answers_in_half_a_second() -> None:
    """`gemel --help` takes less than 0.5 s of processor time, start-up included, however busy the machine is."""
    seconds = []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-m", "gemel", "--help"], stdout=subprocess.PIPE)
        assert process.stdout is not None
        text = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        seconds.append(usage.ru_utime + usage.ru_stime)
    assert min(seconds) < 0.5
    for command in COMMANDS:
        assert command in text


def test_a_reader_that_stops_early_is_no_error() -> None:
    """`gemel bench --help | head -1` says nothing but the line."""
    gemel = subprocess.Popen(
        [sys.executable, "-m", "gemel", "bench", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert gemel.stdout is not None
    assert gemel.stderr is not None
    gemel.stdout.close()
    assert gemel.stderr.read() == b""
    assert gemel.wait() in (0, 141)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_for_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`gemel COMMAND --help` exits with 0 and explains itself."""
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert len(capsys.readouterr().out) > 200


def test_the_whole_walk_from_log_to_audit(waving_log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """inspect, new, run, status, audit, gc: each ends with 0 and says where things are."""
    folder = tmp_path / "p"
    for arguments in (
        ["inspect", str(waving_log)],
        ["new", str(folder), "--capture", str(waving_log)],
        ["run", str(folder)],
        ["status", str(folder)],
        ["audit", str(folder)],
        ["gc", str(folder), "--dry-run"],
        ["gc", str(folder)],
        ["audit", str(folder)],
    ):
        assert main(arguments) == 0, arguments
    text = capsys.readouterr().out
    assert str(folder / "twin.toml") in "".join(text.split("\n"))
    assert "proved: no fitting stage behind it has read any of the 1 holdout episodes" in " ".join(text.split())
    assert f"Next:gemeltrain{folder}orgemelevaluate{folder}" in "".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["inspect", "no/such/log"], "There is nothing at no/such/log"),
        (["run", "no/such/project"], "There is nothing at no/such/project"),
        (["live", "no/such/project"], "There is nothing at no/such/project"),
        (["run", "log.txt"], "log.txt is a file; a project folder was expected"),
        (["audit", "."], ". is not a Gemel project: it has no twin.toml"),
        (["suggest", ".", "--count", "0"], "--count is 0; at least one"),
        (["suggest", ".", "--count", "-2"], "--count is -2; at least one"),
        (["doctor", "--json", "log.txt/result.json"], "cannot be written to log.txt/result.json: Not a directory"),
        (["bench", "ingest", "--json", "no/such/r.json"], "written to no/such/r.json: No such file or directory"),
        (["bench", "injest"], "Closest: 'ingest'"),
        (["inspect", "."], "is not a log that Gemel can read"),
    ],
)
def test_mistakes_get_an_error_that_says_what_to_do(
    arguments: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One message, exit code 2, no traceback."""
    monkeypatch.chdir(tmp_path)
    Path("log.txt").touch()
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert expected in message
    assert "What to do: " in message
    assert "Traceback" not in message


def test_an_audit_before_the_first_run_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to prove yet."""
    assert main(["audit", str(project)]) == 2
    assert "nothing has been run here yet" in capsys.readouterr().err


def test_json_goes_to_the_screen_or_to_a_file(
    waving_log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` alone prints JSON and nothing else; with a name it writes the same."""
    assert main(["inspect", str(waving_log), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    target = tmp_path / "result.json"
    assert main(["inspect", str(waving_log), "--json", str(target)]) == 0
    assert json.loads(target.read_text()) == printed
    assert printed["format"] == "lerobot-v3"
    assert len(printed["episodes"]) == 7


def test_new_never_writes_over_anything(waving_log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with something in it is left as it is."""
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["new", str(tmp_path), "--capture", str(waving_log)]) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    assert "is not empty" in capsys.readouterr().err


def test_units_are_asked_for_given_or_left_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an answer the run is refused; --units and --gripper-unit settle it."""
    log = write_log(tmp_path / "log", WavingArm(episode_count=3, step_count=12))
    left_open, given = tmp_path / "open", tmp_path / "given"
    assert main(["new", str(left_open), "--capture", str(log)]) == 0
    text = (left_open / "twin.toml").read_text()
    assert "confirmed = false" in text
    assert "# evidence: " in text
    assert main(["run", str(left_open)]) == 2
    assert "unconfirmed unit" in capsys.readouterr().err
    assert main(["new", str(given), "--capture", str(log), "--units", "deg", "--gripper-unit", "percent"]) == 0
    assert main(["run", str(given)]) == 0
    wrong = ["new", str(tmp_path / "x"), "--capture", str(log), "--units", "degrees"]
    assert main(wrong) == 2
    assert "Closest: 'deg'" in capsys.readouterr().err


def test_an_unknown_key_in_twin_toml_names_the_closest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Settings are checked before anything runs."""
    settings = project / "twin.toml"
    settings.write_text(settings.read_text() + "\n[split]\nholdot = 0.3\n")
    assert main(["run", str(project)]) == 2
    assert "Closest: 'holdout'" in capsys.readouterr().err
    assert not (project / ".gemel").exists()


def test_doctor_reports_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Processor, memory, codecs and packages are listed; the core is complete here."""
    assert main(["doctor", "--json"]) == 0
    checks = {check["what"]: check["state"] for check in json.loads(capsys.readouterr().out)}
    assert checks["core numpy"] == "ok"
    assert checks["video h264"] == "ok"
    assert checks["video av1"] == "ok"


def test_the_demo_says_that_its_log_is_of_a_stand_in(project: Path) -> None:
    """Other logs are real unless somebody says otherwise; the settings stay ones that can be read."""
    assert open_project(project).ingest_config().domain is Domain.REAL
    _adapt(project / "twin.toml")
    adapted = open_project(project)
    assert adapted.ingest_config().domain is Domain.STAND_IN
    assert adapted.settings.evaluate.draws == 24


def test_the_demo_names_its_policy_by_a_path_that_exists() -> None:
    """What it prints can be typed."""
    words = _policy_command(Path("p")).split()
    assert words[:3] == ["gemel", "evaluate", "p"]
    assert Path(words[words.index("--policy") + 1]).is_file()


@pytest.mark.slow
def test_the_demo_runs_and_shows_the_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One command: log, faults, roles, a refused holdout read, evidence from four episodes, and the proof."""
    folder = tmp_path / "demo"
    assert main(["demo", "--out", str(folder)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "refused: Stage 'reconstruct' asked for episode" in text
    assert "proved: no fitting stage behind it" in text
    assert "holdout opened, 1:" in text
    tree = json.loads((folder / "evidence.json").read_text())
    assert len(tree["holdout"]["episodes"]) == 4
    (ratio,) = (
        claim for claim in tree["claims"]
        if (claim["name"], claim["physics"], claim["drive"]) == ("follow_time_ratio", "posterior/nominal", "logged")
    )  # fmt: skip
    assert ratio["estimate"] > 1.0
    assert "<svg" in (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    assert main(["report", str(folder / "project"), "--out", str(folder)]) == 0
    assert (folder / "report.html").exists()
    _follow_a_trial(folder / "project", tree["holdout"]["episodes"][0], capsys)
    _record_a_policy(folder / "project", tmp_path / "set")


def _follow_a_trial(project: Path, held_out: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`gemel live`: poses of all frames, pictures, nothing lost; a held-out trial stays closed."""
    assert main(["live", str(project)]) == 0
    assert "t_block: now, against afterwards" in capsys.readouterr().out
    (path,) = (project / "live").glob("*.json")
    states = json.loads(path.read_text())["states"]
    assert [state["version"] for state in states] == list(range(1, len(states) + 1))
    assert not any(state["lost"] for state in states)
    assert list((project / "pictures" / "live").glob(f"episode_{path.stem}_*.png"))
    assert main(["live", str(project), "--trial", held_out]) == 2
    assert "is held out" in capsys.readouterr().err


def _record_a_policy(project: Path, dataset: Path) -> None:
    """`gemel evaluate --record`: an episode in the twin is a dataset with images of all its cameras."""
    from gemel.services.formats.lerobot_reader import open_source

    run = ["evaluate", str(project), "--policy", "mpc", "--robot", "twin", "--episodes", "1"]
    assert main([*run, "--record", str(dataset)]) == 0
    problems: list[object] = []
    source = open_source(dataset)
    (episode,) = source.episodes(problems.append)
    assert not problems
    assert len(source.layout.cameras) == 3
    assert all(camera.is_calibrated for camera in source.layout.cameras)
    assert episode.extras["observation.object_pose.t_block"].shape == (len(episode.times_s), 7)
    assert main([*run, "--record", str(dataset)]) == 2


def test_a_report_without_evidence_and_a_demo_in_a_strange_folder_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both end with code 2 and what to do; nothing is written."""
    assert main(["report", str(project)]) == 2
    assert "gemel evaluate" in capsys.readouterr().err
    assert main(["demo", "--out", str(project)]) == 2
    assert "not the demo's: twin.toml" in capsys.readouterr().err
    assert [path.name for path in project.iterdir()] == ["twin.toml"]


def test_the_real_recording_from_the_command_line(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SO-101: inspected, made into a project, ingested, split and audited; its equal starts are one group."""
    log, folder = str(shared_data / "so101_lerobot_v3"), tmp_path / "so101"
    assert main(["inspect", log]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The arm never moves" in shown
    assert "they need confirming" in " ".join(shown.replace("│", "").split())
    assert main(["new", str(folder), "--capture", log]) == 0
    assert main(["run", str(folder)]) == 2
    settings = folder / "twin.toml"
    settings.write_text(settings.read_text().replace("confirmed = false", "confirmed = true"))
    assert main(["run", str(folder)]) == 0
    assert "No episode could be held out" in " ".join(capsys.readouterr().out.split())
    settings.write_text(settings.read_text() + 'same_start = "separate"\n')
    assert main(["run", str(folder)]) == 0
    capsys.readouterr()
    assert main(["audit", str(folder)]) == 0
    assert "accepted by twin.toml: episodes" in capsys.readouterr().out


def test_bench_quick_writes_the_agreed_keys(tmp_path: Path) -> None:
    """The JSON of a benchmark has name, commit, date, machine, seed, flat figures and rows."""
    target = tmp_path / "ingest.json"
    assert main(["bench", "ingest", "--quick", "--json", str(target)]) == 0
    result = json.loads(target.read_text())
    assert set(result) == {"name", "commit", "date", "machine", "seed", "figures", "rows"}
    assert set(result["figures"]) == {"time_over_sha256", "peak_mb_1x", "peak_mb_8x"}
    assert all(isinstance(value, float) for value in result["figures"].values())
