"""A simulation that breaks down leaves behind what is needed to see it break down again."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from gemel.services.sim.flight_recorder import FlightRecorder, replay
from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import servo_arm


def test_a_dump_replays_to_the_same_break_down(tmp_path: Path) -> None:
    """Model, state and commands of the dump, in MuJoCo alone, end in the numbers that were flagged."""
    import mujoco

    simulator = SimulatorNative(servo_arm(), 2, threads=1)
    names = ["robot/hinge/gain", "robot/hinge/actuator_damping"]
    simulator.set_parameters(names, np.array([[300.0, 20.0], [1e9, 0.0]]))  # far too stiff for its step
    simulator.reset(np.zeros((1, 2)))
    recorder = FlightRecorder(tmp_path / "flight", keep=3)
    for period in range(40):
        command = np.full((2, 2), 0.3 * (-1) ** period)
        recorder.note(simulator.qpos, simulator.qvel, command)
        rollout = simulator.rollout(command[:, None], every=5)
        if rollout.is_diverged.any():
            break
    assert rollout.is_diverged.tolist() == [False, True]
    folder = recorder.dump(1, simulator.model_of(1), every=5, parameters=dict(zip(names, (1e9, 0.0), strict=True)))
    assert folder is not None
    with np.load(folder / "states.npz", allow_pickle=False) as file:
        states = {name: file[name] for name in file.files}
    assert len(states["qpos"]) <= 3
    assert json.loads((folder / "parameters.json").read_text())["parameters"]["robot/hinge/gain"] == 1e9
    again = SimulatorNative(mujoco.MjModel.from_binary_path(str(folder / "model.mjb")), 1, threads=1)
    again.reset(states["qpos"][-1:], states["qvel"][-1:])
    assert again.rollout(states["commands"][-1:, None], every=int(states["every"])).is_diverged.all()
    assert recorder.dump(0, simulator.model_of(0), every=5, parameters={}) != folder


@pytest.mark.parametrize("drawn", [[[0.013, 0.01], [0.047, 0.02]], [[0.0, 0.0], [0.0, 0.0]]])
def test_a_dump_with_drives_replays_exactly(tmp_path: Path, drawn: list[list[float]]) -> None:
    """Commands that are under way and play that is taken up are part of the record: every noted state comes again."""
    simulator = SimulatorNative(servo_arm(), 2, threads=1)
    names = ["robot/hinge/delay", "robot/hinge/backlash"]
    simulator.set_parameters(names, np.array(drawn))
    simulator.reset(np.zeros((1, 2)))
    recorder = FlightRecorder(tmp_path, keep=6)
    noted = []
    for period in range(12):
        command = np.full((2, 2), 0.3 * np.sin(period))
        noted.append(simulator.qpos[1])
        recorder.note(simulator.qpos, simulator.qvel, command, simulator.drive_state)
        simulator.rollout(command[:, None], every=5, is_ramp=True)
    folder = recorder.dump(
        1, simulator.model_of(1), every=5, parameters=dict(zip(names, drawn[1], strict=True)), is_ramp=True
    )
    assert folder is not None
    again = replay(folder).qpos[0]
    assert len(again) == 6  # the last time that drives were asked was six periods ago
    np.testing.assert_allclose(again[:-1], np.array(noted[-5:]), atol=1e-12)
    np.testing.assert_allclose(again[-1], simulator.qpos[1], atol=1e-12)


def test_numbers_go_on_after_the_highest(tmp_path: Path) -> None:
    """A record that was deleted, one that another process has written meanwhile, and more than four digits."""
    recorder, other = FlightRecorder(tmp_path), FlightRecorder(tmp_path)
    model = servo_arm()
    for each in (recorder, other):
        each.note(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
    first, second = (each.dump(0, model, every=5, parameters={}) for each in (recorder, other))
    assert first is not None
    assert second is not None
    shutil.rmtree(first)
    (tmp_path / "diverged-notes").mkdir()
    third = recorder.dump(0, model, every=5, parameters={})
    (tmp_path / "diverged-12345").mkdir()
    last = other.dump(0, model, every=5, parameters={})
    assert [path.name for path in (second, third, last) if path is not None] == [
        "diverged-0001", "diverged-0002", "diverged-12346",
    ]  # fmt: skip


def test_a_number_that_is_taken_at_the_last_moment_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and writing, another process has taken the next number."""
    recorder = FlightRecorder(tmp_path)
    recorder.note(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
    (tmp_path / "diverged-0000").mkdir()
    monkeypatch.setattr(Path, "iterdir", lambda path: iter(()))
    found = recorder.dump(0, servo_arm(), every=5, parameters={})
    assert found == tmp_path / "diverged-0001"
    assert recorder.left_out == 0
