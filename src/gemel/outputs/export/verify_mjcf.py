"""An MJCF folder read back with plain MuJoCo and compared with the twin.

First by meaning with the compiled twin, whose motion it repeats; then every array with the scene as it was before it
became text (`same_model.py`), looks included.
"""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.cameras import FoundCamera, all_cameras, camera_checks
from gemel.outputs.export.mjcf import SCENE_FILE, build_mjcf
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.rollout import FREE_FLIGHT, IN_CONTACT_M, largest_difference, roll_out, start, start_touching
from gemel.outputs.export.same_inertia import inertia_checks
from gemel.outputs.export.same_model import ROUNDING, model_checks
from gemel.outputs.export.scene import ExportScene, mesh_in_file_frame
from gemel.services.sim.looks import looks_name, numerics
from gemel.services.sim.mass_properties import nominal_inertia
from gemel.services.sim.mounted_cameras import T_CAMERA_GL, MountedCamera, model_cameras

_SINGLE_PRECISION_M = 1e-6
_DRIVE_FIELDS = (
    "dof_damping", "dof_frictionloss", "dof_armature", "jnt_stiffness", "actuator_gainprm", "actuator_biasprm",
    "actuator_forcerange", "eq_data", "body_gravcomp",
)  # fmt: skip
_CONTACT_FIELDS = ("pair_friction", "pair_solref", "pair_solimp", "pair_margin", "pair_gap", "pair_dim")


def verify_mjcf(scene: ExportScene, baked: Mapping[str, BakedMesh], folder: Path) -> tuple[Check, ...]:
    """Mass, centre of mass, inertia, limits, friction, looks, cameras, rollouts, and all arrays."""
    import mujoco

    there = mujoco.MjModel.from_xml_path(str(folder / SCENE_FILE))
    here = scene.model
    placed = mujoco.MjData(there)
    mujoco.mj_fwdPosition(there, placed)
    return (
        _numbers("names", here, there),
        *inertia_checks((nominal_inertia(here, i), nominal_inertia(there, there.body(here.body(i).name).id))
                        for i in range(1, here.nbody)),
        Check("joint limits", _worst(here, there, ("jnt_range", "jnt_limited", "qpos0")), ROUNDING, "rad, m"),
        Check("contact friction", _worst(here, there, _CONTACT_FIELDS), ROUNDING),
        Check("joints and servos", _worst(here, there, _DRIVE_FIELDS), ROUNDING, "SI"),
        Check("visible meshes", _looks_difference(scene, there), _SINGLE_PRECISION_M, "m"),
        Check("delays, leads and time offsets", _numeric_difference(scene, there), ROUNDING, "SI"),
        *camera_checks(scene, all_cameras(scene), partial(_found_camera, placed)),
        *_rollouts(scene, there),
        *model_checks(build_mjcf(scene, baked).model, there),
    )  # fmt: skip


def _numbers(what: str, here: Any, there: Any) -> Check:
    """Bodies, joints, actuators, contacts and sensors that are in one model alone."""
    kinds = (("nbody", "body"), ("njnt", "joint"), ("nu", "actuator"), ("npair", "pair"), ("nsensor", "sensor"))
    apart = 0
    for count, kind in kinds:
        ours, theirs = ({getattr(m, kind)(i).name for i in range(getattr(m, count))} for m in (here, there))
        apart += len(ours ^ theirs)
    return Check(f"{what} on one side only", float(apart), 0.0)


def _worst(here: Any, there: Any, fields: tuple[str, ...]) -> float:
    """Largest difference of some fields, relative where numbers are larger than one."""
    found = []
    for field in fields:
        first, second = (np.asarray(getattr(model, field), dtype=np.float64) for model in (here, there))
        if first.shape != second.shape:
            return math.inf
        if field.startswith("body_"):  # what the world weighs is written nowhere and means nothing
            first, second = first[1:], second[1:]
        found.append(largest((first - second) / np.maximum(1.0, np.abs(first))))
    return largest(found)


def _looks_difference(scene: ExportScene, there: Any) -> float:
    """How far corners of visible meshes are from the twin's [m]; infinite without a picture, or where they touch."""
    found = []
    for thing in scene.objects:
        geom = there.geom(looks_name(thing.name))
        material, mesh = int(geom.matid[0]), int(geom.dataid[0])
        has_picture = material >= 0 and bool((there.mat_texid[material] >= 0).any())
        if not has_picture or geom.contype[0] or geom.conaffinity[0]:
            return math.inf
        found.append(largest_difference(mesh_in_file_frame(there, mesh)[0], thing.mesh.vertices))
    return largest(found)


def _numeric_difference(scene: ExportScene, there: Any) -> float:
    """Of what belongs to the twin and MuJoCo does not simulate."""
    wanted = numerics(scene.twin, scene.draw)
    names = {there.numeric(i).name for i in range(there.nnumeric)}
    if not {*wanted} <= names:
        return math.inf
    return largest(float(there.numeric(name).data[0]) - value for name, value in wanted.items())


def _found_camera(data: Any, camera: MountedCamera) -> FoundCamera | None:
    """A camera of a model in MuJoCo's data at the start."""
    found = {each.name: each for each in model_cameras(data.model)}
    if camera.name not in found:
        return None
    placed = data.camera(camera.name)
    T_world_gl = SE3(SO3.from_matrix(placed.xmat.reshape(3, 3)), np.array(placed.xpos))
    return FoundCamera(T_world_gl @ T_CAMERA_GL.inverse(), found[camera.name].intrinsics)


def _rollouts(scene: ExportScene, there: Any) -> tuple[Check, ...]:
    here = scene.model
    starts = {
        "2 s without contact": (start(here, has_contacts=False), False, FREE_FLIGHT),
        "2 s with contact": (start(here, has_contacts=True), True, IN_CONTACT_M),
    }
    touching = start_touching(here, scene.robot_contacts())
    if touching is not None:
        starts["2 s against the robot"] = (touching, True, IN_CONTACT_M)
    found = []
    for what, (state, has_contacts, limit) in starts.items():
        pair = (roll_out(m, state, has_contacts=has_contacts, read=lambda d: d.qpos) for m in (here, there))
        found.append(Check(what, largest_difference(*pair), limit, "m, rad"))
    return tuple(found)
