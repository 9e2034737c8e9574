"""`scene.json` and the shapes of a URDF's links against the compiled model."""

import math
from typing import Any

import numpy as np

from gemel.outputs.export.felt_servo import felt_servo
from gemel.outputs.export.links import Link
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.rollout import largest_difference
from gemel.outputs.export.scene import ExportScene, mesh_in_file_frame
from gemel.outputs.export.urdf import link_frame
from gemel.services.sim.slots import contact_labels

_ROUNDING = 1e-9
_PART = 1e-6
"""Of forces that were found by moving joints a little."""
_MESH_M = 1e-6
_KINDS = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box", 7: "mesh"}
"""Codes of mujoco.mjtGeom."""
_SIZES = {"sphere": 1, "cylinder": 2, "box": 3}
"""How many of MuJoCo's sizes a shape has."""


def scene_file_checks(scene: ExportScene, tree: Any) -> tuple[Check, ...]:
    """What is between the bodies: contacts, servos and where joints start."""
    return (
        Check("contacts in scene.json", _contact_difference(scene.model, tree["contacts"]), _ROUNDING),
        Check("servos in scene.json", _servo_part(scene, tree["servos"]), _PART, "(part)"),
        Check("starts in scene.json", _start_difference(scene, tree["start"]), _ROUNDING, "rad, m"),
    )


def shape_checks(scene: ExportScene, there: Any) -> tuple[Check, ...]:
    """Shapes that touch, of all links, as MuJoCo's URDF reader finds them."""
    return (Check("robot shapes that touch", largest(_shape_difference(there, k) for k in scene.links), _MESH_M, "m"),)


def _contact_difference(model: Any, found: Any) -> float:
    pairs = {label: indices[0] for label, indices in contact_labels(model).items()}
    if pairs.keys() != found.keys():
        return math.inf
    fields = (("friction", "pair_friction"), ("solref", "pair_solref"), ("dimension", "pair_dim"))
    return largest(
        *(np.subtract(found[label][name], getattr(model, field)[i], dtype=np.float64)
          for label, i in pairs.items() for name, field in fields)
    )  # fmt: skip


def _single_joints(scene: ExportScene) -> list[str]:
    return [link.joint.name for link in scene.links if link.joint is not None and link.joint.kind != "free"]


def _servo_part(scene: ExportScene, found: Any) -> float:
    """Relative difference of gains from what joints feel in the model."""
    apart = []
    for name in _single_joints(scene):
        felt = felt_servo(scene.model, name)
        if (felt.gain or felt.damping) and name not in found:
            return math.inf
        values = found.get(name, {"gain": 0.0, "damping": 0.0})
        for ours, theirs in ((felt.gain, values["gain"]), (felt.damping, values["damping"])):
            apart.append((ours - theirs) / ours if ours else theirs)
    return largest(apart)


def _start_difference(scene: ExportScene, found: Any) -> float:
    names = _single_joints(scene)
    if {*names} != {*found}:
        return math.inf
    model = scene.model
    return largest(found[name] - float(model.qpos0[model.joint(name).qposadr[0]]) for name in names)


def _shape_difference(there: Any, link: Link) -> float:
    """Of sizes and places of a link's shapes that touch, in the order in which they are written [m].

    A capsule is a cylinder and two spheres there.
    """
    body, T_link_body = there.body(link.name).id, link_frame(link).inverse()
    wanted = [(kind, size, T_link_body @ at) for kind, size, at in _wanted(link)]
    geoms = [g for g in range(there.ngeom) if there.geom_bodyid[g] == body and there.geom_contype[g]]
    if len(wanted) != len(geoms):
        return math.inf
    apart = []
    for (kind, size, place), g in zip(wanted, geoms, strict=True):
        if _KINDS.get(int(there.geom_type[g])) != kind:
            return math.inf
        count = _SIZES.get(kind, 0)
        if kind == "mesh":  # MuJoCo moves meshes to their centres
            apart.append(largest_difference(mesh_in_file_frame(there, int(there.geom_dataid[g]))[0], size))
        else:
            apart.append(largest(there.geom_size[g, :count] - size[:count], there.geom_pos[g] - place))
    return largest(apart)


def _wanted(link: Link) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Kind, sizes and place in the body of each shape that touches; corners instead of sizes of a mesh."""
    found: list[tuple[str, np.ndarray, np.ndarray]] = []
    for shape in link.shapes:
        at = shape.T_link_shape.translation
        if not shape.is_touching:
            continue
        if shape.kind == "mesh":
            found.append(("mesh", shape.mesh[0], at))
            continue
        found.append(("cylinder" if shape.kind == "capsule" else shape.kind, shape.size, at))
        if shape.kind == "capsule":
            ends = [shape.T_link_shape @ np.array([0.0, 0.0, end]) for end in (shape.size[1], -shape.size[1])]
            found += [("sphere", shape.size, end) for end in ends]
    return found
