"""The scene for mitsuba's path tracer: what stands still is loaded once, what moves is one mesh per material.

Moving things are updated by writing vertex positions; nothing is ever reloaded. The variant is `scalar_rgb`, which runs
on any processor and gives the same bytes for the same seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.task import Task
from gemel.errors import MissingExtraError
from gemel.geometry import SE3, SO3, Pinhole, vertex_normals
from gemel.services.tasks.objects import ObjectModel
from gemel.worlds.appearance import (
    TABLE_SIZE_M,
    object_looks,
    room_picture,
    speckle_picture,
    table_picture,
)
from gemel.worlds.denoise import Rendering
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.shapes import Mesh, split_creases, texture_places

_MAX_DEPTH = 3
"""Direct light and one bounce between object, table, arm and walls."""
_SURFACES: dict[str, dict[str, Any]] = {
    "arm_light": {"colour": (0.62, 0.63, 0.65), "roughness": 0.35, "specular": 0.5},
    "arm_dark": {"colour": (0.035, 0.037, 0.042), "roughness": 0.4, "specular": 0.5},
    "camera": {"colour": (0.012, 0.012, 0.015), "roughness": 0.3, "specular": 0.5},
    "metal": {"colour": (0.42, 0.42, 0.44), "roughness": 0.3, "metallic": 0.7},
    "rubber": {"colour": (0.02, 0.02, 0.02), "roughness": 0.9, "specular": 0.1},
    "steel": {"colour": (0.25, 0.26, 0.28), "roughness": 0.3, "metallic": 0.8},
    "skin": {"colour": (0.55, 0.30, 0.21), "roughness": 0.6, "specular": 0.2},
}


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of surface that moves with one body."""

    body: str
    mesh: Mesh
    """In the body's frame [m]."""
    material: str
    """A key of the table above, or `object` for the object's own texture."""


@dataclass(frozen=True, eq=False)
class _Moving:
    """All parts of one material, as one mesh."""

    material: str
    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    body_index: Int[np.ndarray, " v"]

    @property
    def key(self) -> str:
        """Name in mitsuba's scene."""
        return f"moving_{self.material}"


class MitsubaScene:
    """The renderer's copy of a world."""

    def __init__(
        self,
        parts: Sequence[Part],
        body_names: tuple[str, ...],
        model: ObjectModel,
        task: Task,
        *,
        seed: int,
        table_centre: tuple[float, float],
        plain_table: bool,
    ) -> None:
        self._mi = load_mitsuba()
        self._rng = stream_rng(seed, Stream.LOOKS, 1)
        self._model = model
        materials = sorted({part.material for part in parts})
        self._moving = [_moving_mesh(m, [part for part in parts if part.material == m], body_names) for m in materials]
        surroundings = self._surroundings(task, seed, table_centre, plain_table)
        surfaces = {moving.key: self._surface(moving.material) for moving in self._moving}
        lit = {moving.key: self._shape(moving, surfaces[moving.key]) for moving in self._moving}
        glowing = {moving.key: self._shape(moving, _glow(surfaces[moving.key])) for moving in self._moving}
        lights = {"integrator": {"type": "path", "max_depth": _MAX_DEPTH}, **self._lights(table_centre)}
        self._scene = self._mi.load_dict({"type": "scene", **lights, **surroundings, **lit})
        # A copy in which everything glows in its own colour and nothing is lit: one ray a sample, no noise.
        colours = {key: _glowing(entry) for key, entry in surroundings.items()}
        self._colours = self._mi.load_dict(
            {"type": "scene", "integrator": {"type": "path", "max_depth": 1}, **colours, **glowing}
        )
        self._depth = self._mi.load_dict({"type": "depth"})
        self._parameters = [self._mi.traverse(scene) for scene in (self._scene, self._colours)]

    def pose(self, poses: Float[np.ndarray, "body 7"]) -> None:
        """Move every part to where its body is; poses as quaternion wxyz and translation."""
        R, p = SO3(poses[:, :4]).as_matrix(), poses[:, 4:]
        for moving in self._moving:
            turned = np.einsum("vij,vj->vi", R[moving.body_index], moving.vertices) + p[moving.body_index]
            flat = turned.astype(np.float32).ravel()
            for parameters in self._parameters:
                parameters[f"{moving.key}.vertex_positions"] = flat
        for parameters in self._parameters:
            parameters.update()

    def sensor(self, model: Pinhole, sample_count: int) -> Any:
        """A mitsuba sensor with these optics."""
        film = {"type": "hdrfilm", "width": model.width, "height": model.height, "pixel_format": "rgb",
                "component_format": "float32", "rfilter": {"type": "box"}}  # fmt: skip
        return self._mi.load_dict({
            "type": "perspective", "fov_axis": "x", "near_clip": 0.005, "film": film,
            "fov": float(np.degrees(2.0 * np.arctan(0.5 * model.width / model.fx))),
            "sampler": {"type": "multijitter", "sample_count": sample_count},
        })  # fmt: skip

    def render(self, sensor: Any, T_world_camera: SE3, *, sample_count: int, seed: int) -> Rendering:
        """What is seen from a pose (x right, y down, z forward)."""
        # Mitsuba's cameras look along +z with x to the left and y up.
        matrix = T_world_camera.as_matrix() @ np.diag([-1.0, -1.0, 1.0, 1.0])
        parameters = self._mi.traverse(sensor)
        parameters["to_world"] = self._mi.ScalarTransform4f(matrix)
        parameters.update()
        settings = {"sensor": sensor, "spp": sample_count, "seed": seed}
        radiance = np.asarray(self._mi.render(self._scene, **settings))
        # The same seed sends the same first rays, so colours match the radiance sample by sample.
        colour = np.asarray(self._mi.render(self._colours, **settings))
        depth = np.asarray(self._mi.render(self._scene, integrator=self._depth, **settings))[..., :1]
        return Rendering(radiance, np.concatenate([colour, depth], axis=-1))

    def _surroundings(self, task: Task, seed: int, centre: tuple[float, float], plain_table: bool) -> dict[str, Any]:
        move = self._mi.ScalarTransform4f
        goal = None
        if {"object/x", "object/y", "object/yaw"} <= set(task.goal):
            goal = (self._model, task.goal["object/x"], task.goal["object/y"], task.goal["object/yaw"])
        picture = table_picture(seed, centre, plain=plain_table, goal=goal)
        x, y = centre
        top = move().translate([x, y, 0.0]).scale([0.5 * TABLE_SIZE_M[0], 0.5 * TABLE_SIZE_M[1], 1.0])
        slab = move().translate([x, y, -0.02]).scale([0.5 * TABLE_SIZE_M[0], 0.5 * TABLE_SIZE_M[1], 0.0195])
        wall = {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.45, 0.44, 0.42]}}
        floor = {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.16, 0.16, 0.17]}}
        return {
            "table": {"type": "rectangle", "to_world": top, "bsdf": self._bitmap(picture, roughness=0.55)},
            "slab": {"type": "cube", "to_world": slab, "bsdf": wall},
            "floor": {"type": "rectangle", "to_world": move().translate([x, y, -0.75]).scale(4.0), "bsdf": floor},
            "wall": {
                "type": "rectangle", "bsdf": wall,
                "to_world": move().translate([x - 1.9, y, 0.4]).rotate([0, 1, 0], 90).scale(2.5),
            },
        }  # fmt: skip

    def _lights(self, centre: tuple[float, float]) -> dict[str, Any]:
        """A lamp over the table, and the room around."""
        move, (x, y) = self._mi.ScalarTransform4f, centre
        lamp = move().look_at(origin=[x + 0.5, y - 0.7, 1.7], target=[x, y, 0.0], up=[0, 0, 1]).scale(0.32)
        room = self._mi.Bitmap(room_picture(self._rng).astype(np.float32))
        return {
            "lamp": {
                "type": "rectangle", "to_world": lamp,
                "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [10.0, 9.5, 8.6]}},
            },
            "room": {"type": "envmap", "bitmap": room, "scale": 0.75, "to_world": move().rotate([1, 0, 0], 90)},
        }  # fmt: skip

    def _shape(self, moving: _Moving, plugin: dict[str, Any]) -> Any:
        """A mesh with a surface or, in the copy that glows, with an emitter."""
        properties = self._mi.Properties()
        properties["plugin"] = self._mi.load_dict(plugin)
        counts = (len(moving.vertices), len(moving.faces))
        shape = self._mi.Mesh(moving.key, *counts, has_vertex_normals=True, has_vertex_texcoords=True, props=properties)
        parameters = self._mi.traverse(shape)
        parameters["vertex_positions"] = moving.vertices.astype(np.float32).ravel()
        parameters["faces"] = moving.faces.astype(np.uint32).ravel()
        places = texture_places(moving.vertices, vertex_normals(moving.vertices, moving.faces))
        parameters["vertex_texcoords"] = places.astype(np.float32).ravel()
        parameters.update()
        return shape

    def _surface(self, material: str) -> dict[str, Any]:
        if material == "object":
            colour, strength, settings = object_looks(self._model.name)
            return self._bitmap(speckle_picture(self._rng, colour, strength), **settings)
        settings = dict(_SURFACES[material])
        colour = settings.pop("colour")
        return {"type": "principled", "base_color": {"type": "rgb", "value": list(colour)}, **settings}

    def _bitmap(self, picture: Float[np.ndarray, "h w 3"], **settings: float) -> dict[str, Any]:
        texture = {
            "type": "bitmap", "raw": True, "bitmap": self._mi.Bitmap(np.ascontiguousarray(picture, dtype=np.float32)),
        }  # fmt: skip
        return {"type": "twosided", "bsdf": {"type": "principled", "base_color": texture, **settings}}


def _moving_mesh(material: str, parts: list[Part], body_names: tuple[str, ...]) -> _Moving:
    meshes = [split_creases(*part.mesh) for part in parts]
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    faces = [mesh[1] + offset for mesh, offset in zip(meshes, offsets, strict=False)]
    bodies = [np.full(len(mesh[0]), body_names.index(part.body)) for mesh, part in zip(meshes, parts, strict=True)]
    vertices = np.concatenate([vertices for vertices, _ in meshes])
    return _Moving(material, vertices, np.concatenate(faces), np.concatenate(bodies))


def _glow(surface: dict[str, Any]) -> dict[str, Any]:
    """An emitter that shines in a surface's own colour."""
    inner = surface.get("bsdf", surface)
    return {"type": "area", "radiance": inner.get("base_color", inner.get("reflectance"))}


def _glowing(entry: dict[str, Any]) -> dict[str, Any]:
    """The same shape with an emitter in place of its surface."""
    return {**{k: v for k, v in entry.items() if k != "bsdf"}, "emitter": _glow(entry["bsdf"])}


def load_mitsuba() -> Any:
    """The package with its variant set, one thread in this process: recording runs one process for each core."""
    try:
        import drjit
        import mitsuba
    except ModuleNotFoundError:
        raise MissingExtraError("mitsuba", extra="worlds", needed_for="Rendering a stand-in world") from None
    if mitsuba.variant() != "scalar_rgb":
        mitsuba.set_variant("scalar_rgb")
        mitsuba.set_log_level(mitsuba.LogLevel.Error)
    drjit.set_thread_count(1)
    return mitsuba
