"""Small twins from nominal shapes: no cameras, no reconstruction, known mass properties."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.artifacts.blob import Blobs
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.robot import RobotModel
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, SO3, Inertia
from gemel.services.formats.robot_model import read_robot_model
from gemel.services.tasks import get_object
from gemel.services.tasks.box_union import Box

SAMPLE_ROBOT = Path(__file__).parents[3] / "src/gemel/samples/push_t/meta/robot.xml"
OFFSETS = np.array([0.02, -0.01, 0.015, 0.005, -0.02, 0.01])
BASE = SE3(SO3.exp(np.array([[0.01, -0.02, 0.3]])), np.array([[0.05, -0.02, 0.003]]))


def splat_mesh(vertices: np.ndarray, faces: np.ndarray) -> SplatMesh:
    """A mesh without looks."""
    return SplatMesh(
        vertices=np.asarray(vertices, float), faces=np.asarray(faces, np.int64), is_seen=np.ones(len(vertices), bool),
        face_from_gaussian=np.zeros(0, np.int64), barycentric=np.zeros((0, 3)), in_plane_scale=np.zeros((0, 2)),
        normal_scale_m=1e-4, sh=np.zeros((0, 1, 3)), opacity=np.zeros(0), dilation_px2=0.3,
    )  # fmt: skip


def reconstruction(
    objects: Mapping[str, SplatMesh], placements: Mapping[str, SE3], *, has_robot: bool = False
) -> Reconstruction:
    """Shapes at their places, the table at height zero."""
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    return Reconstruction(
        objects=objects, placements=placements, links={}, table=splat_mesh(corners, np.array([[0, 1, 2], [0, 2, 3]])),
        articulated={}, background=None, cameras=(), Ts_world_base=BASE if has_robot else SE3.identity(0),
        joint_offsets=OFFSETS if has_robot else np.zeros(0), joint_offset_sigmas=np.zeros(6 if has_robot else 0),
        joint_plays=np.zeros(6 if has_robot else 0), is_metric=True,
    )  # fmt: skip


def at(x: float, y: float, z: float, yaw: float = 0.0) -> SE3:
    """A pose that is only turned about z."""
    return SE3(SO3.exp(np.array([0.0, 0.0, yaw])), np.array([x, y, z]))


def belief(values: Mapping[str, tuple[float, ...]]) -> Belief:
    """Equally likely samples of each parameter."""
    parameters = tuple(Parameter(name, "", -1e9, 1e9, "linear", ValueSource.RANDOMISED) for name in values)
    samples = np.array(list(values.values()), dtype=float).T.reshape(-1, len(values)) if values else np.zeros((1, 0))
    return Belief(parameters, samples, np.full(len(samples), 1.0 / len(samples)))


def block_twin(
    blobs: Blobs, values: Mapping[str, tuple[float, ...]], *, robot: RobotModel | None = None, pose: SE3 | None = None
) -> Twin:
    """The nominal T-block, made of its two boxes, on a table."""
    model = get_object("t_block")
    pose = pose or at(0.45, 0.0, model.rest_height, 0.4)
    mesh = splat_mesh(model.vertices, model.faces)
    inertia = Inertia.from_mesh(model.vertices, model.faces, 1.0)
    return Twin(
        robot=robot,
        reconstruction=reconstruction({"t_block": mesh}, {"t_block": pose}, has_robot=robot is not None),
        belief=belief(values),
        colliders={"t_block": tuple(blobs.put_table({"vertices": _corners(box)}) for box in model.collision)},
        initial_poses={"t_block": pose},
        inertias={"t_block": replace(inertia, mass_kg=0.343, I_BBcm_B=inertia.I_BBcm_B * (0.343 / inertia.mass_kg))},
        joints=robot.joint_names if robot is not None else (),
    )


def sample_robot(blobs: Blobs) -> RobotModel:
    """The arm of the bundled capture."""
    return read_robot_model(SAMPLE_ROBOT, blobs)


def _corners(box: Box) -> np.ndarray:
    signs = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    return np.asarray(box.low + signs * np.asarray(box.size))
