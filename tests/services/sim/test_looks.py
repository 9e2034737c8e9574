"""Looks of a compiled scene: there when asked for, and nothing moves differently."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.camera import Camera
from gemel.geometry import SE3, SO3, Pinhole
from gemel.services.sim.compile import CompileConfig, compile_twin
from gemel.services.sim.looks import LOOKS_GROUP, TOUCH_GROUP
from gemel.services.sim.mounted_cameras import model_cameras
from gemel.store.store import Store
from services.sim.made_twin import block_twin, sample_robot

mujoco = pytest.importorskip("mujoco")
OPTICS = Pinhole(width=64, height=48, fx=50.0, fy=52.0, cx=30.0, cy=27.0)
POSE = SE3(SO3.exp(np.array([2.2, 0.3, -0.1])), np.array([0.5, -0.4, 0.7]))
DELAY = {"robot/joint1/delay": (0.02, 0.04), "robot/joint1/lead": (0.1, 0.1)}


@pytest.fixture
def models(tmp_path: Path) -> tuple[object, object]:
    """The same twin without and with looks."""
    store = Store(tmp_path / "store")
    twin = block_twin(store, DELAY, robot=sample_robot(store))
    camera = Camera("wrist", 64, 48, OPTICS, parent="link6", T_parent_camera=POSE, time_offset_s=-0.05)
    twin = replace(twin, reconstruction=replace(twin.reconstruction, cameras=(camera,)))
    plain, dressed = (compile_twin(twin, store, config=CompileConfig(has_looks=each)).model for each in (False, True))
    return plain, dressed


def test_meshes_cameras_light_and_numbers_are_in_the_model(models: tuple) -> None:  # type: ignore[type-arg]
    """Visible meshes touch nothing; cameras have their optics; what MuJoCo does not simulate is a custom number."""
    plain, model = models
    assert (plain.ncam, plain.nlight, plain.nnumeric) == (0, 0, 0)
    looks, piece = model.geom("t_block/looks"), model.geom("t_block/0")
    assert (looks.group[0], looks.contype[0], looks.conaffinity[0], piece.group[0]) == (LOOKS_GROUP, 0, 0, TOUCH_GROUP)
    assert model.geom("table/looks").group[0] == LOOKS_GROUP
    (camera,) = model_cameras(model)
    np.testing.assert_allclose(camera.intrinsics, [50.0, 52.0, 30.0, 27.0], rtol=1e-6)
    np.testing.assert_allclose(camera.T_parent_camera.as_matrix(), POSE.as_matrix(), atol=1e-12)
    numbers = {model.numeric(i).name: float(model.numeric(i).data[0]) for i in range(model.nnumeric)}
    assert numbers == pytest.approx({
        "gemel/camera/wrist/time_offset_s": -0.05, "gemel/robot/joint1/delay": 0.03, "gemel/robot/joint1/lead": 0.1,
    })  # fmt: skip
    assert model.nlight == 1


def test_trajectories_are_the_same_with_and_without(models: tuple) -> None:  # type: ignore[type-arg]
    """Two seconds of reaching and sliding, bit for bit; masses too."""
    ends = []
    for model in models:
        data = mujoco.MjData(model)
        data.ctrl[:] = np.linspace(-0.4, 0.6, model.nu)
        data.qvel[-6:] = [0.3, 0.1, 0.0, 0.0, 0.0, 2.0]
        for _ in range(round(2.0 / model.opt.timestep)):
            mujoco.mj_step(model, data)
        ends.append(np.concatenate([data.qpos, data.qvel]))
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(models[0].body_mass, models[1].body_mass)
