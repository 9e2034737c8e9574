"""A pushed object in MuJoCo: it rests on a few points, whose friction makes its limit surface.

A flat object touches an uneven surface where the surface happens to be high, and nothing but a push shows where. The
support is therefore points under the outline's corners (six around it where there are more), drawn in towards the
centroid by a ratio that is fitted. Each carries the same weight, and the pressure enters as friction: `mu w_i` with
weights that are linear in place and put the centre of pressure where the fit wants it. The probe is a heavy body that
keeps its speed; it is a ball at mid-height, whose outline against vertical walls is that of the real cylinder.

Pushes are simulated at their real speed in long steps: at 10 mm/s inertia is 1e-3 of friction.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.push.data import PROBE_RADIUS_M
from gemel.benchmarks.push.outline import Outline, centroid

_HALF_HEIGHT_M = 0.05
_SURFACE_FRICTION = 0.3
"""Moves nothing that is measured: only friction over inertia and the ratios of friction matter."""
_STIFFNESS_STEPS = 2.5
"""Time constant of contacts, in steps."""
_MOST_SUPPORTS = 6
_UNSEEN = {"contype": 0, "conaffinity": 0}
"""Only the named pairs touch."""


def supports(outline: Outline) -> Float[np.ndarray, "support 2"]:
    """Corners that carry the object, from the centroid [m]; even steps around an outline with many corners."""
    count = len(outline)
    chosen = outline if count <= _MOST_SUPPORTS else outline[np.arange(_MOST_SUPPORTS) * count // _MOST_SUPPORTS]
    return np.asarray(chosen - centroid(outline))


def push_model(outline: Outline, *, duration_s: float, steps: int) -> Any:
    """A compiled `mujoco.MjModel`: joints x, y, z, yaw of the object and x, y of the probe."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = duration_s / steps
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    ball, slide, hinge = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    spec.worldbody.add_geom(name="surface", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], **_UNSEEN)
    body = spec.worldbody.add_body(name="object", mass=1.0, inertia=[0.002] * 3, explicitinertial=True)
    for name, kind, axis in (("x", slide, [1, 0, 0]), ("y", slide, [0, 1, 0]), ("z", slide, [0, 0, 1]),
                             ("yaw", hinge, [0, 0, 1])):  # fmt: skip
        body.add_joint(name=name, type=kind, axis=axis)
    _add_outline(spec, body, outline)
    middle = [0, 0, _HALF_HEIGHT_M]
    probe = spec.worldbody.add_body(name="probe", pos=middle, mass=1e5, inertia=[1.0] * 3, explicitinertial=True)
    for name, axis in (("probe_x", [1, 0, 0]), ("probe_y", [0, 1, 0])):
        probe.add_joint(name=name, type=slide, axis=axis)
    probe.add_geom(name="tip", type=ball, size=[PROBE_RADIUS_M, 0, 0], **_UNSEEN)
    solver = {"solref": [_STIFFNESS_STEPS * duration_s / steps, 1.0], "solimp": [0.95, 0.99, 0.001, 0.5, 2.0]}
    for i in range(len(supports(outline))):
        body.add_geom(name=f"support{i}", type=ball, size=[0.001, 0, 0], pos=[0, 0, 0.001], **_UNSEEN)
        spec.add_pair(name=f"object-surface/{i}", geomname1="surface", geomname2=f"support{i}", condim=3, **solver)
    spec.add_pair(name="object-tip", geomname1="outline", geomname2="tip", condim=3, **solver)
    return spec.compile()


def set_draws(
    batch: Any, outline: Outline, *, ratio: np.ndarray, tip_friction: np.ndarray, pressure: np.ndarray
) -> None:
    """Write support ratio, friction of the probe and centre of pressure (n, 2) [m] into a batch."""
    model, corners = batch.model, supports(outline)
    points = ratio[:, None, None] * corners
    moment = np.linalg.inv(corners.T @ corners / len(corners)) / ratio[:, None, None] ** 2
    weights = np.clip(1.0 + np.einsum("nki,nij,nj->nk", points, moment, pressure), 0.0, None)
    weights /= weights.mean(axis=1, keepdims=True)
    friction, places = batch.expand("pair_friction"), batch.expand("geom_pos")
    friction[:, model.pair("object-tip").id, :2] = tip_friction[:, None]
    for i in range(len(corners)):
        places[:, model.geom(f"support{i}").id, :2] = centroid(outline) + points[:, i]
        friction[:, model.pair(f"object-surface/{i}").id, :2] = _SURFACE_FRICTION * weights[:, i, None]


def _add_outline(spec: Any, body: Any, outline: Outline) -> None:
    """A box where the outline is one (the fastest contact), else a prism."""
    import mujoco

    half = outline.max(axis=0)
    if len(outline) == 4 and np.allclose(np.abs(outline), half, rtol=1e-3):
        box = {"size": [*half, _HALF_HEIGHT_M], "pos": [0, 0, _HALF_HEIGHT_M]}
        body.add_geom(name="outline", type=mujoco.mjtGeom.mjGEOM_BOX, **box, **_UNSEEN)
        return
    levels = [np.column_stack([outline, np.full(len(outline), z)]) for z in (0.0, 2.0 * _HALF_HEIGHT_M)]
    spec.add_mesh(name="prism", uservert=np.concatenate(levels).ravel())
    body.add_geom(name="outline", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="prism", **_UNSEEN)
