"""A small lab drawn with numpy: an arm of boxes, a camera at its wrist, two fixed ones, a textured table, a block.

Everything rests but the arm. Drawn without any of the code that is judged on it, kinematics and rasteriser apart.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import Domain, EpisodeKind, JointSignal, UnitSource
from gemel.artifacts.episode import Episode
from gemel.geometry import SE3, SO3, Pinhole, box_mesh
from gemel.services.kinematics.forward import ForwardKinematics
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.kinematics.tree import kinematic_tree
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.observations import Observations

WIDTH, HEIGHT = 128, 96
BLOCK = np.array([0.10, 0.06, 0.05])
BLOCK_AT = np.array([0.40, 0.02, 0.025])
MOVING, FIXED = 22, 12
_FINER = 2
_ARM = """
<mujoco><worldbody><body name="base"><geom type="box" size=".05 .05 .05" pos="0 0 .05" rgba=".3 .3 .35 1"/>
 <body name="shoulder" pos="0 0 .12"><joint name="yaw" axis="0 0 1"/>
  <geom type="box" size=".035 .035 .04" pos="0 0 .02" rgba=".9 .5 .1 1"/>
  <body name="upper" pos="0 0 .05"><joint name="lift" axis="0 1 0"/>
   <geom type="box" size=".03 .03 .13" pos="0 0 .13" rgba=".85 .85 .9 1"/>
   <body name="fore" pos="0 0 .26"><joint name="bend" axis="0 1 0"/>
    <geom type="box" size=".11 .025 .025" pos=".11 0 0" rgba=".1 .3 .7 1"/>
    <body name="hand" pos=".22 0 0"><joint name="tilt" axis="0 1 0"/>
     <geom type="box" size=".03 .05 .02" pos=".03 0 0" rgba=".9 .9 .2 1"/>
</body></body></body></body></body></worldbody></mujoco>
"""
JOINTS = tuple(JointSignal(n, "rad", "rad", UnitSource.SOURCE, n) for n in ("yaw", "lift", "bend", "tilt"))
OBJECT = "block"


@dataclass(frozen=True, eq=False)
class Lab:
    """What a lab hands to reconstruction."""

    observations: Observations
    joints: tuple[JointSignal, ...]
    robot: Any


@cache
def arm() -> Any:
    """The compiled robot."""
    import mujoco

    return mujoco.MjModel.from_xml_string(_ARM)


def arm_motion(times_s: np.ndarray) -> np.ndarray:
    """Joint angles of a slow swing round the block."""
    phase = 2.0 * np.pi * times_s / times_s[-1]
    yaw = 0.45 * np.cos(phase) + 0.05
    lift = 0.10 + 0.18 * np.sin(phase)
    bend = 0.35 - 0.20 * np.sin(phase)
    tilt = 0.25 * np.sin(phase) + 0.15 * np.cos(2.0 * phase)
    return np.stack([yaw, lift, bend, tilt], axis=-1)


def cameras() -> tuple[Camera, ...]:
    """Wrist, front and side, of one size."""

    def looking(eye: tuple[float, float, float]) -> SE3:
        return SE3.look_at(np.array(eye), np.array([0.25, 0.0, 0.17]), np.array([0.0, 0.0, 1.0]))

    # In the hand's axes: from above the hand, down and forward.
    R_hand_camera = np.stack([[0.0, -1.0, 0.0], [-0.6, 0.0, -0.8], [0.8, 0.0, -0.6]], axis=-1)
    wrist = SE3(SO3.from_matrix(R_hand_camera), np.array([0.08, 0.0, 0.0]))
    lens = Pinhole(WIDTH, HEIGHT, 110.0, 110.0, WIDTH / 2, HEIGHT / 2)
    return (
        Camera("wrist", WIDTH, HEIGHT, lens, "hand", wrist),
        Camera("front", WIDTH, HEIGHT, lens, "world", looking((0.95, -0.15, 0.55))),
        Camera("side", WIDTH, HEIGHT, lens, "world", looking((0.25, 0.75, 0.45))),
    )


@cache
def intact() -> Lab:
    """The lab with nothing wrong but calibration errors of the usual size."""
    times_s = np.arange(120) / 20.0
    q = arm_motion(times_s)
    episode = Episode("0", EpisodeKind.SCAN, Domain.STAND_IN, "look", times_s, q, q)
    steps = [np.linspace(0, 119, n).round().astype(int) for n in (MOVING, FIXED, FIXED)]
    rows = np.array([(c, 0, s) for c in range(3) for s in steps[c]])
    observations = Observations(
        cameras=tuple(_as_believed(camera) for camera in cameras()),
        episodes=(episode,),
        camera=rows[:, 0],
        episode=rows[:, 1],
        step=rows[:, 2],
        images=tuple(np.zeros((HEIGHT, WIDTH, 3), np.float32) for _ in rows),
        masks={OBJECT: tuple(np.zeros((HEIGHT, WIDTH), bool) for _ in rows)},
        known=tuple(np.ones((HEIGHT, WIDTH), bool) for _ in rows),
    )
    return Lab(drawn(observations, np.tile(BLOCK_AT, (len(rows), 1))), JOINTS, arm())


def _as_believed(camera: Camera) -> Camera:
    """Mounted a little elsewhere than the lab believes."""
    assert camera.T_parent_camera is not None
    error = SE3(SO3.exp(np.array([0.008, -0.006, 0.009])), np.array([0.002, -0.003, 0.002]))
    return replace(camera, T_parent_camera=camera.T_parent_camera @ error)


def drawn(
    observations: Observations, block_at: np.ndarray, true_cameras: tuple[Camera, ...] | None = None
) -> Observations:
    """The same with images and masks of the block at a place for each view."""
    rng = np.random.default_rng(4)
    pairs = []
    for v in range(len(observations)):
        camera = (true_cameras or cameras())[observations.camera[v]]
        q = observations.episodes[0].joint_positions[observations.step[v]]
        pairs.append(_picture(camera, q, block_at[v], rng))
    images, masks = zip(*pairs, strict=True)
    return replace(observations, images=images, masks={OBJECT: masks})


def _picture(camera: Camera, q: np.ndarray, block_at: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    import torch

    tree = kinematic_tree(arm())
    Ts = ForwardKinematics(tree).link_poses(torch.as_tensor(q[None])).numpy()[0]
    T = camera.T_parent_camera.as_matrix()
    T_camera_world = np.linalg.inv(T if camera.parent == "world" else Ts[tree.link(camera.parent)] @ T)
    lens, n = camera.model, _FINER
    k = n * np.array([lens.fx, lens.fy, lens.cx, lens.cy])
    colour, is_block = _drawn(T_camera_world, Ts, block_at, k, n * WIDTH, n * HEIGHT)
    small = colour.reshape(HEIGHT, n, WIDTH, n, 3).mean(axis=(1, 3))
    mask = is_block.reshape(HEIGHT, n, WIDTH, n).mean(axis=(1, 3)) > 0.5
    return np.clip(small + rng.normal(0.0, 0.01, small.shape), 0.0, 1.0).astype(np.float32), mask


def _drawn(
    T: np.ndarray, Ts_world_link: np.ndarray, block_at: np.ndarray, k: np.ndarray, width: int, height: int
) -> Any:
    surface, links = RobotSurface.of(link_meshes(arm())), link_meshes(arm())
    block, block_faces = box_mesh(tuple(BLOCK))
    robot = surface.in_world(Ts_world_link)
    vertices = np.concatenate([robot, block + block_at])
    faces = np.concatenate([surface.faces, block_faces + len(robot)])
    tint = np.concatenate([*(link.face_colours for link in links), np.tile([0.75, 0.15, 0.2], (len(block_faces), 1))])
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    depth, face = rasterise(vertices @ T[:3, :3].T + T[:3, 3], faces, k, width, height)
    u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = np.stack([(u - k[2]) / k[0], (v - k[3]) / k[1], np.ones_like(u)], axis=-1) @ T[:3, :3]
    eye = -T[:3, :3].T @ T[:3, 3]
    reach = np.where(rays[..., 2] < -1e-6, -eye[2] / np.minimum(rays[..., 2], -1e-6), np.inf)
    ground = eye[:2] + np.minimum(reach, 20.0)[..., None] * rays[..., :2]
    colour = np.where((reach < np.inf)[..., None], _table(ground), [0.6, 0.65, 0.7])
    is_near = (face != NOTHING) & (depth <= reach)
    colour = np.where(is_near[..., None], (tint * shade(normals)[:, None])[face], colour)
    return colour, is_near & (face >= len(surface.faces))


def shade(normals: np.ndarray) -> np.ndarray:
    """Brightness of faces."""
    return 0.55 + 0.45 * np.abs(normals @ [0.36, 0.48, 0.8])


def _table(ground: np.ndarray) -> np.ndarray:
    """Blotches of several sizes; no two places look alike."""
    from scipy.ndimage import map_coordinates

    where = [(ground[..., i] + 2.0) / 4.0 * 799.0 for i in (0, 1)]
    value = map_coordinates(_blotches(), where, order=1, mode="reflect")
    return np.stack([0.55 + 0.25 * value, 0.50 + 0.22 * value, 0.42 + 0.18 * value], axis=-1)


@cache
def _blotches() -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(7)
    layers = [gaussian_filter(rng.normal(size=(800, 800)), s) for s in (1.5, 3.0, 8.0)]
    return np.clip(sum(layer / layer.std() for layer in layers) / 3.0, -1.0, 1.0)
