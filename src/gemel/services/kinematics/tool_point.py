"""Where an arm's tool is: a mark on its flange, or the flange itself.

A mark is a site, else a geom, one of whose words is that of a tool. It counts on the flange and on links that are
fixed to it, so that one constant pose takes the flange to the tool.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.kinematics.chain import TIP_NAMES, far_end

_WORDS = (*TIP_NAMES, "ee")


@dataclass(frozen=True, eq=False)
class ToolPoint:
    """The tool of an arm."""

    kind: str
    """`site`, `geom`, or `flange` where nothing is marked."""
    name: str
    """Of the site or geom, or of the flange's link."""
    body: str
    """The link that carries it."""

    @property
    def words(self) -> str:
        """`the site 'tip' on link6`, or that it is the flange."""
        if self.kind == "flange":
            return f"the flange {self.name}: no site or geom fixed to it is called {', '.join(_WORDS)}"
        return f"the {self.kind} {self.name!r} on {self.body}"

    def position(self, model: Any) -> Float[np.ndarray, "3"]:
        """In the frame of the link that carries it, in any compiled `mujoco.MjModel` that has it [m]."""
        if self.kind == "site":
            return np.array(model.site(self.name).pos)
        return far_end(model, model.geom(self.name).id) if self.kind == "geom" else np.zeros(3)


def tool_point(model: Any, flange: str) -> ToolPoint:
    """The tool on a link of a compiled robot (`mujoco.MjModel`)."""
    start = model.body(flange).id
    fixed = {start}
    for body in range(start + 1, model.nbody):  # parents come first
        if int(model.body_parentid[body]) in fixed and not model.body_jntnum[body]:
            fixed.add(body)
    marks = {
        "site": [(model.site(i).name, int(model.site_bodyid[i])) for i in range(model.nsite)],
        "geom": [(model.geom(i).name, int(model.geom_bodyid[i])) for i in range(model.ngeom)],
    }
    for kind, named in marks.items():
        for word in _WORDS:
            for name, body in named:
                if body in fixed and word in re.findall(r"[a-z]+", name.lower()):
                    return ToolPoint(kind, name, model.body(body).name)
    return ToolPoint("flange", flange, flange)
