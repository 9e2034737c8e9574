"""What starts inside something else: objects and table among themselves, and the robot in both."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.finding import Finding, Severity
from gemel.services.sim.compile import CompiledTwin
from gemel.services.sim.contacts import TABLE

_OVERLAP_M = 0.001
Depths = dict[tuple[str, str], float]
"""How deep pairs that touch are inside each other [m], by the names of their bodies; the table has its own."""


def overlap_findings(
    whole: CompiledTwin, scene: CompiledTwin, home: Float[np.ndarray, " joint"] | None
) -> Iterator[Finding]:
    """Pairs that start too deep in each other, else how deep the deepest is. `scene` is `whole` without the robot.

    What links do to each other is the robot model's own affair.
    """
    things = _depths(scene.model, scene.qpos(None)[0])
    links = _link_depths(whole, scene, home) if whole.model.nbody > scene.model.nbody else {}
    bad = [*_things(things), *_links(links, is_home_known=home is not None)]
    yield from bad
    if not bad:
        (pair, depth_m) = max((things | links).items(), key=lambda item: item[1], default=(("", ""), 0.0))
        which = f" ({'-'.join(pair)})" if depth_m > 0.0 else ""
        yield Finding(
            "deepest-overlap", Severity.NOTE,
            f"Nothing starts deeper than {1e3 * depth_m:.2g} mm inside something else{which}; at most "
            f"{1e3 * _OVERLAP_M:g} mm are taken.", "nothing to do", stream="-".join(pair).strip("-"),
            value=1e3 * depth_m,
        )  # fmt: skip


def _things(depths: Depths) -> Iterator[Finding]:
    for (first, second), depth_m in depths.items():
        if depth_m > _OVERLAP_M:
            yield Finding(
                "initial-penetration", Severity.ERROR,
                f"{first}-{second} start {1e3 * depth_m:.1f} mm inside each other; the solver would throw them apart.",
                "check the placements of the reconstruction and the table's height", stream=f"{first}-{second}",
                value=1e3 * depth_m,
            )  # fmt: skip


def _links(depths: Depths, *, is_home_known: bool) -> Iterator[Finding]:
    where = "where its trials start" if is_home_known else "as its model has it"
    for (link, thing), depth_m in depths.items():
        if depth_m > _OVERLAP_M:
            yield Finding(
                "initial-penetration", Severity.ERROR,
                f"With the robot {where}, its link {link!r} starts {1e3 * depth_m:.1f} mm inside {thing!r}; the "
                "solver would throw them apart.",
                "check the robot's calibration and the placements of the reconstruction; start trials with the arm "
                "clear of table and objects", stream=f"{link}-{thing}", value=1e3 * depth_m,
            )  # fmt: skip


def _link_depths(whole: CompiledTwin, scene: CompiledTwin, home: Float[np.ndarray, " joint"] | None) -> Depths:
    """Links in the table or an object, the link first."""
    others = {scene.model.body(i).name for i in range(1, scene.model.nbody)} | {TABLE}
    start = whole.qpos(home[None] if home is not None and whole.joints else None)[0]
    found: Depths = {}
    for (first, second), depth_m in _depths(whole.model, start).items():
        if (first in others) != (second in others):
            found[(second, first) if first in others else (first, second)] = depth_m
    return found


def _depths(model: Any, qpos: Float[np.ndarray, " nq"]) -> Depths:
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    deepest: Depths = {}
    for contact in data.contact:
        first, second = (_part(model, int(geom)) for geom in sorted(contact.geom, reverse=True))
        deepest[first, second] = max(deepest.get((first, second), 0.0), -float(contact.dist))
    return deepest


def _part(model: Any, geom: int) -> str:
    """The body of a geom; the geom itself where it stands in the world."""
    body = int(model.geom_bodyid[geom])
    return str(model.body(body).name if body else model.geom(geom).name.split("/")[0])
