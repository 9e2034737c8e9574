"""Whether what is believed of masses fits the shapes: at the belief's mean and over its draws.

A body inside a hull has its centre of mass in it, and along any direction its mass spreads no wider than half of it at
either end: the second moment about the centre is at most a quarter of the squared extent (Popoviciu 1935).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.twin import Twin
from gemel.geometry import SO3, Inertia
from gemel.services.sim.compile import CompiledTwin
from gemel.services.sim.parameters import ParameterMap
from gemel.stages.assemble.hull import is_inside
from gemel.stages.assemble.pieces import corners_of

_DENSITY_KG_M3 = (20.0, 23000.0)
"""From foam to osmium."""
_MOST_PART = 0.03
"""Part of the draws that may be out of bounds before the belief is wrong; tails of a fit reach a little beyond."""
_SPREAD_SLACK = 1.05
"""Contact pieces are some per cent off the shape."""
_FIELDS = ("body_mass", "body_ipos", "body_inertia", "body_iquat")


@dataclass(frozen=True, eq=False)
class _Bodies:
    """One object at the belief's mean, row 0, and in each of its draws, if it says anything of the object."""

    mass_kg: Float[np.ndarray, " n"]
    p_BoBcm_B: Float[np.ndarray, "n 3"]
    moments: Float[np.ndarray, "n 3"]
    """Principal moments of inertia [kg·m²]."""
    wxyz: Float[np.ndarray, "n 4"]
    """Principal axes in the body's frame."""


def body_findings(twin: Twin, blobs: Blobs, scene: CompiledTwin, density_kg_m3: float) -> Iterator[Finding]:
    """Objects too light or heavy for their volume, with a centre of mass outside, or with mass spread too wide."""
    for name in scene.objects:
        bodies, points, uniform = _bodies(scene, twin.belief, name), corners_of(twin, blobs, name), twin.inertias[name]
        weights = twin.belief.weights
        yield from _mass(name, bodies, weights, uniform.mass_kg / density_kg_m3)
        yield from _centre(name, bodies, weights, points, uniform)
        yield from _spread(name, bodies, weights, points)


def _bodies(scene: CompiledTwin, belief: Belief, name: str) -> _Bodies:
    parameters, body = ParameterMap(scene.model), int(scene.model.body(name).id)
    names = [parameter for parameter in belief.names if parameter.startswith(f"object/{name}/")]
    drawn = parameters.settings(names, belief.only(names).samples).fields if names else {}
    rows = []
    for field in _FIELDS:
        mean = np.asarray(getattr(scene.model, field))[None, body]
        rows.append(np.concatenate([mean, drawn[field][:, body]]) if field in drawn else mean)
    return _Bodies(*rows)


def _mass(name: str, bodies: _Bodies, weights: np.ndarray, volume_m3: float) -> Iterator[Finding]:
    density = bodies.mass_kg / volume_m3
    is_bad = (density < _DENSITY_KG_M3[0]) | (density > _DENSITY_KG_M3[1])
    if not is_bad.any():
        return
    severity, where = _judged(is_bad, weights)
    shown = int(np.argmax(is_bad))
    yield Finding(
        "implausible-mass", severity,
        f"{name!r} has {bodies.mass_kg[shown]:.3g} kg{where}, {density[shown]:.3g} kg/m³ of its volume; nothing a "
        f"robot handles is outside {_DENSITY_KG_M3[0]:g} to {_DENSITY_KG_M3[1]:g}.",
        "check the unit of the mass and the scale of the reconstruction", stream=name, value=float(density[shown]),
    )  # fmt: skip


def _centre(name: str, bodies: _Bodies, weights: np.ndarray, points: np.ndarray, uniform: Inertia) -> Iterator[Finding]:
    is_bad = ~is_inside(bodies.p_BoBcm_B, points)
    if not is_bad.any():
        return
    severity, where = _judged(is_bad, weights)
    off_mm = 1e3 * np.linalg.norm(bodies.p_BoBcm_B - uniform.p_BoBcm_B, axis=1)
    shown = 0 if is_bad[0] else int(np.argmax(np.where(is_bad, off_mm, 0.0)))
    yield Finding(
        "centre-outside", severity,
        f"The centre of mass of {name!r} lies outside it{where}, {off_mm[shown]:.0f} mm from where uniform density has "
        "it.", "check the frame in which it is given: its origin is the middle of the object's bounding box",
        stream=name, value=float(off_mm[shown]),
    )  # fmt: skip


def _spread(name: str, bodies: _Bodies, weights: np.ndarray, points: np.ndarray) -> Iterator[Finding]:
    """Second moments against extents along the principal axes, and along x, y, z: equal moments have no axes."""
    R = SO3(bodies.wxyz).as_matrix()  # (n, 3, 3), a principal axis in each column
    seconds = (0.5 * bodies.moments.sum(axis=1, keepdims=True) - bodies.moments) / bodies.mass_kg[:, None]
    ways = np.concatenate([R, np.broadcast_to(np.eye(3), R.shape)], axis=2)  # (n, 3, 6)
    along = np.einsum("nji,nj->ni", np.einsum("nji,njk->nik", R, ways) ** 2, seconds)  # (n, 6)
    extents = np.ptp(np.einsum("kj,nji->nki", points, ways), axis=1)
    ratio = np.sqrt(np.maximum(along, 0.0) / (0.25 * extents**2)).max(axis=1)
    is_bad = ratio > _SPREAD_SLACK
    if not is_bad.any():
        return
    severity, where = _judged(is_bad, weights)
    shown = 0 if is_bad[0] else int(np.argmax(ratio))
    yield Finding(
        "implausible-inertia", severity,
        f"The inertia of {name!r} is that of a body {ratio[shown]:.3g} times as wide{where}: no mass inside the object "
        "could have it.", "check its unit, kg·m², and that it is about the centre of mass along the object's axes",
        stream=name, value=float(ratio[shown]),
    )  # fmt: skip


def _judged(is_bad: Bool[np.ndarray, " n"], weights: Float[np.ndarray, " sample"]) -> tuple[Severity, str]:
    """How much it matters that the mean (row 0) or draws are out of bounds, and where that is, in words."""
    if is_bad[0]:
        return Severity.ERROR, ""
    part = float(weights @ is_bad[1:])
    return Severity.ERROR if part > _MOST_PART else Severity.NOTE, f" in {100.0 * part:.2g} % of the belief's draws"
