"""What touches on a stage, and how: colliders, gravity, and what counts where two materials meet."""

import math
from typing import Any

import numpy as np

from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd_prims import COMBINED, object_path
from gemel.outputs.export.verify_usd_robot import world_matrix
from gemel.services.sim.contacts import TABLE
from gemel.services.sim.restitution import restitution
from gemel.services.sim.slots import contact_labels

_SINGLE_PRECISION = 1e-6
_PLANE = "/World/Table/plane"


def contact_checks(scene: ExportScene, stage: Any) -> tuple[Check, ...]:
    """Gravity and table, colliders of objects, friction and restitution, against the model."""
    return (
        Check("gravity", _gravity_difference(scene, stage), _SINGLE_PRECISION, "m/s²"),
        Check("table's height", _table_difference(scene, stage), 1e-9, "m"),
        Check("friction and restitution on the table", _material_difference(scene, stage), _SINGLE_PRECISION),
        Check("colliders that differ", float(_different_colliders(scene, stage)), 0.0),
        Check("colliders more or less than touch", float(abs(_collider_count(stage) - _touching_count(scene))), 0.0),
    )


def _gravity_difference(scene: ExportScene, stage: Any) -> float:
    from pxr import UsdPhysics

    prim = UsdPhysics.Scene(stage.GetPrimAtPath("/World/PhysicsScene"))
    if not prim:
        return math.inf
    found = prim.GetGravityMagnitudeAttr().Get() * np.array(prim.GetGravityDirectionAttr().Get(), dtype=np.float64)
    return largest(found - np.array(scene.model.opt.gravity))


def _table_difference(scene: ExportScene, stage: Any) -> float:
    """Of the plane's height in the world; infinite for one that is not there, lies askew or does not touch."""
    from pxr import UsdGeom

    plane, has_table = UsdGeom.Plane(stage.GetPrimAtPath(_PLANE)), scene.twin.table_height_m is not None
    if not plane or not has_table:
        return 0.0 if not plane and not has_table else math.inf
    matrix = world_matrix(stage, _PLANE)
    if plane.GetAxisAttr().Get() != "Z" or not _is_collider(plane.GetPrim()):
        return math.inf
    return largest(matrix[:3, 2] - [0.0, 0.0, 1.0], matrix[2:3, 3] - scene.model.geom(TABLE).pos[2])


def _is_collider(prim: Any) -> bool:
    from pxr import UsdPhysics

    has_schema = bool(prim) and prim.HasAPI(UsdPhysics.CollisionAPI)
    return has_schema and bool(UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get())


def _bound(prim: Any) -> tuple[float, float, float]:
    """Static and dynamic friction and restitution of the material that a collider is bound to; NaN without one."""
    from pxr import UsdPhysics, UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    if not material:
        return (math.nan,) * 3
    api, own = UsdPhysics.MaterialAPI(material.GetPrim()), material.GetPrim()
    if any(own.GetAttribute(f"physxMaterial:{what}CombineMode").Get() != mode for what, mode in COMBINED.items()):
        return (math.nan,) * 3
    attributes = (api.GetStaticFrictionAttr(), api.GetDynamicFrictionAttr(), api.GetRestitutionAttr())
    static, dynamic, bounce = (float(attribute.Get()) for attribute in attributes)
    return static, dynamic, bounce


def _material_difference(scene: ExportScene, stage: Any) -> float:
    """Of what counts between each collider of an object and the table: the smaller friction, the larger restitution."""
    apart: list[float] = []
    pairs = contact_labels(scene.model)
    for thing in scene.objects:
        labels = [label for label in (f"{thing.name}-{TABLE}", f"{TABLE}-{thing.name}") if label in pairs]
        if not labels or not stage.GetPrimAtPath(_PLANE):
            continue
        first = pairs[labels[0]][0]
        friction = float(scene.model.pair_friction[first, 0])
        bounce = float(restitution(np.array(scene.model.pair_solref[first, 1])))
        table = _bound(stage.GetPrimAtPath(_PLANE))
        for number in range(len(thing.pieces)):
            own = _bound(stage.GetPrimAtPath(f"{object_path(thing.name)}/colliders/piece{number}"))
            apart += [np.minimum(own[i], table[i]) - friction for i in (0, 1)]
            apart.append(float(np.maximum(own[2], table[2]) - bounce))
    return largest(apart)


def _different_colliders(scene: ExportScene, stage: Any) -> int:
    """Pieces that are missing, have other points, or lack what makes them touch as their hulls."""
    from pxr import UsdGeom, UsdPhysics

    count = 0
    for thing in scene.objects:
        for number, (vertices, faces) in enumerate(thing.pieces):
            prim = stage.GetPrimAtPath(f"{object_path(thing.name)}/colliders/piece{number}")
            mesh, hull = UsdGeom.Mesh(prim), UsdPhysics.MeshCollisionAPI(prim)
            count += not (
                _is_collider(prim)
                and hull.GetApproximationAttr().Get() == "convexHull"
                and np.array_equal(np.array(mesh.GetPointsAttr().Get()), vertices.astype(np.float32))
                and np.array_equal(np.array(mesh.GetFaceVertexIndicesAttr().Get()), faces.ravel())
            )
    return count


def _collider_count(stage: Any) -> int:
    return sum(_is_collider(prim) for prim in stage.Traverse())


def _touching_count(scene: ExportScene) -> int:
    """Pieces of objects, touching shapes of links, and the table."""
    shapes = sum(shape.is_touching for link in scene.links for shape in link.shapes)
    return sum(len(thing.pieces) for thing in scene.objects) + shapes + (scene.twin.table_height_m is not None)
