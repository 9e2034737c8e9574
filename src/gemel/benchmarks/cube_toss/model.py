"""A tossed cube in MuJoCo, and the tracker that sees it.

Only its eight corners can touch a plane, so balls at the corners are a cube with rounded edges exactly. The tracker
reports lengths short by a factor, and a field that swirls about the board's middle: free flights, which nothing can
deflect sideways, all curve to the left as seen from their own direction, by 0.14 m/s² (48 standard errors). Simulation
is in the tracker's lengths, so a cube is `scale` times as large there and falls with the gravity that the tracker
shows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.cube_toss.data import FRAME_S, HALF_M, Tosses

SUBSTEPS = 10
_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_MASS_KG = 0.37
_AT_REST = 2e-3
"""A cube slower than this [m/s, rad/s] stays where it is."""
Column = Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Cube:
    """Parameters of n simulated cubes; defaults are those of the baseline: as measured, contact as MuJoCo's default."""

    friction: Column
    inertia: Column
    """About any axis [kg·m²]."""
    rolling: Column
    """Rolling friction [m]."""
    corner_radius: Column
    contact_time: Column
    """Time constant of the contact [s]."""
    contact_damping: Column
    """Damping ratio of the contact: below one it bounces."""
    scale: Column
    """Tracked over true lengths."""
    gravity: Column
    """As tracked [m/s²]."""
    swirl: Column
    """Sideways shift of tracked places over the cube of their distance from the middle [1/m²]."""
    lag_s: Column
    """By how much reported velocities are old."""

    @staticmethod
    def baseline(count: int) -> "Cube":
        """The elliptic baseline: measured friction and inertia, MuJoCo's default contact, the tracker taken as true."""
        values = (0.18, 8.1e-4, 0.0, 1e-4, 0.02, 1.0, 1.0, 9.81, 0.0, 0.0)
        return Cube(*(np.full(count, value) for value in values))


def cube_model() -> Any:
    """A compiled `mujoco.MjModel`: a free cube whose corners touch a plane."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = FRAME_S / SUBSTEPS
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    unseen = {"contype": 0, "conaffinity": 0}
    spec.worldbody.add_geom(name="board", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], **unseen)
    body = spec.worldbody.add_body(name="cube", mass=_MASS_KG, inertia=[8.1e-4] * 3, explicitinertial=True)
    body.add_freejoint()
    for i, corner in enumerate(_CORNERS):
        ball = mujoco.mjtGeom.mjGEOM_SPHERE
        body.add_geom(name=f"corner{i}", type=ball, size=[1e-3, 0, 0], pos=list(HALF_M * corner), **unseen)
        spec.add_pair(name=f"cube-board/{i}", geomname1="board", geomname2=f"corner{i}", condim=6)
    return spec.compile()


def simulate(
    tosses: Tosses, cube: Cube, *, copies: int, kicks: Float[np.ndarray, "n 6"] | None = None, threads: int = 0
) -> tuple[Float[np.ndarray, "copy toss t 3"], Float[np.ndarray, "copy toss t 4"]]:
    """Tracked poses of each toss under each of `copies` draws, from the first frame's state.

    `cube` has one entry per copy and toss, tosses fastest; `kicks` are added to its velocity and angular velocity.
    """
    from mujoco.batch import Batch

    every = np.tile(np.arange(len(tosses)), copies)
    batch = Batch(cube_model(), len(every), nthread=threads)
    _set_cube(batch, cube)
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
    qpos[:] = np.concatenate([tosses.position[every, 0], tosses.wxyz[every, 0]], axis=1)
    qvel[:] = np.concatenate([tosses.velocity[every, 0], tosses.angular[every, 0]], axis=1)
    qvel[:, 2] -= cube.gravity * cube.lag_s
    if kicks is not None:
        qvel[:] += kicks
    step = 1e-3
    ahead, behind = (_straightened(qpos[:, :2] + sign * step * qvel[:, :2], cube.swirl) for sign in (1.0, -1.0))
    qpos[:, :2], qvel[:, :2] = _straightened(qpos[:, :2], cube.swirl), (ahead - behind) / (2.0 * step)
    poses = _roll(batch, tosses.lengths[every])
    poses[..., :2] = _swirled(poses[..., :2], cube.swirl[:, None])
    shaped = poses.reshape(copies, len(tosses), -1, 7)
    return shaped[..., :3], shaped[..., 3:]


def _roll(batch: Any, lengths: np.ndarray) -> Float[np.ndarray, "n t 7"]:
    """Poses after each frame; simulations end with their toss, and those at rest are not stepped on."""
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
    poses = np.full((len(lengths), int(lengths.max()), 7), np.nan)
    poses[:, 0] = qpos
    is_moving = np.ones(len(lengths), dtype=bool)
    for t in range(1, poses.shape[1]):
        lasting = np.flatnonzero(lengths > t)
        moving = lasting[is_moving[lasting]]
        if len(moving):
            batch.step(ids=moving, nstep=SUBSTEPS)
        poses[lasting, t] = qpos[lasting]
        if t > 30 and t % 10 == 0:
            is_moving &= np.abs(qvel).max(axis=1) > _AT_REST
    return poses


def _set_cube(batch: Any, cube: Cube) -> None:
    half = HALF_M * cube.scale
    batch.expand("geom_size")[:, 1:, 0] = cube.corner_radius[:, None]
    batch.expand("geom_pos")[:, 1:] = _CORNERS * (half - cube.corner_radius)[:, None, None]
    friction = batch.expand("pair_friction")
    friction[:, :, :2], friction[:, :, 2] = cube.friction[:, None, None], 0.0
    friction[:, :, 3:] = cube.rolling[:, None, None]
    solref = batch.expand("pair_solref")
    solref[:, :, 0], solref[:, :, 1] = cube.contact_time[:, None], cube.contact_damping[:, None]
    batch.expand("body_inertia")[:, 1] = cube.inertia[:, None]
    batch.expand("opt.gravity")[:, 2] = -cube.gravity
    batch.set_const()


def _swirled(xy: np.ndarray, swirl: np.ndarray) -> np.ndarray:
    """Places as tracked."""
    sideways = np.stack([-xy[..., 1], xy[..., 0]], axis=-1)
    return np.asarray(xy + (swirl * np.sum(xy**2, axis=-1))[..., None] * sideways)


def _straightened(xy: np.ndarray, swirl: np.ndarray) -> np.ndarray:
    """Places of which the tracker reports `xy`; the field is weak, so three rounds are exact to a micrometre."""
    true = xy
    for _ in range(3):
        true = xy - (_swirled(true, swirl) - true)
    return np.asarray(true)
