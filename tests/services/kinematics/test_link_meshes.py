"""Link meshes are closed surfaces of the geoms' sizes, at the geoms' places."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from gemel.geometry import is_watertight, volume  # noqa: E402
from gemel.services.kinematics.link_meshes import link_meshes  # noqa: E402

SHAPES = """<mujoco><asset><mesh name="tetra" vertex="0 0 0  0.3 0 0  0 0.3 0  0 0 0.3"/></asset><worldbody>
<body name="sphere"><geom type="sphere" size="0.1"/></body>
<body name="capsule"><geom type="capsule" size="0.05 0.1" rgba="1 0 0 1"/></body>
<body name="ellipsoid"><geom type="ellipsoid" size="0.1 0.2 0.3"/></body>
<body name="cylinder"><geom type="cylinder" size="0.1 0.2"/></body>
<body name="box"><geom type="box" size="0.1 0.2 0.3" pos="1 2 3"/></body>
<body name="mesh"><geom type="mesh" mesh="tetra" pos="0 0 1"/></body>
<body name="both"><geom type="box" size="0.1 0.1 0.1"/><geom type="box" size="0.3 0.3 0.3" group="3"/></body>
</worldbody></mujoco>"""
VOLUMES = {
    "sphere": 4 / 3 * np.pi * 1e-3,
    "capsule": np.pi * 0.05**2 * (0.2 + 4 / 3 * 0.05),
    "ellipsoid": 4 / 3 * np.pi * 6e-3,
    "cylinder": np.pi * 0.01 * 0.4,
    "box": 0.2 * 0.4 * 0.6,
    "mesh": 0.3**3 / 6,
    "both": 0.2**3,
}


def test_surfaces_are_closed_and_of_the_right_volume() -> None:
    """Every shape within 6 % of its exact volume (curved ones are inscribed), boxes and meshes exactly."""
    model = mujoco.MjModel.from_xml_string(SHAPES)
    meshes = {model.body(mesh.link + 1).name: mesh for mesh in link_meshes(model)}
    for name, expected in VOLUMES.items():
        mesh = meshes[name]
        assert is_watertight(mesh.vertices, mesh.faces), name
        tolerance = 1e-6 if name in ("box", "mesh", "both") else 0.06
        assert volume(mesh.vertices, mesh.faces) == pytest.approx(expected, rel=tolerance), name


def test_places_and_colours_are_the_models() -> None:
    """A mesh geom stands where the model puts it although MuJoCo re-centres its vertices; colours are the geoms'."""
    model = mujoco.MjModel.from_xml_string(SHAPES)
    meshes = {model.body(mesh.link + 1).name: mesh for mesh in link_meshes(model)}
    np.testing.assert_allclose(meshes["mesh"].vertices.min(axis=0), [0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(meshes["mesh"].vertices.max(axis=0), [0.3, 0.3, 1.3], atol=1e-6)
    np.testing.assert_allclose(meshes["box"].vertices.mean(axis=0), [1.0, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(meshes["capsule"].face_colours[0], [1.0, 0.0, 0.0])
