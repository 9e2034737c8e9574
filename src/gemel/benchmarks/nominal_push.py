"""The nominal push scene as a user would model it: the task's object on a plane, and a planar pusher.

Built from `services/tasks` alone. The object rests on points spread evenly over its bottom, since a flat bottom does
not stand on its corners; the pusher is a cylinder on two slides that follows the path of the logged tip.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3, SO3, Inertia
from gemel.services.sim.native import SimulatorNative
from gemel.services.tasks.box_union import Box
from gemel.services.tasks.objects import ObjectModel
from gemel.stages.identify.tracked_problem import Scene

_SUPPORT_M = 0.075
"""About the distance of the points that the object rests on [m]."""
_POINT_M = 0.002
_PUSHER_RADIUS_M = 0.010
_KP, _KV, _PUSHER_KG = 1e5, 2e3, 10.0
"""Stiff enough to be where the log says it was."""
_STEP_S = 0.005
_CONTACT_S = 0.01
"""Time constant of contacts, as hard as the step allows [s]: a soft one would let the block lag by a millimetre."""


def nominal_scene(model: ObjectModel, *, threads: int = 0) -> Scene:
    """The scene of one object."""
    compiled = nominal_model(model)
    rest = SE3(SO3.identity(), np.array([0.0, 0.0, model.rest_height]))
    lead_s = {f"robot/{name}/lead": _KV / _KP for name in ("tip_x", "tip_y")}
    return Scene(
        make=lambda count: SimulatorNative(compiled, count, threads=threads),
        object=model.name,
        place=_place,
        T_world_rest=rest,
        fixed=lead_s,
    )


def _place(
    commands: Float[np.ndarray, "n 2"], Ts_world_object: SE3, velocities: Float[np.ndarray, "n 6"]
) -> tuple[Float[np.ndarray, "n 9"], Float[np.ndarray, "n 8"]]:
    """The object first, then the pusher; MuJoCo wants linear velocities along the world's axes."""
    pose = np.concatenate([Ts_world_object.translation, Ts_world_object.rotation.wxyz], axis=1)
    linear = np.einsum("nij,nj->ni", Ts_world_object.rotation.as_matrix(), velocities[:, :3])
    qvel = np.concatenate([linear, velocities[:, 3:], np.zeros((len(commands), 2))], axis=1)
    return np.concatenate([pose, commands], axis=1), qvel


def nominal_model(model: ObjectModel) -> Any:
    """The scene as a `mujoco.MjModel`."""
    import mujoco

    boxes = "".join(_box(f"box{i}", box) for i, box in enumerate(model.collision))
    points = [xy for box in model.collision for xy in _points(box)]
    feet = "".join(
        f'<geom name="foot{i}" type="sphere" size="{_POINT_M}" pos="{x} {y} {_POINT_M - model.rest_height}" mass="0" '
        'contype="0" conaffinity="0"/>'
        for i, (x, y) in enumerate(points)
    )
    pairs = "".join(
        _pair(f"{model.name}-table/{i}", "table", f"foot{i}", 0.5, condim=4, torsional=0.005)
        for i in range(len(points))
    )
    pairs += "".join(_pair(f"{model.name}-pusher/{i}", "pusher", f"box{i}", 0.3) for i in range(len(model.collision)))
    inertia = _inertia(model)
    moments = " ".join(repr(float(inertia.I_BBcm_B[i, j])) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    com = " ".join(repr(float(c)) for c in inertia.p_BoBcm_B)
    slides = "".join(
        f'<joint name="tip_{n}" type="slide" axis="{axis}"/>' for n, axis in (("x", "1 0 0"), ("y", "0 1 0"))
    )
    servos = "".join(f'<position name="tip_{n}" joint="tip_{n}" kp="{_KP}" kv="{_KV}"/>' for n in "xy")
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option timestep="{_STEP_S}" integrator="implicitfast" cone="elliptic" '
        f'impratio="10"/><worldbody><geom name="table" type="plane" size="2 2 0.1" contype="0" conaffinity="0"/>'
        f'<body name="{model.name}" simple="false" pos="0 0 {model.rest_height}"><freejoint/>'
        f'<inertial pos="{com}" mass="{model.mass_kg}" fullinertia="{moments}"/>{boxes}{feet}</body>'
        f'<body name="pusher" pos="0 0 0.08">{slides}<geom name="pusher" type="cylinder" mass="{_PUSHER_KG}" '
        f'contype="0" conaffinity="0" size="{_PUSHER_RADIUS_M} 0.065"/></body></worldbody>'
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


def _points(box: Box) -> list[tuple[float, float]]:
    """Middles of the cells of an even grid over the bottom, two or more each way: on one line it would roll."""
    counts = [max(2, round(box.size[axis] / _SUPPORT_M)) for axis in range(2)]
    xs, ys = (box.low[a] + (np.arange(n) + 0.5) * box.size[a] / n for a, n in enumerate(counts))
    return [(float(x), float(y)) for x in xs for y in ys]


def _box(name: str, box: Box) -> str:
    half = " ".join(repr(0.5 * float(s)) for s in box.size)
    centre = " ".join(repr(float(c)) for c in box.centre)
    return f'<geom name="{name}" type="box" size="{half}" pos="{centre}" mass="0" contype="0" conaffinity="0"/>'


def _pair(name: str, first: str, second: str, friction: float, *, condim: int = 3, torsional: float = 0.0) -> str:
    return (
        f'<pair name="{name}" geom1="{first}" geom2="{second}" condim="{condim}" '
        f'solref="{_CONTACT_S} 1" friction="{friction} {friction} {torsional} 0.0001 0.0001"/>'
    )
