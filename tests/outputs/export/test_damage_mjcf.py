"""MJCF folders that were changed in one place: whatever it is, reading them back notices."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gemel.outputs.export.rollout import start_touching
from outputs.export.damaged import Written, blacken, change_obj, swap, written

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written("mjcf", tmp_path_factory.mktemp("mjcf"))


def _xml(pattern: str, new: str) -> Callable[[Path], object]:
    """Replace the first match of a pattern, which has to be there."""

    def damage(copy: Path) -> None:
        text = (copy / "scene.xml").read_text()
        changed = re.sub(pattern, new, text, count=1, flags=re.DOTALL)
        assert changed != text
        (copy / "scene.xml").write_text(changed)

    return damage


def _obj(copy: Path) -> Path:
    (path,) = (copy / "assets").glob("*t_block_looks.obj")
    return path


DAMAGES: dict[str, Callable[[Path], object]] = {
    "black texture": lambda copy: blacken(copy / "assets" / "looks_t_block.png"),
    "black table": lambda copy: blacken(copy / "assets" / "looks_table.png"),
    "looks twice as large": lambda copy: change_obj(_obj(copy), scale=2.0),
    "texture coordinates": lambda copy: change_obj(_obj(copy), uv=0.0),
    "looks that touch": _xml(r'(<geom name="t_block/looks"[^>]*?) contype="0"', r'\1 contype="1"'),
    "pusher's size": _xml(r'(<geom name="pusher"[^>]*? size=")[^"]*', r"\g<1>0.02 0.08"),
    "contact's solimp": _xml(r'( name="t_block-table/0-0")', r'\1 solimp="0.5 0.6 0.1 0.5 2"'),
    "contact's margin": _xml(r'( name="t_block-table/0-0")', r'\1 margin="0.01"'),
    "no sensors": _xml(r"<sensor>.*</sensor>", ""),
    "no light": _xml(r"<light [^>]*/>", ""),
    "no keyframe": _xml(r"<keyframe>.*</keyframe>", ""),
    "delay": _xml(r'(<numeric name="gemel/robot/joint1/delay"[^>]*? data=")[^"]*', r"\g<1>0.5"),
    "gravity": _xml(r"<option ", '<option gravity="0 0 -1.6" '),
    "table moved": _xml(r'(<geom name="table" )', r'\1 pos="0 0 0.1" '),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGES)
def test_a_scene_with_one_change_is_noticed(what: str, folder: Written, tmp_path: Path) -> None:
    """Physics, looks and remarks alike."""
    assert folder.failed(DAMAGES[what], tmp_path / "copy") != []


def test_an_untouched_copy_is_the_twin(folder: Written, tmp_path: Path) -> None:
    """Or nothing above would mean anything; `2 s against the robot` is among the checks."""
    assert folder.failed(lambda _: None, tmp_path / "copy") == []


def test_a_state_in_which_the_robot_touches_the_object(folder: Written) -> None:
    """In the rollout against the robot there is a contact of both from the first step on."""
    scene = folder.exporter.scene
    model = scene.model
    state = start_touching(model, scene.robot_contacts())
    assert state is not None
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = state
    mujoco.mj_step(model, data)
    bodies = [{model.body(model.geom_bodyid[g]).name for g in contact.geom} for contact in data.contact]
    assert any("t_block" in pair and "world" not in pair for pair in bodies)


def test_nothing_moves_at_the_keyframe(folder: Written) -> None:
    """The state of the start under resting commands stays within a tenth of a millimetre for half a second."""
    model = mujoco.MjModel.from_xml_path(str(folder.folder / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("start").id)
    before = np.array(data.qpos)
    for _ in range(round(0.5 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos - before).max() < 1e-4


def test_text_to_swap_has_to_be_there(tmp_path: Path) -> None:
    """A damage that changes nothing would prove nothing."""
    (tmp_path / "file").write_text("a")
    with pytest.raises(AssertionError):
        swap(tmp_path / "file", "b", "c")
