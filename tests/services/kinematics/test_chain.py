"""Arms' tips against MuJoCo, derivatives against differences, and inverse kinematics that arrives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.services.kinematics.chain import Chain

mujoco = pytest.importorskip("mujoco", reason="needs the extra `sim`")

SAMPLE = Path(__file__).parents[3] / "src/gemel/samples/push_t/meta/robot.xml"
GANTRY = """<mujoco><worldbody><body name="base" pos=".1 0 .2" quat=".9 .1 .2 .3">
<joint name="slide" type="slide" axis="0 .6 .8" range="-1 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<body name="arm" pos="0 .3 0"><joint name="turn" axis="0 0 1" pos=".05 .02 0" range="-2 2"/>
<joint name="tilt" axis="1 0 0" pos="0 0 .1" range="-2 2"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<body name="hand" pos=".2 0 .1" quat=".8 0 .6 0"><joint name="roll" axis="0 1 0"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site name="tip" pos="0 .05 .1"/></body></body></body>
</worldbody></mujoco>"""


def _model(name: str) -> Any:
    text = {"gantry": GANTRY}.get(name)
    return mujoco.MjModel.from_xml_string(text) if text else mujoco.MjModel.from_xml_path(str(SAMPLE))


def _placed(model: Any, chain: Chain, q: np.ndarray) -> np.ndarray:
    """`T_base_tip` by MuJoCo."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    body, T = chain.links[-1] + 1, np.eye(4)
    T[:3, :3] = data.xmat[body].reshape(3, 3)
    T[:3, 3] = data.xpos[body] + T[:3, :3] @ chain.p_link_tip
    return T


@pytest.mark.parametrize("name", ["sample", "gantry"])
def test_tips_are_where_mujoco_has_them(name: str) -> None:
    model = _model(name)
    chain, q = Chain.to_tip(model), np.random.default_rng(0).uniform(-1.0, 1.0, (20, model.nq))
    np.testing.assert_allclose(chain.tip_poses(q), [_placed(model, chain, row) for row in q], atol=1e-12)


@pytest.mark.parametrize("name", ["sample", "gantry"])
def test_the_jacobian_is_that_of_the_tips(name: str) -> None:
    """Central differences of place and rotation, for hinges off their links' origins and slides alike."""
    chain, step = Chain.to_tip(_model(name)), 1e-6
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (1, len(chain.tree.joints)))
    R, p, axes, anchors = chain._walk(q)
    jacobian = chain._jacobian(p, axes, anchors)[0]
    for column, joint in enumerate(chain.joints):
        moved = np.repeat(q, 2, axis=0)
        moved[:, joint] += [step, -step]
        ahead, behind = chain.tip_poses(moved)
        spin = (ahead[:3, :3] - behind[:3, :3]) @ R[0].T / (2.0 * step)
        found = [*(ahead[:3, 3] - behind[:3, 3]) / (2.0 * step), spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(jacobian[:, column], found, atol=1e-8)


def test_arms_reach_poses_near_by() -> None:
    """In a few steps, for many at once."""
    chain, rng = Chain.to_tip(_model("sample")), np.random.default_rng(2)
    q = np.array([0.68, 0.70, 1.74, 0.0, 0.70, 0.68]) + 0.1 * rng.standard_normal((50, 6))
    goal = chain.tip_poses(q + 0.02 * rng.standard_normal(q.shape))
    np.testing.assert_allclose(chain.tip_poses(chain.solve(goal, q, iterations=8)), goal, atol=1e-4)
