"""The renderer of a world, built once in each process: which surfaces move with which body."""

from functools import lru_cache
from typing import Any

import numpy as np

from gemel.geometry import SO3
from gemel.services.tasks import ObjectModel
from gemel.services.tasks.box_union import box_union_mesh
from gemel.worlds.hand import HAND, hand_parts
from gemel.worlds.mitsuba_scene import MitsubaScene, Part
from gemel.worlds.physics import Physics
from gemel.worlds.render import Renderer
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.shapes import primitive_mesh

_KIND = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}
"""MuJoCo's numbers of the primitives that links are made of."""


@lru_cache(maxsize=2)
def world_renderer(config: WorldConfig) -> Renderer:
    """The renderer of the world of this configuration."""
    world = World(config)
    model = world.scenario.model
    physics = Physics(world.machine, model, world.hidden, config.imperfections, period_s=world.task.control_period_s)
    body_names = tuple(physics.model.body(i).name for i in range(physics.model.nbody))
    scene = MitsubaScene(
        [*_machine_parts(physics.model), *_object_parts(model), *hand_parts()],
        (*body_names, HAND),
        model,
        world.task,
        seed=config.seed,
        table_centre=world.scenario.table_centre,
        plain_table=config.plain_table,
    )
    return Renderer(scene, world.hidden.cameras, config.imperfections, config.seed, config.sample_count)


def _machine_parts(model: Any) -> list[Part]:
    """Every geom of the machine: those that have a material."""
    parts = []
    for i in range(model.ngeom):
        material = int(model.geom_matid[i])
        if material < 0:
            continue
        vertices, faces = primitive_mesh(_KIND[int(model.geom_type[i])], np.array(model.geom_size[i]))
        placed = SO3(np.array(model.geom_quat[i])) @ vertices + model.geom_pos[i]
        body = model.body(int(model.geom_bodyid[i])).name
        parts.append(Part(body, (placed, faces), model.material(material).name))
    return parts


def _object_parts(model: ObjectModel) -> list[Part]:
    """The object's surface; a hammer's head is of another material than its handle."""
    if model.name == "hammer":
        handle, head = model.collision
        return [
            Part(model.name, box_union_mesh((handle,)), "object"),
            Part(model.name, box_union_mesh((head,)), "steel"),
        ]
    return [Part(model.name, (model.vertices, model.faces), "object")]
