"""The gate's judgement of a twin: is it something that a simulation can be started from?

What passes is told as well, as notes with the measured values.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, GemelError
from gemel.geometry.solid import solid_complaint
from gemel.services.render.splat_distance import SPLAT_PART, mesh_splat_distance
from gemel.services.sim.compile import CompileConfig, compile_twin
from gemel.services.sim.parameters import ParameterMap
from gemel.stages.assemble.at_rest import rest_findings
from gemel.stages.assemble.bodies import body_findings
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.overlaps import overlap_findings
from gemel.stages.assemble.pieces import corners_of

_GAP_PART = 0.05
"""Gap between touching and visible surface that needs a look, as a part of the object's longest side."""


def check_meshes(reconstruction: Reconstruction) -> None:
    """Stop where a mesh bounds no solid, all of them told together: nothing could be made of it, whatever the gate."""
    bad = [
        Finding("bad-mesh", Severity.ERROR, f"The mesh of {name!r} is no solid: {complaint}.", remedy, stream=name)
        for name, mesh in reconstruction.objects.items()
        for complaint, remedy in [solid_complaint(mesh.vertices, mesh.faces)]
        if complaint
    ]
    if bad:
        raise ConfigError(f"This twin cannot be made:{_told(bad)}", remedy=bad[0].remedy)


def judge(
    twin: Twin,
    blobs: Blobs,
    config: AssembleConfig,
    *,
    home: Float[np.ndarray, " joint"] | None,
    rng: np.random.Generator,
) -> tuple[Finding, ...]:
    """All that is wrong with a twin. Objects are watched at rest without the robot, which starts at `home`.

    `home` are logged joint positions; None where nobody knows where the robot waits, then it is as its model has it.
    """
    found = [*_shapes(twin, blobs), *_splats(twin, rng)]
    try:
        whole = compile_twin(twin, blobs, draw={})
    except GemelError as error:
        return (*found, Finding("does-not-compile", Severity.ERROR, error.problem, error.remedy))
    try:
        ParameterMap(whole.model).settings(twin.belief.names, twin.belief.samples)
    except GemelError as error:
        return (*found, Finding("unphysical-parameters", Severity.ERROR, error.problem, error.remedy))
    scene = compile_twin(twin, blobs, config=CompileConfig(is_robot_included=False))
    found += [*body_findings(twin, blobs, scene, config.density_kg_m3), *overlap_findings(whole, scene, home)]
    if not any(finding.severity is Severity.ERROR for finding in found):
        found += rest_findings(twin, blobs, scene, config)
    return tuple(found)


def insist(findings: Sequence[Finding]) -> None:
    """Stop at errors, all of them told together."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        raise ConfigError(
            f"This twin cannot be simulated:{_told(errors)}",
            remedy=f"{errors[0].remedy}; or set `is_gate_strict = false` under [assemble] to go on regardless",
        )


def _told(errors: Sequence[Finding]) -> str:
    return "".join(f"\n  {e.code} ({e.place}): {e.message}\n    → {e.remedy}" for e in errors)


def _shapes(twin: Twin, blobs: Blobs) -> Iterator[Finding]:
    for name, gap_m in twin.collider_gaps_m.items():
        size = float(np.ptp(corners_of(twin, blobs, name), axis=0).max())
        is_wide = gap_m > _GAP_PART * size
        yield Finding(
            "collider-gap", Severity.WARNING if is_wide else Severity.NOTE,
            f"{name!r} touches with {len(twin.colliders[name])} convex pieces; their surface is within "
            f"{1e3 * gap_m:.1f} mm of the visible one.",
            "lower `concavity` under [assemble] for a closer fit" + ("" if is_wide else ", if that matters"),
            stream=name, value=1e3 * gap_m,
        )  # fmt: skip


def _splats(twin: Twin, rng: np.random.Generator) -> Iterator[Finding]:
    """How far what is seen is from the mesh that was cut into pieces; nothing of objects without looks."""
    for name, mesh in twin.reconstruction.objects.items():
        if not len(mesh.face_from_gaussian):
            continue
        distance_m = mesh_splat_distance(mesh, rng)
        part = distance_m / float(np.ptp(mesh.vertices, axis=0).max())
        is_bad, is_doubtful = (part > limit for limit in SPLAT_PART)
        yield Finding(
            "mesh-splat-distance",
            Severity.ERROR if is_bad else Severity.WARNING if is_doubtful else Severity.NOTE,
            f"Splats and mesh of {name!r} are {1e3 * distance_m:.2f} mm apart, {part:.1%} of its size.",
            "give the fit more steps or Gaussians under [reconstruct]" if is_doubtful else "nothing to do",
            stream=name, value=1e3 * distance_m,
        )  # fmt: skip
