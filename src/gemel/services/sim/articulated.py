"""Objects with joints of their own, such as drawers: their model file, put where the object stands.

Bodies and joints are called `OBJECT_NAME`; what the file lets collide touches robot and free objects in pairs of its
own, and no longer itself.
"""

from typing import Any

from gemel.artifacts.blob import Blobs
from gemel.artifacts.reconstruction import ArticulatedObject
from gemel.errors import SourceError
from gemel.geometry import SE3
from gemel.services.sim.contacts import Part


def add_articulated(spec: Any, name: str, thing: ArticulatedObject, T_world_object: SE3, blobs: Blobs) -> Part:
    """Attach the object's model to a scene; its part touches by all geoms that collide in the file."""
    import mujoco

    try:
        child = mujoco.MjSpec.from_string(blobs.get_bytes(thing.model).decode("utf-8"))
        child.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise SourceError(
            f"The model of {name!r} does not compile: {' '.join(str(error).split())}.",
            remedy="mend the file in MuJoCo's viewer; it has to be one file without meshes beside it",
        ) from error
    geoms = []
    for number, geom in enumerate(child.geoms):
        geom.name = geom.name or f"geom{number}"
        if geom.contype or geom.conaffinity:
            geoms.append(f"{name}_{geom.name}")
        geom.contype = geom.conaffinity = 0
    frame = spec.worldbody.add_frame(pos=T_world_object.translation, quat=T_world_object.rotation.wxyz)
    spec.attach(child, frame=frame, prefix=f"{name}_")
    return Part(name, tuple(geoms))
