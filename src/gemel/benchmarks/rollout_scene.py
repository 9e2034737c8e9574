"""The nominal push scene as an arena, and as something that cameras can look at: no twin has to be carried along."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.artifacts.camera import Camera
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.splatmesh import SplatMesh
from gemel.benchmarks.nominal_push import nominal_model
from gemel.geometry import SE3, SO3, Pinhole, cylinder_mesh
from gemel.services.policy.arena import Arena
from gemel.services.sim.led_servos import feed_forward
from gemel.services.tasks import get_object, get_task

_HOME = (0.41, 0.325)
_GAUSSIANS_PER_M2 = {"object": 1.0e5, "pusher": 2.0e5, "table": 1.2e4}
"""About as many as twins of the bundled capture have: 8,000 on the block, 2,000 on a link, 12,000 on the table."""
_SPLAT_SCALE = 1.7


class SlideArm:
    """A pusher on two slides is its own tip."""

    def tips(self, q: Float[np.ndarray, "n joint"]) -> Float[np.ndarray, "n 2"]:
        """Where the tips are [m]."""
        return q

    def reach(self, places: Float[np.ndarray, "n 2"], q: Float[np.ndarray, "n joint"]) -> Float[np.ndarray, "n joint"]:
        """The places themselves."""
        return places


def nominal_arena() -> Arena:
    """push-t with a pusher on slides; physics is drawn from the task's ranges."""
    task, block = get_task("push-t"), get_object("t_block")
    model = nominal_model(block)
    return Arena(
        model=model,
        task=task,
        object=block.name,
        joint_names=("pusher_x", "pusher_y"),
        readings_at=np.array([7, 8]),
        commands_at=np.array([0, 1]),
        home=np.array(_HOME),
        T_world_rest=SE3(SO3.identity(), np.array([0.45, 0.0, block.rest_height])),
        place=_place,
        arm=SlideArm(),
        belief=_belief(task.parameter_ranges),
        fixed=feed_forward(model),
    )


def nominal_looks() -> Reconstruction:
    """The same scene in splats, seen by one camera of 160 x 120 pixels."""
    block = get_object("t_block")
    rod = cylinder_mesh(0.010, 0.13, 24)
    corners = np.array([[-0.1, -0.5, 0.0], [0.9, -0.5, 0.0], [0.9, 0.5, 0.0], [-0.1, 0.5, 0.0]])
    camera = Camera(
        "front", 160, 120, Pinhole(160, 120, 184.0, 184.0, 80.0, 60.0),
        T_parent_camera=SE3.look_at(np.array([1.0, 0.4, 0.55]), np.array([0.45, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])),
    )  # fmt: skip
    rest = SE3(SO3.identity(), np.array([0.45, 0.0, block.rest_height]))
    return Reconstruction(
        objects={block.name: _splats(block.vertices, block.faces, (0.9, 0.4, 0.1), "object")},
        placements={block.name: rest},
        links={"pusher": _splats(*rod, (0.6, 0.6, 0.62), "pusher")},
        table=_splats(corners, np.array([[0, 1, 2], [0, 2, 3]]), (0.6, 0.45, 0.3), "table"),
        articulated={}, background=None, cameras=(camera,), Ts_world_base=SE3.identity(0), joint_offsets=np.zeros(0),
        joint_offset_sigmas=np.zeros(0), joint_plays=np.zeros(0), is_metric=True,
    )  # fmt: skip


def _place(readings: Float[np.ndarray, "n 2"], Ts_world_object: SE3) -> Float[np.ndarray, "n 9"]:
    return np.concatenate([Ts_world_object.translation, Ts_world_object.rotation.wxyz, readings], axis=1)


def _belief(ranges: Any) -> Belief:
    """Independent and even over the ranges."""
    rng = np.random.default_rng(0)
    parameters = tuple(
        Parameter(n, "", low, high, "linear", ValueSource.RANDOMISED) for n, (low, high) in ranges.items()
    )
    samples = np.stack([rng.uniform(low, high, 1000) for low, high in ranges.values()], axis=1)
    return Belief(parameters, samples, np.full(1000, 1e-3))


def _splats(
    vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"], colour: tuple[float, ...], kind: str
) -> SplatMesh:
    """A plain mesh with Gaussians spread over its faces."""
    from gemel.geometry import face_areas
    from gemel.services.render.spherical_harmonics import C0
    from gemel.services.render.splatmesh import spread

    per_edge = np.maximum(1, np.round(np.sqrt(_GAUSSIANS_PER_M2[kind] * face_areas(vertices, faces)))).astype(int)
    face_from_gaussian, barycentric = spread(per_edge)
    count = len(face_from_gaussian)
    return SplatMesh(
        vertices=vertices, faces=faces, is_seen=np.ones(len(vertices), dtype=bool),
        face_from_gaussian=face_from_gaussian, barycentric=barycentric,
        in_plane_scale=np.repeat((_SPLAT_SCALE / per_edge[face_from_gaussian])[:, None], 2, axis=1),
        normal_scale_m=5e-4, sh=np.tile((np.array(colour) - 0.5) / C0, (count, 1))[:, None].astype(np.float32),
        opacity=np.full(count, 0.95), dilation_px2=0.1,
    )  # fmt: skip
