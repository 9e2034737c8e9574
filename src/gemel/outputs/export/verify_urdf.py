"""A URDF folder read back with MuJoCo's URDF reader and compared with the twin, as far as URDF goes.

The robot swings freely for two seconds from its start, beside the twin's robot without what URDF has
no place for (servos, rotor inertia, gravity compensation, tuned limits and couplings). The objects fly, and are
dropped on the table: a scene is put together from the URDFs and `scene.json` alone.
"""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.rollout import FREE_FLIGHT, IN_CONTACT_M, largest_difference, roll_out, start
from gemel.outputs.export.same_files import file_checks
from gemel.outputs.export.same_inertia import inertia_checks
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.urdf import ROBOT_FILE, SCENE_FILE, link_frame, urdf_files
from gemel.outputs.export.verify_urdf_scene import scene_file_checks, shape_checks
from gemel.services.sim.contacts import TABLE
from gemel.services.sim.mass_properties import nominal_inertia

_ROUNDING = 1e-9
_OPTIONS = (
    "timestep", "gravity", "integrator", "solver", "iterations", "tolerance", "ls_iterations", "ls_tolerance", "cone",
    "impratio", "noslip_iterations", "noslip_tolerance", "density", "viscosity", "wind",
)  # fmt: skip
"""How MuJoCo simulates, which no URDF says."""
_SWING_RAD_S, _SLIDE_M_S = 0.5, 0.01
_SINGLE = (2, 3)
"""Codes of mujoco.mjtJoint: slide and hinge."""


def verify_urdf(scene: ExportScene, baked: dict[str, BakedMesh], folder: Path) -> tuple[Check, ...]:
    """Mass, centre of mass, inertia, limits, friction and rollouts of robot and objects; then all files."""
    checks = [*_object_checks(scene, folder)] if scene.objects else []
    if scene.links:
        checks += _robot_checks(scene, folder)
    return (*checks, *scene_file_checks(scene, _tree(folder)), *file_checks(urdf_files(scene, baked), folder))


def _robot_checks(scene: ExportScene, folder: Path) -> list[Check]:
    import mujoco

    there = mujoco.MjModel.from_xml_path(str(folder / ROBOT_FILE))
    here = _without_what_urdf_lacks(scene)
    for option in _OPTIONS:
        setattr(there.opt, option, getattr(here.opt, option))
    names = [there.joint(j).name for j in range(there.njnt) if there.jnt_type[j] in _SINGLE]
    ours = [link.joint.name for link in scene.links if link.joint is not None and link.joint.kind != "free"]
    for name in set(names) & set(ours):  # MuJoCo's softness of limits is taken at the zero pose, which URDF moves
        there.dof_invweight0[there.joint(name).dofadr[0]] = here.dof_invweight0[here.joint(name).dofadr[0]]
    return [
        *shape_checks(scene, there),
        Check("robot joints on one side only", float(len(set(names) ^ set(ours))), 0.0),
        *inertia_checks(
            ((link.inertia.transformed(link_frame(link).inverse()), nominal_inertia(there, there.body(link.name).id))
             for link in scene.links if link.inertia is not None), "robot ",
        ),
        Check("joint limits", _joint_difference(here, there, ours, ("jnt_range", "jnt_limited")), _ROUNDING, "rad, m"),
        Check("joint friction", _dof_difference(here, there, ours), _ROUNDING, "SI"),
        Check("robot, 2 s without contact", _swing(here, there, ours), FREE_FLIGHT, "rad, m"),
    ]  # fmt: skip


def _without_what_urdf_lacks(scene: ExportScene) -> Any:
    """The twin's model with the robot as a URDF reader could know it."""
    import copy

    import mujoco

    model = copy.copy(scene.model)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    model.opt.tolerance = 0.0  # it is relative to all that is in a scene, and the two scenes differ
    model.body_gravcomp[:] = model.dof_armature[:] = model.jnt_stiffness[:] = 0.0
    plain = mujoco.MjSpec()
    body = plain.worldbody.add_body(name="plain")
    body.add_joint(name="plain")
    body.add_geom(size=[0.1, 0.1, 0.1])
    defaults = plain.compile()
    for field in ("jnt_solref", "jnt_solimp", "dof_solref", "dof_solimp", "jnt_margin"):
        getattr(model, field)[:] = getattr(defaults, field)[0]
    for e in range(model.neq):
        model.eq_solref[e], model.eq_solimp[e] = defaults.jnt_solref[0], defaults.jnt_solimp[0]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _joint_difference(here: Any, there: Any, names: list[str], fields: tuple[str, ...]) -> float:
    pairs = [(here.joint(name).id, there.joint(name).id) for name in names]
    return largest(
        *(np.subtract(getattr(here, f)[i], getattr(there, f)[j], dtype=np.float64) for f in fields for i, j in pairs)
    )


def _dof_difference(here: Any, there: Any, names: list[str]) -> float:
    pairs = [(int(here.joint(name).dofadr[0]), int(there.joint(name).dofadr[0])) for name in names]
    fields = ("dof_damping", "dof_frictionloss")
    return largest(float(getattr(here, f)[i] - getattr(there, f)[j]) for f in fields for i, j in pairs)


def _swing(here: Any, there: Any, names: list[str]) -> float:
    """Largest difference of the joints when both swing from where they start."""
    values = {name: float(here.qpos0[here.joint(name).qposadr[0]]) for name in names}
    found = []
    for model in (here, there):
        addresses = [int(model.joint(name).qposadr[0]) for name in names]
        qpos = np.array(model.qpos0)
        qpos[addresses] = [values[name] for name in names]
        qvel = np.zeros(model.nv)
        qvel[[int(model.joint(name).dofadr[0]) for name in names]] = _speeds(here, names)
        state = (qpos, qvel, np.zeros(model.nu))
        found.append(roll_out(model, state, has_contacts=False, read=partial(_positions, addresses)))
    return largest_difference(*found)


def _positions(addresses: Sequence[int] | np.ndarray, data: Any) -> np.ndarray:
    return np.asarray(data.qpos[addresses])


def _speeds(model: Any, names: list[str]) -> list[float]:
    """To start with: a mobile robot without contacts falls as one, and nothing would be seen of its joints."""
    kinds = [int(model.jnt_type[model.joint(name).id]) for name in names]
    return [(-1.0) ** i * (_SWING_RAD_S if kind == _SINGLE[1] else _SLIDE_M_S) for i, kind in enumerate(kinds)]


def _object_checks(scene: ExportScene, folder: Path) -> list[Check]:
    there = _scene_of_objects(folder)
    names = [thing.name for thing in scene.objects]
    here = _twin_of_objects(scene)
    frictions = [abs(_lateral_friction(folder, scene, name)) for name in names]
    inertias = [(nominal_inertia(here, here.body(n).id), nominal_inertia(there, there.body(n).id)) for n in names]
    checks = [*inertia_checks(inertias, "object "), Check("contact friction", largest(frictions), _ROUNDING)]
    for has_contacts, limit in ((False, FREE_FLIGHT), (True, IN_CONTACT_M)):
        found = []
        for model in (here, there):
            addresses = np.concatenate([model.joint(name).qposadr[0] + np.arange(7) for name in names])
            state = start(model, has_contacts=has_contacts)
            found.append(roll_out(model, state, has_contacts=has_contacts, read=partial(_positions, addresses)))
        words = "with" if has_contacts else "without"
        checks.append(Check(f"objects, 2 s {words} contact", largest_difference(*found), limit, "m"))
    return checks


def _twin_of_objects(scene: ExportScene) -> Any:
    """The twin's free objects and table, and nothing else."""
    spec = scene.compiled.spec.copy()
    for body in list(spec.worldbody.bodies):
        if body.name not in scene.compiled.objects:
            spec.delete(body)
    return spec.compile()


def _lateral_friction(folder: Path, scene: ExportScene, name: str) -> float:
    """Difference of the friction in an object's URDF and in the twin."""
    contact = scene.contact(name)
    root = ElementTree.parse(folder / _tree(folder)["objects"][name]["file"]).getroot()
    found = root.find("link/contact/lateral_friction")
    if contact is None or found is None:
        return 0.0 if contact is None and found is None else float("inf")
    return float(found.get("value", "nan")) - contact.friction[0]


def _tree(folder: Path) -> Any:
    return json.loads((folder / SCENE_FILE).read_text(encoding="utf-8"))


def _scene_of_objects(folder: Path) -> Any:
    """Objects and table put together from the written files alone."""
    import mujoco

    tree = _tree(folder)
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = tree["timestep_s"], tree["gravity"]
    spec.option.integrator, spec.option.cone = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    geoms: dict[str, list[str]] = {}
    if tree["table_height_m"] is not None:
        spec.worldbody.add_geom(
            name=TABLE, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2.0, 2.0, 0.1], pos=[0.0, 0.0, tree["table_height_m"]]
        )
        geoms[TABLE] = [TABLE]
    for name, placed in tree["objects"].items():
        geoms[name] = _add_object(spec, name, placed, folder)
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for label, contact in tree["contacts"].items():
        first = next((name for name in geoms if label.startswith(f"{name}-")), "")
        second = label.removeprefix(f"{first}-")
        for i, one in enumerate(geoms.get(first, [])):
            for j, other in enumerate(geoms.get(second, [])):
                spec.add_pair(name=f"{label}/{i}-{j}", geomname1=one, geomname2=other, condim=contact["dimension"],
                              friction=contact["friction"], solref=contact["solref"])  # fmt: skip
    return spec.compile()


def _add_object(spec: Any, name: str, placed: dict[str, Any], folder: Path) -> list[str]:
    """Attach an object's URDF at its place, free to move; names of its geoms that touch."""
    import mujoco

    child = mujoco.MjSpec.from_file(str(folder / placed["file"]))
    pose = SE3(SO3(np.array(placed["quaternion_wxyz"])), np.array(placed["position_m"]))
    touching = [g for g in child.geoms if g.contype or g.conaffinity]
    for number, geom in enumerate(touching):
        geom.name = str(number)
    frame = spec.worldbody.add_frame(pos=pose.translation, quat=pose.rotation.wxyz)
    spec.attach(child, frame=frame, prefix=f"{name}/")
    body = spec.body(f"{name}/{name}")
    body.name = name
    body.add_freejoint(name=name)
    return [f"{name}/{number}" for number in range(len(touching))]
