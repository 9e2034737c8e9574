"""Nominal models of the objects that tasks handle: watertight meshes, collision boxes and masses, made in code.

Object frames have their origin in the middle of the bounding box and z up when the object lies as it is used.
Sizes of the T-block and the range of its centre of mass follow Phys2Real (arXiv 2510.11689), section V.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import ConfigError, choices_text
from gemel.geometry import bounds, torus_mesh
from gemel.geometry.isosurface import isosurface_mesh
from gemel.services.tasks.box_union import Box, box_union_mesh

_MUG_SPACING = 0.004


@dataclass(frozen=True, eq=False)
class ObjectModel:
    """What is known of an object before it is measured."""

    name: str
    vertices: Float[np.ndarray, "v 3"]
    """Surface in the object frame [m]."""
    faces: Int[np.ndarray, "f 3"]
    collision: tuple[Box, ...]
    """Boxes that stand for the object in contact; for shapes made of boxes they are the shape."""
    mass_kg: float
    description: str
    """What a person would call it; a prompt for segmentation and for priors."""

    @property
    def rest_height(self) -> float:
        """Height of the origin above the table when the object lies on it [m]."""
        return -float(bounds(self.vertices, self.faces)[0, 2])


def object_names() -> tuple[str, ...]:
    """Names of all objects."""
    return tuple(_MAKERS)


@cache
def get_object(name: str) -> ObjectModel:
    """The object of that name; tasks say `t_block` where a command line says `t-block`."""
    key = name.replace("-", "_")
    if key not in _MAKERS:
        raise ConfigError(f"Object {choices_text(name, object_names())}", remedy="use one of the choices")
    return _MAKERS[key]()


def _t_block() -> ObjectModel:
    """Bar of 20 x 5 cm along x on a stem of 5 x 15 cm along y, 4 cm thick; 0.2 kg and a weight of 0.143 kg."""
    boxes = (Box((0.0, 0.075, 0.0), (0.20, 0.05, 0.04)), Box((0.0, -0.025, 0.0), (0.05, 0.15, 0.04)))
    return _of_boxes("t_block", boxes, 0.343, "orange T-shaped block")


def _hammer() -> ObjectModel:
    """Handle of 24 cm along x and a steel head across its end: most of the mass lies off the middle."""
    boxes = (
        Box((-0.0225, 0.0, -0.004), (0.235, 0.028, 0.028)),
        Box((0.1175, 0.0, 0.0), (0.045, 0.11, 0.036)),
    )
    return _of_boxes("hammer", boxes, 0.62, "hammer with a wooden handle and a steel head")


def _cube() -> ObjectModel:
    return _of_boxes("cube", (Box((0.0, 0.0, 0.0), (0.05, 0.05, 0.05)),), 0.08, "small blue cube")


def _big_cube() -> ObjectModel:
    """The size and mass of the acrylic cube of the ContactNets tosses (Pfrommer, Halm and Posa 2020), rounded."""
    return _of_boxes("big_cube", (Box((0.0, 0.0, 0.0), (0.10, 0.10, 0.10)),), 0.37, "white acrylic cube")


def _bracket() -> ObjectModel:
    """An angle of two plates, two bolt holes in the lower one and a window in the upright one."""
    boxes = (Box((0.0, 0.0, -0.034), (0.11, 0.07, 0.012)), Box((-0.049, 0.0, 0.006), (0.012, 0.07, 0.068)))
    cuts = (
        Box((0.002, 0.016, -0.034), (0.018, 0.014, 0.02)),
        Box((0.034, -0.014, -0.034), (0.018, 0.018, 0.02)),
        Box((-0.049, 0.0, 0.010), (0.02, 0.036, 0.030)),
    )
    mesh = box_union_mesh(boxes, cuts)
    return ObjectModel("bracket", *mesh, boxes, 0.15, "grey steel angle bracket with holes")


def _ring() -> ObjectModel:
    mesh = torus_mesh(0.05, 0.014, 48, 20)
    return ObjectModel("ring", *mesh, (Box((0.0, 0.0, 0.0), (0.128, 0.128, 0.028)),), 0.12, "green rubber ring")


def _mug() -> ObjectModel:
    mesh = isosurface_mesh(_mug_distance, (-0.07, -0.06, -0.06), (0.10, 0.06, 0.06), _MUG_SPACING)
    shape = (Box((0.0, 0.0, 0.0), (0.08, 0.08, 0.09)), Box((0.056, 0.0, 0.0), (0.032, 0.012, 0.062)))
    vertices, faces = mesh
    return ObjectModel("mug", vertices, faces, shape, 0.30, "red ceramic mug with a handle")


def _mug_distance(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n"]:
    """Cup of radius 4 cm and height 9 cm with walls of 6 mm, and a round handle on the +x side."""
    radius = np.hypot(p[:, 0], p[:, 1])
    outer = np.maximum(radius - 0.04, np.abs(p[:, 2]) - 0.045)
    hollow = np.maximum(radius - 0.034, -(p[:, 2] + 0.037))
    handle = np.hypot(np.hypot(p[:, 0] - 0.041, p[:, 2]) - 0.025, p[:, 1]) - 0.006
    return np.maximum(np.minimum(outer, handle), -hollow)


def _of_boxes(name: str, boxes: tuple[Box, ...], mass_kg: float, description: str) -> ObjectModel:
    return ObjectModel(name, *box_union_mesh(boxes), boxes, mass_kg, description)


_MAKERS: dict[str, Callable[[], ObjectModel]] = {
    "t_block": _t_block,
    "hammer": _hammer,
    "cube": _cube,
    "big_cube": _big_cube,
    "mug": _mug,
    "ring": _ring,
    "bracket": _bracket,
}
