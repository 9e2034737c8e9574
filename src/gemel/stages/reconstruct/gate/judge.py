"""The gate's judgement of fitted objects: each failure names the view or part, the measured value and what to do.

Limits are those that right reconstructions keep by far: outlines overlap by 0.94 to 0.99 and withheld views differ by
20 to 25 dB on recorded scans.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.splatmesh import SplatMesh
from gemel.errors import SourceError
from gemel.geometry import is_watertight, is_winding_consistent, volume
from gemel.services.render.splat_distance import SPLAT_PART, mesh_splat_distance
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.gate.self_intersection import intersecting_faces
from gemel.stages.reconstruct.gate.view_errors import ViewError, median_of, view_errors
from gemel.stages.reconstruct.gate.view_sectors import view_sectors
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations

_IOU = (0.8, 0.9)
"""Median overlap of outlines below which the fit fails, and below which it is doubtful."""
_PSNR_DB = (13.0, 17.0)
"""The same for the difference in withheld views."""
_ODD_DB = 8.0
"""A view that is so much worse than the usual one shows something else there."""
_DISAGREEING = 0.25
"""Part of the views that may be off before it is the views that disagree, not some of them that are bad."""
_CROSSING = 0.05
"""Part of the faces that may pass through others before the mesh is useless."""
_SIZE_M = (0.003, 2.0)
"""Smallest and largest side of something that a robot handles."""
_GAP_DEG = 120.0


def judge(
    fitted: Mapping[str, FittedObject],
    located: Located,
    observations: Observations,
    *,
    is_metric: bool,
    rng: np.random.Generator,
) -> tuple[Finding, ...]:
    """All that is wrong with the objects; empty when nothing is."""
    found: list[Finding] = []
    for name, item in fitted.items():
        middle = 0.5 * (item.mesh.vertices.min(axis=0) + item.mesh.vertices.max(axis=0))
        rows = np.concatenate([item.views.fitted_rows, item.views.withheld_rows]).astype(np.int64)
        sectors = view_sectors(located.Ts_world_camera[rows].translation, middle)
        errors = view_errors(item, located, observations, name)
        found += [*_outlines(name, errors, sectors.advice), *_colours(name, errors, sectors.advice)]
        found += mesh_findings(name, item.mesh, is_metric=is_metric, rng=rng)
        if sectors.widest_gap_deg > _GAP_DEG:
            invented = 1.0 - float(item.mesh.is_seen.mean())
            found.append(Finding(
                "missing-views", Severity.WARNING,
                f"No view of {name!r} within {sectors.widest_gap_deg:.0f} degrees round it; {invented:.0%} of its "
                "vertices are invented.", sectors.advice, stream=name, value=sectors.widest_gap_deg,
            ))  # fmt: skip
    return tuple(found)


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether any of them is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def insist(findings: Sequence[Finding]) -> None:
    """Stop at errors, all of them told together."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not errors:
        return
    told = "".join(f"\n  {e.code} ({e.place}): {e.message}\n    → {e.remedy}" for e in errors)
    raise SourceError(
        f"This log cannot be reconstructed into something to rely on:{told}",
        remedy=f"{errors[0].remedy}; or set `is_gate_strict = false` under [reconstruct] to go on regardless",
    )


def _outlines(name: str, errors: Sequence[ViewError], advice: str) -> list[Finding]:
    bad = [error for error in errors if error.iou < _IOU[0]]
    usual = median_of(errors, "iou")
    if len(bad) > _DISAGREEING * len(errors):
        cameras = ", ".join(sorted({error.camera for error in bad}))
        return [Finding(
            "views-disagree", Severity.ERROR,
            f"{len(bad)} of {len(errors)} views of {name!r} (cameras {cameras}) overlap with its shape by less than "
            f"{_IOU[0]:.0%}: no one shape explains them.",
            "check masks, poses and intrinsics of those cameras; " + advice, stream=cameras, value=usual,
        )]  # fmt: skip
    found = [_of_view("silhouette-mismatch", error, f"{name!r} overlaps with its mask by {error.iou:.0%}.", error.iou,
                      "correct this mask with `gemel prompt`") for error in bad]  # fmt: skip
    if usual < _IOU[1]:
        found.append(Finding(
            "silhouette-mismatch", Severity.ERROR if usual < _IOU[0] else Severity.WARNING,
            f"{name!r} overlaps with its masks by {usual:.0%} in the median view; right ones reach 94 %.",
            "look at its masks with `gemel prompt`; " + advice, value=usual,
        ))  # fmt: skip
    return found


def _colours(name: str, errors: Sequence[ViewError], advice: str) -> list[Finding]:
    withheld = [error for error in errors if error.is_withheld]
    usual, apart = median_of(errors, "psnr_db"), median_of(withheld, "psnr_db")
    found = [_of_view("view-differs", error, f"{name!r} differs from this view by {error.psnr_db:.1f} dB, from the "
                      f"usual one by {usual:.1f} dB: shadow, highlight, or something in front.", error.psnr_db,
                      "look at the picture of this view; leave it out or mask what is in front")
             for error in errors if error.psnr_db < usual - _ODD_DB]  # fmt: skip
    if apart < _PSNR_DB[1]:
        found.append(Finding(
            "withheld-view-error", Severity.ERROR if apart < _PSNR_DB[0] else Severity.WARNING,
            f"Views of {name!r} that the fit did not see differ by {apart:.1f} dB (median of {len(withheld)}); right "
            "ones reach 20 dB.", advice, stream=", ".join(sorted({error.camera for error in withheld})), value=apart,
        ))  # fmt: skip
    return found


def _of_view(code: str, error: ViewError, message: str, value: float, remedy: str) -> Finding:
    return Finding(code, Severity.WARNING, message, remedy, error.episode, error.camera, error.time_s, value)


def mesh_findings(name: str, mesh: SplatMesh, *, is_metric: bool, rng: np.random.Generator) -> list[Finding]:
    """What is wrong with an asset by itself: holes, faces through faces, size, splats off the mesh."""
    found = []
    if not (is_watertight(mesh.vertices, mesh.faces) and is_winding_consistent(mesh.vertices, mesh.faces)):
        found.append(Finding(
            "not-watertight", Severity.ERROR, f"The mesh of {name!r} is not closed.",
            "run it again with other `faces` or `voxels` under [reconstruct]", stream=name,
        ))  # fmt: skip
    elif volume(mesh.vertices, mesh.faces) <= 0.0:
        found.append(Finding(
            "inside-out", Severity.ERROR, f"The mesh of {name!r} encloses no volume.",
            "check masks and camera poses", stream=name,
        ))  # fmt: skip
    crossing = intersecting_faces(mesh.vertices, mesh.faces)
    if len(crossing):
        part = len(crossing) / len(mesh.faces)
        place = mesh.vertices[mesh.faces[crossing]].mean(axis=(0, 1))
        where = ", ".join(f"{1e3 * x:.0f}" for x in place)
        found.append(Finding(
            "self-intersection", Severity.ERROR if part > _CROSSING else Severity.WARNING,
            f"{len(crossing)} of {len(mesh.faces)} faces of {name!r} pass through others, about ({where}) mm.",
            "add views of that place; the surface folded where few views look", stream=name, value=part,
        ))  # fmt: skip
    return [*found, *_size(name, mesh, is_metric), *_splats(name, mesh, rng)]


def _size(name: str, mesh: SplatMesh, is_metric: bool) -> list[Finding]:
    sides = np.ptp(mesh.vertices, axis=0)
    if not is_metric or _SIZE_M[0] <= sides.max() <= _SIZE_M[1]:
        return []
    told = " x ".join(f"{1e3 * side:.3g}" for side in sides)
    return [Finding(
        "implausible-size", Severity.ERROR, f"{name!r} is {told} mm large.",
        "check the units of camera poses and robot model: metres are expected", stream=name, value=float(sides.max()),
    )]  # fmt: skip


def _splats(name: str, mesh: SplatMesh, rng: np.random.Generator) -> list[Finding]:
    distance_m = mesh_splat_distance(mesh, rng)
    part = distance_m / float(np.ptp(mesh.vertices, axis=0).max())
    if part <= SPLAT_PART[1]:
        return []
    return [Finding(
        "mesh-splat-distance", Severity.ERROR if part > SPLAT_PART[0] else Severity.WARNING,
        f"Splats and mesh of {name!r} are {1e3 * distance_m:.2f} mm apart, {part:.1%} of its size.",
        "give the fit more steps or Gaussians under [reconstruct]", stream=name, value=1e3 * distance_m,
    )]  # fmt: skip
