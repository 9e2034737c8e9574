"""The nominal push scene as a user would model it: the task's object on a plane, and a planar pusher.

Built from `services/tasks` alone. The object rests on points spread evenly over its bottom, since a flat bottom does
not stand on its corners; the pusher is a cylinder on two slides that is where its servos are told to be.
`FINE` is for inference, where a millimetre counts; `FAST` is for training, where millions of steps do.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3, Inertia
from gemel.services.tasks.box_union import Box
from gemel.services.tasks.objects import ObjectModel

PUSHER_RADIUS_M = 0.010
KP, KV, PUSHER_KG = 1e5, 2e3, 10.0
"""Stiff enough to be where the log says it was."""
_POINT_M = 0.002


@dataclass(frozen=True)
class PushDetail:
    """How finely a push is simulated."""

    step_s: float
    contact_s: float
    """Time constant of contacts, as hard as the step allows [s]: a soft one lets the block lag by a millimetre."""
    support_m: float | None
    """About the distance of the points that the object rests on [m]; None has the fewest that bear as a flat bottom."""
    torsional_m: float
    """Torsional friction of each point [m]; 0 has none."""
    is_ball: bool
    """Whether the pusher is a ball at half the object's height: the same in the plane, and found without iterating."""


FINE = PushDetail(step_s=0.005, contact_s=0.01, support_m=0.075, torsional_m=0.005, is_ball=False)
FAST = PushDetail(step_s=0.010, contact_s=0.02, support_m=None, torsional_m=0.0005, is_ball=True)


def planar_push(model: ObjectModel, detail: PushDetail = FINE) -> Any:
    """The scene of one object as a `mujoco.MjModel`; positions are the object's pose, then the pusher's x and y."""
    import mujoco

    boxes = "".join(_box(f"box{i}", box) for i, box in enumerate(model.collision))
    points = [xy for box in model.collision for xy in _points(box, detail.support_m)]
    feet = "".join(
        f'<geom name="foot{i}" type="sphere" size="{_POINT_M}" pos="{x} {y} {_POINT_M - model.rest_height}" mass="0" '
        'contype="0" conaffinity="0"/>'
        for i, (x, y) in enumerate(points)
    )
    pairs = "".join(
        _pair(f"{model.name}-table/{i}", "table", f"foot{i}", 0.5, detail.contact_s, torsional_m=detail.torsional_m)
        for i in range(len(points))
    )
    pairs += "".join(
        _pair(f"{model.name}-pusher/{i}", "pusher", f"box{i}", 0.3, detail.contact_s)
        for i in range(len(model.collision))
    )
    inertia = _inertia(model)
    moments = " ".join(repr(float(inertia.I_BBcm_B[i, j])) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    com = " ".join(repr(float(c)) for c in inertia.p_BoBcm_B)
    slides = "".join(
        f'<joint name="tip_{n}" type="slide" axis="{axis}"/>' for n, axis in (("x", "1 0 0"), ("y", "0 1 0"))
    )
    height_m = model.rest_height if detail.is_ball else 0.08
    size = f"{PUSHER_RADIUS_M}" if detail.is_ball else f"{PUSHER_RADIUS_M} 0.065"
    shape = f'type="{"sphere" if detail.is_ball else "cylinder"}" size="{size}"'
    servos = "".join(f'<position name="tip_{n}" joint="tip_{n}" kp="{KP}" kv="{KV}"/>' for n in "xy")
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option timestep="{detail.step_s}" integrator="implicitfast" '
        'cone="elliptic" impratio="10"/><worldbody>'
        '<geom name="table" type="plane" size="2 2 0.1" contype="0" conaffinity="0"/>'
        f'<body name="{model.name}" simple="false" pos="0 0 {model.rest_height}"><freejoint/>'
        f'<inertial pos="{com}" mass="{model.mass_kg}" fullinertia="{moments}"/>{boxes}{feet}</body>'
        f'<body name="pusher" pos="0 0 {height_m}">{slides}<geom name="pusher" {shape} mass="{PUSHER_KG}" '
        'contype="0" conaffinity="0"/></body></worldbody>'
        f"<contact>{pairs}</contact><actuator>{servos}</actuator></mujoco>"
    )


def _inertia(model: ObjectModel) -> Inertia:
    """Of a uniform body."""
    density = model.mass_kg / sum(box.volume for box in model.collision)
    parts = [
        Inertia.box(density * box.volume, box.size).transformed(SE3(SO3.identity(), np.array(box.centre)))
        for box in model.collision
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _points(box: Box, support_m: float | None) -> list[tuple[float, float]]:
    """Middles of the cells of an even grid over the bottom, two or more each way: on one line it would roll.

    The fewest are Gauss points: four with the second moments of the whole rectangle.
    """
    if support_m is None:
        xs, ys = (box.low[a] + box.size[a] * (0.5 + np.array([-1.0, 1.0]) / math.sqrt(12.0)) for a in range(2))
    else:
        counts = [max(2, round(box.size[axis] / support_m)) for axis in range(2)]
        xs, ys = (box.low[a] + (np.arange(n) + 0.5) * box.size[a] / n for a, n in enumerate(counts))
    return [(float(x), float(y)) for x in xs for y in ys]


def _box(name: str, box: Box) -> str:
    half = " ".join(repr(0.5 * float(s)) for s in box.size)
    centre = " ".join(repr(float(c)) for c in box.centre)
    return f'<geom name="{name}" type="box" size="{half}" pos="{centre}" mass="0" contype="0" conaffinity="0"/>'


def _pair(name: str, first: str, second: str, friction: float, contact_s: float, *, torsional_m: float = 0.0) -> str:
    return (
        f'<pair name="{name}" geom1="{first}" geom2="{second}" condim="{4 if torsional_m else 3}" '
        f'solref="{contact_s} 1" friction="{friction} {friction} {torsional_m} 0.0001 0.0001"/>'
    )
