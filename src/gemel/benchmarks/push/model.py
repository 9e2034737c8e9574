"""A pushed object in MuJoCo: one contact carries its weight, and its friction is an ellipsoid limit surface.

MuJoCo's elliptic cone with sliding and torsional friction, `(f_x / mu)² + (f_y / mu)² + (torque / (mu c))² <= N²`, is
the ellipsoid limit surface of a sliding object (Goyal, Ruina and Papadopoulos 1991) with the friction radius c, so a
single support under the centre of pressure is all that a flat object needs. The probe is a heavy body that keeps its
speed; it is a ball at mid-height, whose outline against vertical walls is that of the real cylinder.

Pushes are simulated at their real speed in long steps: at 10 mm/s inertia is 1e-3 of friction.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.push.data import PROBE_RADIUS_M

_HALF_HEIGHT_M = 0.05
_SURFACE_FRICTION = 0.3
"""Moves nothing that is measured: only friction over inertia and the ratios of friction matter."""
_STIFFNESS_STEPS = 2.5
"""Time constant of contacts, in steps."""


def push_model(outline: Float[np.ndarray, "corner 2"], *, duration_s: float, steps: int) -> Any:
    """A compiled `mujoco.MjModel`: joints x, y, z, yaw of the object and x, y of the probe."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = duration_s / steps
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    world = spec.worldbody
    world.add_geom(name="surface", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], contype=0, conaffinity=0)
    body = world.add_body(name="object", mass=1.0, inertia=[0.002] * 3, explicitinertial=True)
    for name, kind, axis in (("x", "SLIDE", [1, 0, 0]), ("y", "SLIDE", [0, 1, 0]), ("z", "SLIDE", [0, 0, 1]),
                             ("yaw", "HINGE", [0, 0, 1])):  # fmt: skip
        body.add_joint(name=name, type=getattr(mujoco.mjtJoint, f"mjJNT_{kind}"), axis=axis)
    _add_outline(spec, body, outline)
    ball = mujoco.mjtGeom.mjGEOM_SPHERE
    body.add_geom(name="support", type=ball, size=[0.001, 0, 0], pos=[0, 0, 0.001], contype=0, conaffinity=0)
    probe = world.add_body(
        name="probe", pos=[0, 0, _HALF_HEIGHT_M], mass=1e5, inertia=[1.0] * 3, explicitinertial=True
    )
    for name, axis in (("probe_x", [1, 0, 0]), ("probe_y", [0, 1, 0])):
        probe.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    probe.add_geom(name="tip", type=ball, size=[PROBE_RADIUS_M, 0, 0], contype=0, conaffinity=0)
    solver = {"solref": [_STIFFNESS_STEPS * duration_s / steps, 1.0], "solimp": [0.95, 0.99, 0.001, 0.5, 2.0]}
    mu = _SURFACE_FRICTION
    spec.add_pair(
        name="object-surface", geomname1="surface", geomname2="support", condim=4, friction=[mu, mu, 0.01, 0, 0],
        **solver,
    )  # fmt: skip
    spec.add_pair(
        name="object-tip", geomname1="outline", geomname2="tip", condim=3, friction=[0.25, 0.25, 0, 0, 0], **solver
    )
    return spec.compile()


def set_draws(batch: Any, model: Any, *, radius: np.ndarray, tip_friction: np.ndarray, support: np.ndarray) -> None:
    """Write friction radius [m], friction of the probe and place of the support (n, 2) [m] into a batch."""
    friction = batch.expand("pair_friction")
    surface, tip = model.pair("object-surface").id, model.pair("object-tip").id
    friction[:, surface, 2] = _SURFACE_FRICTION * radius
    friction[:, tip, :2] = tip_friction[:, None]
    batch.expand("geom_pos")[:, model.geom("support").id, :2] = support


def _add_outline(spec: Any, body: Any, outline: np.ndarray) -> None:
    """A box where the outline is one (the fastest contact), else a prism."""
    import mujoco

    half = outline.max(axis=0)
    common = {"name": "outline", "contype": 0, "conaffinity": 0}
    if len(outline) == 4 and np.allclose(np.abs(outline), half, rtol=1e-3):
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[*half, _HALF_HEIGHT_M], pos=[0, 0, _HALF_HEIGHT_M], **common
        )
        return
    levels = [np.column_stack([outline, np.full(len(outline), z)]) for z in (0.0, 2.0 * _HALF_HEIGHT_M)]
    spec.add_mesh(name="prism", uservert=np.concatenate(levels).ravel())
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="prism", **common)
