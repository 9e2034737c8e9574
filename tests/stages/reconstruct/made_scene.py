"""A small robot with three cameras over a textured table, drawn by numpy: every pose is known exactly."""

from dataclasses import dataclass

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.geometry import SE3, Pinhole
from gemel.services.kinematics.joint_log import JointLog
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.kinematics.tree import kinematic_tree
from gemel.services.render.mesh_raster import rasterise
from gemel.stages.reconstruct.calibration.problem import Problem
from gemel.stages.reconstruct.calibration.robot_rig import RobotRig, ViewTimes
from gemel.stages.reconstruct.calibration.unknowns import PriorConfig, Unknowns

WIDTH, HEIGHT = 112, 84
ARM = """<mujoco><compiler angle="radian"/><worldbody>
<body name="base"><geom type="cylinder" size="0.06 0.05" pos="0 0 0.05" rgba="0.2 0.2 0.25 1"/>
 <body name="upper" pos="0 0 0.1"><joint name="turn" axis="0 0 1"/><geom type="box" size="0.04 0.04 0.1" pos="0 0 0.1"
   rgba="0.9 0.9 0.9 1"/>
  <body name="fore" pos="0 0 0.2"><joint name="lift" axis="0 1 0"/>
   <geom type="capsule" size="0.035 0.16" pos="0.2 0 0.1"
    euler="0 1.1 0" rgba="0.8 0.85 0.9 1"/>
   <body name="hand" pos="0.4 0 0.2"><joint name="tilt" axis="0 1 0"/>
     <joint name="roll" axis="0 0 1"/><geom type="box" size="0.03 0.05 0.02" rgba="0.95 0.95 0.9 1"/>
   </body></body></body></body></worldbody></mujoco>"""


@dataclass(frozen=True, eq=False)
class MadeScene:
    """A calibration problem with its answer."""

    problem: Problem
    theta: np.ndarray


def make_scene(seed: int, *, moving: int = 18, fixed: int = 8) -> MadeScene:
    """What the lab believes is off by a draw of the prior; images are drawn from the truth."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(ARM)
    tree, rng = kinematic_tree(model), np.random.default_rng(seed)
    times_s = np.arange(60) * 0.1
    log = JointLog(times_s, _motion(times_s))
    cameras = _cameras()
    steps = [np.linspace(0, 59, moving if camera.parent == "hand" else fixed).astype(int) for camera in cameras]
    index = np.concatenate([np.full(len(s), i) for i, s in enumerate(steps)])
    views = ViewTimes(index, np.zeros(len(index), dtype=np.int64), times_s[np.concatenate(steps)])
    prior = PriorConfig(camera_time_s=0.02, camera_readout_s=1e-6)
    unknowns = Unknowns.of(tree.joint_names, ["base"], cameras, prior)
    rig = RobotRig(tree, cameras, [log], views, unknowns)
    theta = rng.normal(size=len(unknowns)) * unknowns.sigma
    surface = RobotSurface.of(link_meshes(model))
    colours = np.concatenate([mesh.face_colours for mesh in link_meshes(model)])
    images = tuple(_draw(rig, surface, colours, theta, v, rng) for v in range(len(index)))
    nothing = tuple(np.zeros((HEIGHT, WIDTH), dtype=bool) for _ in images)
    return MadeScene(Problem(rig, surface, images, nothing, (1,) * len(cameras)), theta)


def _motion(times_s: np.ndarray) -> np.ndarray:
    """Swings of all joints that keep the hand over the table."""
    a = 2.0 * np.pi * times_s / 6.0
    return np.stack(
        [0.5 * np.sin(a), 0.35 + 0.2 * np.cos(a), 0.2 * np.sin(2 * a) - 0.3, 0.8 * np.sin(a + 1.0)], axis=-1
    )


def _cameras() -> list[Camera]:
    lens = Pinhole(WIDTH, HEIGHT, 110.0, 110.0, WIDTH / 2, HEIGHT / 2)
    sigmas = {"focal_sigma_px": 0.3, "rotation_sigma_rad": 0.02, "translation_sigma_m": 0.006}
    up, target = np.array([0.0, 0.0, 1.0]), np.array([0.4, 0.0, 0.1])

    def camera(name: str, parent: str, pose: SE3) -> Camera:
        return Camera(name, WIDTH, HEIGHT, lens, parent, pose, **sigmas)

    front = SE3.look_at(np.array([1.1, 0.4, 0.6]), target, up)
    side = SE3.look_at(np.array([0.3, -0.9, 0.6]), target, up)
    down = SE3.look_at(np.array([0.04, 0.0, -0.03]), np.array([0.1, 0.0, -0.4]), np.array([1.0, 0.0, 0.0]))
    return [camera("front", "world", front), camera("side", "world", side), camera("wrist", "hand", down)]


def texture(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Brightness of the table: many waves of 2 to 12 cm in all directions."""
    rng = np.random.default_rng(99)
    value = np.zeros_like(x)
    for _ in range(40):
        k = 2.0 * np.pi / rng.uniform(0.02, 0.12)
        angle, phase = rng.uniform(0.0, 2.0 * np.pi, 2)
        value += np.cos(k * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    return 0.45 + 0.035 * value


def _draw(
    rig: RobotRig, surface: RobotSurface, colours: np.ndarray, theta: np.ndarray, v: int, rng: np.random.Generator
) -> np.ndarray:
    poses = rig.poses(theta)
    T, k = poses.Ts_camera_world[v], poses.intrinsics[v]
    T_world_camera = np.linalg.inv(T)
    u, w = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    rays = np.stack([(u - k[2]) / k[0], (w - k[3]) / k[1], np.ones_like(u)], axis=-1) @ T_world_camera[:3, :3].T
    reach = -T_world_camera[2, 3] / np.where(rays[..., 2] < -1e-3, rays[..., 2], np.nan)
    hit = T_world_camera[:3, 3] + reach[..., None] * rays
    grey = np.nan_to_num(texture(hit[..., 0], hit[..., 1]), nan=0.3)
    image = np.repeat(grey[..., None], 3, axis=-1)
    p_camera = surface.in_world(poses.Ts_world_link[v]) @ T[:3, :3].T + T[:3, 3]
    face = rasterise(p_camera, surface.faces, k, WIDTH, HEIGHT, near_m=0.03)[1]
    image = np.where((face >= 0)[..., None], colours[face], image)
    return np.clip(image + 0.01 * rng.standard_normal(image.shape), 0.0, 1.0).astype(np.float32)
