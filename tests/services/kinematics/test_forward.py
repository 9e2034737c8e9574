"""Forward kinematics agrees with MuJoCo for any robot, and its gradients with finite differences."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
mujoco = pytest.importorskip("mujoco")

from gemel.errors import ConfigError  # noqa: E402
from gemel.geometry import SE3, SO3  # noqa: E402
from gemel.services.kinematics.denavit_hartenberg import DhChain, dh_chain  # noqa: E402
from gemel.services.kinematics.forward import ForwardKinematics, exp_se3  # noqa: E402
from gemel.services.kinematics.tree import kinematic_tree  # noqa: E402
from gemel.worlds.machine import handover_machine, machine_mjcf, push_machine  # noqa: E402

TROSSEN = Path("../shared/data/trossen_models")
ODD = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a" pos="0.1 0.2 0.3" euler="0.3 0.1 -0.4"><geom size="0.1"/>
 <joint name="j0" type="hinge" axis="0.3 1 0.2" pos="0.05 0 0.02" ref="0.4"/>
 <joint name="j1" type="slide" axis="1 1 0"/>
 <body name="b" pos="0 0.2 0" quat="0.9 0.1 0.3 0.1"><geom size="0.1"/>
  <joint name="j2" type="hinge" axis="0 0 1" pos="0 0.1 0"/>
 </body><body name="c" pos="0.2 0 0"><geom size="0.1"/>
  <joint name="j3" type="slide" axis="0 0 1" ref="0.1"/></body></body>
<body name="free" pos="1 0 0"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


def _models() -> dict[str, Any]:
    models = {
        "push arm": mujoco.MjModel.from_xml_string(machine_mjcf(push_machine())),
        "two arms": mujoco.MjModel.from_xml_string(machine_mjcf(handover_machine())),
        "odd": mujoco.MjModel.from_xml_string(ODD),
    }
    for path in sorted(TROSSEN.glob("**/mobile_ai.xml"))[:1]:
        models["trossen"] = mujoco.MjModel.from_xml_path(str(path))
    return models


MODELS = _models()


def _values(model: Any, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
    """Random joint values that respect couplings, and MuJoCo's data at them."""
    tree, data = kinematic_tree(model), mujoco.MjData(model)
    q = tree.rest + rng.uniform(-0.8, 0.8, len(tree.joints))
    for c in tree.couplings:
        q[c.follower] = tree.rest[c.follower] + np.polyval(c.coefficients[::-1], q[c.leader] - tree.rest[c.leader])
    for name, value in zip(tree.joint_names, q, strict=True):
        data.joint(name).qpos[0] = value
    mujoco.mj_kinematics(model, data)
    return q, data


@pytest.mark.parametrize("name", list(MODELS))
def test_link_poses_are_mujocos(name: str) -> None:
    """Positions and rotations of every link agree to 1e-9."""
    model = MODELS[name]
    kinematics, rng = ForwardKinematics(kinematic_tree(model)), np.random.default_rng(0)
    for _ in range(5):
        q, data = _values(model, rng)
        poses = kinematics.link_poses(torch.as_tensor(q)[None])[0].numpy()
        np.testing.assert_allclose(poses[:, :3, 3], data.xpos[1:], atol=1e-9)
        np.testing.assert_allclose(poses[:, :3, :3].reshape(-1, 9), data.xmat[1:], atol=1e-9)


@pytest.mark.parametrize("name", ["push arm", pytest.param("two arms", marks=pytest.mark.slow), "odd"])
def test_gradients_reach_values_offsets_and_bases(name: str) -> None:
    """torch's gradient check passes for all three inputs together."""
    kinematics, rng = ForwardKinematics(kinematic_tree(MODELS[name])), np.random.default_rng(1)
    count, roots = len(kinematics.tree.joints), len(kinematics.tree.roots)
    inputs = [
        torch.tensor(rng.uniform(-0.5, 0.5, shape), requires_grad=True) for shape in ((2, count), (count,), (roots, 6))
    ]

    def poses(q: Any, offsets: Any, twists: Any) -> Any:
        return kinematics.link_poses(q, offsets=offsets, Ts_world_root=exp_se3(twists) @ kinematics.Ts_world_root)

    assert torch.autograd.gradcheck(poses, inputs, atol=1e-6)


def test_an_offset_is_a_change_of_the_reading() -> None:
    """Adding offsets is the same as adding them to the joint values."""
    kinematics = ForwardKinematics(kinematic_tree(MODELS["push arm"]))
    q, offsets = torch.full((3, 6), 0.3, dtype=torch.float64), torch.linspace(-0.1, 0.1, 6, dtype=torch.float64)
    torch.testing.assert_close(kinematics.link_poses(q, offsets=offsets), kinematics.link_poses(q + offsets))


def test_a_moved_base_moves_every_link_alike() -> None:
    """Moving the base by T moves all links by T."""
    kinematics, rng = ForwardKinematics(kinematic_tree(MODELS["push arm"])), np.random.default_rng(2)
    T = torch.as_tensor(SE3.random(rng).as_matrix())
    q = torch.as_tensor(rng.uniform(-1, 1, (4, 6)))
    moved = kinematics.link_poses(q, Ts_world_root=T @ kinematics.Ts_world_root)
    torch.testing.assert_close(moved, T @ kinematics.link_poses(q))


def test_exponential_is_that_of_geometry() -> None:
    """The torch exponential and SE3.exp agree."""
    xi = np.random.default_rng(3).normal(size=(20, 6))
    np.testing.assert_allclose(exp_se3(torch.as_tensor(xi)).numpy(), SE3.exp(xi).as_matrix(), atol=1e-12)


def test_wrong_number_of_joints_is_named() -> None:
    """The message lists the joints that were expected."""
    kinematics = ForwardKinematics(kinematic_tree(MODELS["push arm"]))
    with pytest.raises(ConfigError, match="joint1, joint2"):
        kinematics.link_poses(torch.zeros(1, 5, dtype=torch.float64))


@pytest.mark.parametrize(
    ("name", "link"), [("push arm", "link6"), ("two arms", "left_link_6"), ("odd", "b"), ("odd", "c")]
)
def test_dh_table_of_a_model_moves_like_the_model(name: str, link: str) -> None:
    """The derived table gives the model's own link poses, whatever its axes."""
    tree, rng = kinematic_tree(MODELS[name]), np.random.default_rng(4)
    kinematics, tool = ForwardKinematics(tree), SE3.random(rng)
    chain = dh_chain(tree, link, T_link_tool=tool)
    columns = [j for j, joint in enumerate(tree.joints) if joint.link in tree.ancestors(tree.link(link))]
    q = np.zeros((8, len(tree.joints)))
    q[:, columns] = rng.uniform(-1, 1, (8, len(columns)))
    poses = kinematics.link_poses(torch.as_tensor(q)).numpy()
    root = tree.ancestors(tree.link(link))[0]
    T_world_root = tree.Ts_parent_link[root].as_matrix()
    expected = poses[:, tree.link(link)] @ tool.as_matrix()
    np.testing.assert_allclose(T_world_root @ chain.forward(q[:, columns]).as_matrix(), expected, atol=1e-9)


def test_a_given_table_is_a_planar_arm() -> None:
    """Two links of 0.3 m and 0.2 m: elbow and tip where trigonometry puts them."""
    zeros = np.zeros(2)
    chain = DhChain(np.array([0.3, 0.2]), zeros, zeros, zeros, np.array([True, True]), SE3.identity(), SE3.identity())
    q = np.array([[0.4, 0.7]])
    tip = chain.forward(q).translation[0]
    np.testing.assert_allclose(tip, [0.3 * np.cos(0.4) + 0.2 * np.cos(1.1), 0.3 * np.sin(0.4) + 0.2 * np.sin(1.1), 0.0])
    np.testing.assert_allclose(chain.forward(q).rotation[0].log(), SO3.exp(np.array([0.0, 0.0, 1.1])).log(), atol=1e-12)
