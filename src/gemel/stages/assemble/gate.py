"""The gate's judgement of a twin: is it something that a simulation can be started from?"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, GemelError
from gemel.geometry import SE3
from gemel.services.sim.compile import CompileConfig, CompiledTwin, compile_twin
from gemel.services.sim.contacts import TABLE
from gemel.services.sim.mass_properties import nominal_inertia
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.parameters import ParameterMap
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.hull import is_inside

_OVERLAP_M = 0.001
_DENSITY_KG_M3 = (20.0, 23000.0)
"""From foam to osmium."""
_GAP_PART = 0.05
"""Gap between touching and visible surface that needs a look, as a part of the object's longest side."""


def judge(
    twin: Twin, blobs: Blobs, config: AssembleConfig, *, home: Float[np.ndarray, " joint"] | None
) -> tuple[Finding, ...]:
    """All that is wrong with a twin. Objects are watched at rest without the robot, which starts at `home`.

    `home` are logged joint positions; None where nobody knows where the robot waits, then it is as its model has it.
    """
    found = [*_shapes(twin, blobs)]
    try:
        whole = compile_twin(twin, blobs, draw={})
    except GemelError as error:
        return (*found, Finding("does-not-compile", Severity.ERROR, error.problem, error.remedy))
    try:
        ParameterMap(whole.model).settings(twin.belief.names, twin.belief.samples)
    except GemelError as error:
        return (*found, Finding("unphysical-parameters", Severity.ERROR, error.problem, error.remedy))
    scene = compile_twin(twin, blobs, config=CompileConfig(is_robot_included=False))
    found += [*_masses(twin, blobs, scene, config.density_kg_m3), *_overlaps(scene)]
    if not any(finding.severity is Severity.ERROR for finding in found):
        found += _drifts(twin, blobs, scene, config)
    if twin.robot is not None:
        found += _robot_overlaps(whole, scene, home)
    return tuple(found)


def insist(findings: Sequence[Finding]) -> None:
    """Stop at errors, all of them told together."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        told = "".join(f"\n  {e.code} ({e.place}): {e.message}\n    → {e.remedy}" for e in errors)
        raise ConfigError(
            f"This twin cannot be simulated:{told}",
            remedy=f"{errors[0].remedy}; or set `is_gate_strict = false` under [assemble] to go on regardless",
        )


def _shapes(twin: Twin, blobs: Blobs) -> Iterator[Finding]:
    for name, gap_m in twin.collider_gaps_m.items():
        points = _points(twin, blobs, name)
        size = float(np.ptp(points, axis=0).max())
        is_wide = gap_m > _GAP_PART * size
        yield Finding(
            "collider-gap", Severity.WARNING if is_wide else Severity.NOTE,
            f"{name!r} touches with {len(twin.colliders[name])} convex pieces; their surface is within "
            f"{1e3 * gap_m:.1f} mm of the visible one.",
            "lower `concavity` under [assemble] for a closer fit" + ("" if is_wide else ", if that matters"),
            stream=name, value=1e3 * gap_m,
        )  # fmt: skip


def _masses(twin: Twin, blobs: Blobs, scene: CompiledTwin, density_kg_m3: float) -> Iterator[Finding]:
    """Mass for the volume, and a centre of mass inside the object, at the belief's mean."""
    for name in scene.objects:
        inertia = nominal_inertia(scene.model, scene.model.body(name).id)
        uniform = twin.inertias[name]
        density = inertia.mass_kg / uniform.mass_kg * density_kg_m3
        if not _DENSITY_KG_M3[0] <= density <= _DENSITY_KG_M3[1]:
            yield Finding(
                "implausible-mass", Severity.ERROR,
                f"{name!r} has {inertia.mass_kg:.3g} kg, {density:.3g} kg/m³ of its volume; nothing a robot handles is "
                f"outside {_DENSITY_KG_M3[0]:g} to {_DENSITY_KG_M3[1]:g}.",
                "check the unit of the mass and the scale of the reconstruction", stream=name, value=density,
            )  # fmt: skip
        if not is_inside(inertia.p_BoBcm_B[None], _points(twin, blobs, name))[0]:
            off_mm = 1e3 * float(np.linalg.norm(inertia.p_BoBcm_B - uniform.p_BoBcm_B))
            yield Finding(
                "centre-outside", Severity.ERROR,
                f"The centre of mass of {name!r} lies outside it, {off_mm:.0f} mm from where uniform density has it.",
                "check the frame in which it is given: its origin is the middle of the object's bounding box",
                stream=name, value=off_mm,
            )  # fmt: skip


def _overlaps(scene: CompiledTwin) -> Iterator[Finding]:
    """Pairs that start inside each other."""
    for (first, second), depth_m in _depths(scene.model, scene.qpos(None)[0]).items():
        if depth_m > _OVERLAP_M:
            yield Finding(
                "initial-penetration", Severity.ERROR,
                f"{first}-{second} start {1e3 * depth_m:.1f} mm inside each other; the solver would throw them apart.",
                "check the placements of the reconstruction and the table's height", stream=f"{first}-{second}",
                value=1e3 * depth_m,
            )  # fmt: skip


def _robot_overlaps(
    whole: CompiledTwin, scene: CompiledTwin, home: Float[np.ndarray, " joint"] | None
) -> Iterator[Finding]:
    """Links that start inside the table or an object; what links do to each other is the robot model's own affair."""
    others = {scene.model.body(i).name for i in range(1, scene.model.nbody)} | {TABLE}
    start = whole.qpos(home[None] if home is not None and whole.joints else None)[0]
    for pair, depth_m in _depths(whole.model, start).items():
        links = [name for name in pair if name not in others]
        if len(links) == 1 and depth_m > _OVERLAP_M:
            (thing,) = (name for name in pair if name in others)
            where = "as its model has it" if home is None else "where its trials start"
            yield Finding(
                "initial-penetration", Severity.ERROR,
                f"With the robot {where}, its link {links[0]!r} starts {1e3 * depth_m:.1f} mm inside {thing!r}; the "
                "solver would throw them apart.",
                "check the robot's calibration and the placements of the reconstruction; start trials with the arm "
                "clear of table and objects", stream=f"{links[0]}-{thing}", value=1e3 * depth_m,
            )  # fmt: skip


def _depths(model: Any, qpos: Float[np.ndarray, " nq"]) -> dict[tuple[str, str], float]:
    """How deep the pairs that touch are inside each other [m], by the names of the bodies; the table has its own."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    deepest: dict[tuple[str, str], float] = {}
    for contact in data.contact:
        first, second = (_part(model, int(geom)) for geom in sorted(contact.geom, reverse=True))
        deepest[first, second] = max(deepest.get((first, second), 0.0), -float(contact.dist))
    return deepest


def _part(model: Any, geom: int) -> str:
    """The body of a geom; the geom itself where it stands still."""
    body = int(model.geom_bodyid[geom])
    return str(model.body(body).name if body else model.geom(geom).name.split("/")[0])


def _drifts(twin: Twin, blobs: Blobs, scene: CompiledTwin, config: AssembleConfig) -> Iterator[Finding]:
    """Objects that do not stay where they were seen lying."""
    simulator = SimulatorNative(scene.model, 1, threads=1)
    start = scene.qpos(None)
    simulator.reset(start)
    steps = round(config.settle_s / simulator.timestep_s)
    end = simulator.rollout(np.zeros((1, 1, scene.model.nu)), every=steps)
    for name in scene.objects:
        points = _points(twin, blobs, name)
        before, after = (simulator.body_poses(name, qpos) for qpos in (start[0], end.qpos[0, -1]))
        moved_m = _farthest(points, before, after) if not end.is_diverged[0] else float("inf")
        if moved_m > config.drift_m:
            yield Finding(
                "does-not-rest", Severity.ERROR,
                f"{name!r} was seen at rest but moves {1e3 * moved_m:.1f} mm in {config.settle_s:g} s when it is let "
                f"go; at most {1e3 * config.drift_m:g} mm were expected.",
                "look at its bottom in the reconstruction; raise `flat_m` under [assemble] for a noisier one, or scan "
                "it lying on another side", stream=name, value=1e3 * moved_m,
            )  # fmt: skip


def _farthest(points: np.ndarray, before: SE3, after: SE3) -> float:
    """How far the point that moves most moves [m]."""
    return float(np.linalg.norm((after @ points) - (before @ points), axis=1).max())


def _points(twin: Twin, blobs: Blobs, name: str) -> np.ndarray:
    """Corners of all pieces of an object, in its frame."""
    return np.concatenate([np.asarray(blobs.get_table(piece)["vertices"]) for piece in twin.colliders[name]])
