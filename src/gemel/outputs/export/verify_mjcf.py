"""An MJCF folder read back with plain MuJoCo and compared with the twin."""

from pathlib import Path
from typing import Any

import numpy as np

from gemel.outputs.export.mjcf import SCENE_FILE
from gemel.outputs.export.report import Check
from gemel.outputs.export.rollout import largest_difference, roll_out, start
from gemel.outputs.export.scene import ExportScene
from gemel.services.sim.mass_properties import nominal_inertia

_ROUNDING = 1e-9
"""Relative difference that text with all digits may leave."""
_FREE_FLIGHT, _IN_CONTACT_M = 1e-6, 1e-4


def verify_mjcf(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """Mass, centre of mass, inertia, limits, friction, looks, cameras, and two rollouts."""
    import mujoco

    there = mujoco.MjModel.from_xml_path(str(folder / SCENE_FILE))
    here = scene.model
    return (
        _numbers("names", here, there),
        *inertia_checks(here, there, [here.body(i).name for i in range(1, here.nbody)]),
        Check("joint limits", _worst(here, there, ("jnt_range", "jnt_limited", "qpos0")), _ROUNDING, "rad, m"),
        Check("contact friction", _worst(here, there, ("pair_friction", "pair_solref", "pair_dim")), _ROUNDING),
        Check("joints and servos", _worst(here, there, _DRIVE_FIELDS), _ROUNDING, "SI"),
        Check("objects without texture", float(_without_texture(scene, there)), 0.0),
        Check("cameras missing", float(_missing_cameras(scene, there)), 0.0),
        *_rollouts(here, there),
    )


_DRIVE_FIELDS = (
    "dof_damping", "dof_frictionloss", "dof_armature", "jnt_stiffness", "actuator_gainprm", "actuator_biasprm",
    "actuator_forcerange", "eq_data", "body_gravcomp",
)  # fmt: skip


def inertia_checks(here: Any, there: Any, names: list[str]) -> tuple[Check, ...]:
    """Mass, centre of mass and inertia of bodies of the same name in two compiled models."""
    mass, com, inertia = 0.0, 0.0, 0.0
    for name in names:
        first = nominal_inertia(here, here.body(name).id)
        second = nominal_inertia(there, there.body(name).id)
        mass = max(mass, abs(first.mass_kg - second.mass_kg))
        com = max(com, float(np.abs(first.p_BoBcm_B - second.p_BoBcm_B).max()))
        inertia = max(inertia, float(np.abs(first.I_BBcm_B - second.I_BBcm_B).max()))
    return (
        Check("mass", mass, _ROUNDING, "kg"),
        Check("centre of mass", com, _ROUNDING, "m"),
        Check("inertia", inertia, _ROUNDING, "kg·m²"),
    )


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


def _missing_cameras(scene: ExportScene, there: Any) -> int:
    names = {there.camera(i).name for i in range(there.ncam)}
    ours = {scene.model.camera(i).name for i in range(scene.model.ncam)}
    seen = {c.name for c in scene.twin.reconstruction.cameras if c.is_calibrated and c.T_parent_camera is not None}
    return len((ours | seen) - names)


def _rollouts(here: Any, there: Any) -> tuple[Check, ...]:
    found = []
    for has_contacts in (False, True):
        state = start(here, has_contacts=has_contacts)
        first, second = (roll_out(m, state, has_contacts=has_contacts, read=lambda d: d.qpos) for m in (here, there))
        found.append(largest_difference(first, second))
    return (
        Check("2 s without contact", found[0], _FREE_FLIGHT, "m, rad"),
        Check("2 s with contact", found[1], _IN_CONTACT_M, "m, rad"),
    )
