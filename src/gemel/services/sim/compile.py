"""A twin and a draw of its belief, compiled for MuJoCo.

Physics steps are at most 4 ms and divide the task's control period. The integrator is `implicitfast`: servos with much
damping stay stable, at the price of an Euler step. Friction cones are elliptic with `impratio` 10, so that what rests
does not creep; scenes with a gripper get iterations against slip besides. The table is a plane; parts
of the robot that are always below it stand on a floor of their own (`floor.py`).
"""

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, MissingExtraError
from gemel.geometry import SE3, Inertia
from gemel.services.sim.articulated import add_articulated
from gemel.services.sim.contacts import TABLE, Part, add_contact, add_force_sensor, robot_parts, touching
from gemel.services.sim.floor import add_plane, move_to_floor
from gemel.services.sim.looks import add_looks
from gemel.services.sim.parameters import ParameterMap
from gemel.services.sim.robot_spec import calibrated_robot
from gemel.services.sim.scene_names import check_contact_names, check_object_names
from gemel.services.sim.set_apart import set_apart
from gemel.services.sim.slots import resting_commands

Draw = Mapping[str, float]


@dataclass(frozen=True)
class CompileConfig:
    """How a twin is compiled."""

    longest_step_s: float = 0.004
    """Upper bound of a physics step [s]."""
    has_force_sensors: bool = True
    """Whether forces of contacts can be read; costs about two per cent."""
    is_robot_included: bool = True
    """Whether the robot is part of the scene."""
    has_looks: bool = False
    """Whether visible meshes, light, cameras and custom numbers are part of it (`looks.py`); motion needs none."""


@dataclass(frozen=True, eq=False)
class CompiledTwin:
    """A scene for MuJoCo."""

    spec: Any
    """`mujoco.MjSpec` with the values of the draw: what exports write."""
    model: Any
    """`mujoco.MjModel`; what a simulator takes."""
    objects: tuple[str, ...]
    joints: tuple[str, ...]
    """The model's joint of each logged joint."""

    def qpos(
        self, joint_positions: Float[np.ndarray, "n joint"] | None, poses: Mapping[str, SE3] | None = None
    ) -> Float[np.ndarray, "n nq"]:
        """States from logged joint positions (n, joint) and `T_world_object`, single or batch (n,), by object.

        What is not given is as compiled; joints that follow others are set by their leaders.
        """
        poses = poses or {}
        batches = [pose.batch_shape[0] for pose in poses.values() if pose.batch_shape]
        count = len(joint_positions) if joint_positions is not None else max(batches, default=1)
        qpos = np.repeat(self.model.qpos0[None], count, axis=0)
        if joint_positions is not None:
            for column, name in enumerate(self.joints):
                if name:
                    qpos[:, self.model.joint(name).qposadr[0]] = joint_positions[:, column]
            _couple(self.model, qpos)
        for name, pose in poses.items():
            start = self.model.joint(name).qposadr[0]
            qpos[:, start : start + 3] = pose.translation
            qpos[:, start + 3 : start + 7] = pose.rotation.wxyz
        return qpos

    def state(
        self,
        joint_positions: Float[np.ndarray, "n joint"],
        poses: Mapping[str, SE3],
        velocities: Mapping[str, Float[np.ndarray, "n 6"]] | None = None,
    ) -> tuple[Float[np.ndarray, "n nq"], Float[np.ndarray, "n nv"]]:
        """Positions and velocities to start from; what is in the robot's way is moved aside (`set_apart.py`).

        Velocities of objects are those of their origins and about them, along the objects' own axes [m/s, rad/s].
        """
        qpos = set_apart(self.model, self.qpos(joint_positions if self.joints else None, poses), tuple(poses))
        qvel = np.zeros((len(qpos), self.model.nv))
        for name, velocity in (velocities or {}).items():
            start = int(self.model.joint(name).dofadr[0])
            # MuJoCo wants linear velocities along the world's axes.
            qvel[:, start : start + 3] = np.einsum(
                "...ij,...j->...i", poses[name].rotation.as_matrix(), velocity[:, :3]
            )
            qvel[:, start + 3 : start + 6] = velocity[:, 3:]
        return qpos, qvel

    def commands(self, joint_positions: Float[np.ndarray, "*n joint"]) -> Float[np.ndarray, "*n control"]:
        """What position servos are told; joints that are not logged stay where the model has them."""
        positions = joint_positions.reshape(math.prod(joint_positions.shape[:-1]), joint_positions.shape[-1])
        qpos = self.qpos(positions if self.joints else None)
        commands = resting_commands(self.model, qpos)
        return commands.reshape(*joint_positions.shape[:-1], self.model.nu)


def compile_twin(
    twin: Twin, blobs: Blobs, draw: Draw | None = None, config: CompileConfig | None = None
) -> CompiledTwin:
    """The scene with the values of one draw, by parameter name; without one, with the belief's weighted mean.

    Delay, backlash and lead of drives are no part of a model: a simulator applies them (`set_parameters`). With looks
    they are custom numbers of it, for other programs to read.
    """
    try:
        import mujoco
    except ModuleNotFoundError:
        raise MissingExtraError("mujoco", extra="sim", needed_for="Simulating a twin") from None
    config = config or CompileConfig()
    draw = mean_draw(twin) if draw is None else draw
    has_robot = twin.robot is not None and config.is_robot_included
    spec, robot = _robot(twin, blobs) if has_robot else (mujoco.MjSpec(), ())
    check_object_names([*twin.colliders, *twin.reconstruction.articulated], robot, spec)
    objects = [_add_object(spec, twin, blobs, name) for name in twin.colliders]
    fixtures = [
        add_articulated(spec, name, thing, twin.reconstruction.placements.get(name, SE3.identity()), blobs)
        for name, thing in twin.reconstruction.articulated.items()
    ]
    table = add_plane(spec, TABLE, twin.table_height_m) if twin.table_height_m is not None else None
    _set_options(spec, twin, config, has_gripper=any(part.is_gripper for part in robot))
    pairs = list(touching(objects, fixtures, robot, table))
    check_contact_names(pairs)
    for first, second in pairs:
        add_contact(spec, first, second, dimension=_dimension({*twin.belief.names, *draw}, first, second))
        if config.has_force_sensors:
            add_force_sensor(spec, first, second)
    if config.has_looks:
        add_looks(spec, twin, draw)
    model = _compiled(spec)
    if twin.table_height_m is not None and move_to_floor(spec, model, robot, twin.table_height_m):
        model = _compiled(spec)
    _write(spec, model, draw, is_partial=not config.is_robot_included)
    return CompiledTwin(spec, model, tuple(twin.colliders), twin.joints if has_robot else ())


def mean_draw(twin: Twin) -> Draw:
    """The belief's mean."""
    return dict(zip(twin.belief.names, twin.belief.mean.tolist(), strict=True))


def _robot(twin: Twin, blobs: Blobs) -> tuple[Any, tuple[Part, ...]]:
    assert twin.robot is not None
    seen = twin.reconstruction
    offsets = seen.joint_offsets if twin.joints else np.zeros(0)
    spec = calibrated_robot(twin.robot, blobs, Ts_world_base=seen.Ts_world_base, joints=twin.joints, offsets=offsets)
    return spec, robot_parts(spec)


def _add_object(spec: Any, twin: Twin, blobs: Blobs, name: str) -> Part:
    import mujoco

    pose, inertia = twin.initial_poses[name], _inertia(twin, name)
    tensor = inertia.I_BBcm_B
    body = spec.worldbody.add_body(
        name=name,
        pos=pose.translation,
        quat=pose.rotation.wxyz,
        explicitinertial=True,
        mass=inertia.mass_kg,
        ipos=inertia.p_BoBcm_B,
        fullinertia=[*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]],
        simple=0,  # or MuJoCo would ignore a centre of mass that moves
    )
    body.add_freejoint(name=name)
    geoms = []
    for i, piece in enumerate(twin.colliders[name]):
        geom = f"{name}/{i}"
        vertices = np.asarray(blobs.get_table(piece)["vertices"], dtype=float)
        spec.add_mesh(name=geom, uservert=vertices.ravel(), scale=[1.0, 1.0, 1.0])
        body.add_geom(
            name=geom, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=geom, contype=0, conaffinity=0, mass=0.0
        )  # fmt: skip
        geoms.append(geom)
    return Part(name, tuple(geoms), body=name)


def _inertia(twin: Twin, name: str) -> Inertia:
    if name not in twin.inertias:
        raise ConfigError(
            f"The twin has no mass properties for {name!r}; it has them for {sorted(twin.inertias)}.",
            remedy="assemble the twin again with `gemel run DIR --from assemble`",
        )
    return twin.inertias[name]


def _set_options(spec: Any, twin: Twin, config: CompileConfig, *, has_gripper: bool) -> None:
    import mujoco

    period_s = twin.task.control_period_s if twin.task is not None else config.longest_step_s
    spec.option.timestep = period_s / math.ceil(period_s / config.longest_step_s - 1e-9)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    spec.option.noslip_iterations = 3 if has_gripper else 0


def _dimension(names: Set[str], first: Part, second: Part) -> int:
    """How many kinds of friction a contact needs: those that are believed in, and turning in a grip."""
    labels = (f"contact/{first.label}-{second.label}", f"contact/{second.label}-{first.label}")
    if any(f"{label}/rolling" in names for label in labels):
        return 6
    return 4 if first.is_gripper or second.is_gripper or any(f"{label}/torsional" in names for label in labels) else 3


def _compiled(spec: Any) -> Any:
    import mujoco

    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ConfigError(
            f"The twin does not compile: {' '.join(str(error).split())}.",
            remedy="check the colliders of the object that is named, or the robot model in MuJoCo's viewer",
        ) from error


def _write(spec: Any, model: Any, draw: Draw, *, is_partial: bool) -> None:
    """Put the values of a draw into the model and into the description."""
    import mujoco

    parameters = ParameterMap(model)
    names = [name for name in draw if not is_partial or parameters.has(name)]
    if not names:
        return
    for field, rows in parameters.settings(names, np.array([[draw[name] for name in names]])).fields.items():
        owner, part = (model.opt, field[4:]) if field.startswith("opt.") else (model, field)
        getattr(owner, part)[...] = rows[0]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    spec.copy_back(model)


def _couple(model: Any, qpos: np.ndarray) -> None:
    """Set joints that follow others, such as the second finger of a gripper."""
    for follower, leader, coefficients in _couplings(model):
        travel = qpos[:, leader] - model.qpos0[leader]
        qpos[:, follower] = model.qpos0[follower] + sum(c * travel**k for k, c in enumerate(coefficients))


def _couplings(model: Any) -> Iterator[tuple[int, int, np.ndarray]]:
    for e in range(model.neq):
        first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if model.eq_type[e] == 2 and model.eq_active0[e] and second >= 0:  # mujoco.mjtEq: joints
            yield int(model.jnt_qposadr[first]), int(model.jnt_qposadr[second]), np.array(model.eq_data[e, :5])
