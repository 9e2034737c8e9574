"""An MJCF folder read back with plain MuJoCo and compared with the twin."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.outputs.export.cameras import FoundCamera, all_cameras, camera_checks
from gemel.outputs.export.mjcf import SCENE_FILE
from gemel.outputs.export.report import Check
from gemel.outputs.export.rollout import FREE_FLIGHT, IN_CONTACT_M, largest_difference, roll_out, start
from gemel.outputs.export.same_inertia import inertia_checks
from gemel.outputs.export.scene import ExportScene
from gemel.services.sim.mass_properties import nominal_inertia
from gemel.services.sim.mounted_cameras import T_CAMERA_GL, MountedCamera, model_cameras

_ROUNDING = 1e-9
"""Relative difference that text with all digits may leave."""


def verify_mjcf(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """Mass, centre of mass, inertia, limits, friction, looks, cameras, and two rollouts."""
    import mujoco

    there = mujoco.MjModel.from_xml_path(str(folder / SCENE_FILE))
    here = scene.model
    placed = mujoco.MjData(there)
    mujoco.mj_fwdPosition(there, placed)
    return (
        _numbers("names", here, there),
        *inertia_checks((nominal_inertia(here, i), nominal_inertia(there, there.body(here.body(i).name).id))
                        for i in range(1, here.nbody)),
        Check("joint limits", _worst(here, there, ("jnt_range", "jnt_limited", "qpos0")), _ROUNDING, "rad, m"),
        Check("contact friction", _worst(here, there, ("pair_friction", "pair_solref", "pair_dim")), _ROUNDING),
        Check("joints and servos", _worst(here, there, _DRIVE_FIELDS), _ROUNDING, "SI"),
        Check("objects without texture", float(_without_texture(scene, there)), 0.0),
        Check("the robot model's own cameras missing", float(_missing_own_cameras(here, there)), 0.0),
        *camera_checks(scene, all_cameras(scene), partial(_found_camera, placed)),
        *_rollouts(here, there),
    )  # fmt: skip


_DRIVE_FIELDS = (
    "dof_damping", "dof_frictionloss", "dof_armature", "jnt_stiffness", "actuator_gainprm", "actuator_biasprm",
    "actuator_forcerange", "eq_data", "body_gravcomp",
)  # fmt: skip


def _numbers(what: str, here: Any, there: Any) -> Check:
    """Bodies, joints, actuators and contacts that are in one model alone."""
    kinds = (("nbody", "body"), ("njnt", "joint"), ("nu", "actuator"), ("npair", "pair"))
    apart = 0
    for count, kind in kinds:
        ours, theirs = ({getattr(m, kind)(i).name for i in range(getattr(m, count))} for m in (here, there))
        apart += len(ours ^ theirs)
    return Check(f"{what} on one side only", float(apart), 0.0)


def _worst(here: Any, there: Any, fields: tuple[str, ...]) -> float:
    """Largest difference of some fields, relative where numbers are larger than one."""
    worst = 0.0
    for field in fields:
        first, second = (np.asarray(getattr(model, field), dtype=np.float64) for model in (here, there))
        if first.shape != second.shape:
            return float("inf")
        if field.startswith("body_"):  # what the world weighs is written nowhere and means nothing
            first, second = first[1:], second[1:]
        worst = max(worst, float((np.abs(first - second) / np.maximum(1.0, np.abs(first))).max(initial=0.0)))
    return worst


def _without_texture(scene: ExportScene, there: Any) -> int:
    count = 0
    for thing in scene.objects:
        material = int(there.geom_matid[there.geom(f"{thing.name}/looks").id])
        count += material < 0 or not (there.mat_texid[material] >= 0).any()
    return count


def _missing_own_cameras(here: Any, there: Any) -> int:
    """Cameras of the robot's own model that are gone."""
    ours, theirs = ({m.camera(i).name for i in range(m.ncam)} for m in (here, there))
    return len(ours - theirs)


def _found_camera(data: Any, camera: MountedCamera) -> FoundCamera | None:
    """A camera of a model in MuJoCo's data at the start."""
    found = {each.name: each for each in model_cameras(data.model)}
    if camera.name not in found:
        return None
    placed = data.camera(camera.name)
    T_world_gl = SE3(SO3.from_matrix(placed.xmat.reshape(3, 3)), np.array(placed.xpos))
    return FoundCamera(T_world_gl @ T_CAMERA_GL.inverse(), found[camera.name].intrinsics)


def _rollouts(here: Any, there: Any) -> tuple[Check, ...]:
    found = []
    for has_contacts in (False, True):
        state = start(here, has_contacts=has_contacts)
        first, second = (roll_out(m, state, has_contacts=has_contacts, read=lambda d: d.qpos) for m in (here, there))
        found.append(largest_difference(first, second))
    return (
        Check("2 s without contact", found[0], FREE_FLIGHT, "m, rad"),
        Check("2 s with contact", found[1], IN_CONTACT_M, "m, rad"),
    )
