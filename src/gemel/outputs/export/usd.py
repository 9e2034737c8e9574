"""USD for Isaac Sim and others: one stage as scene.usda, scene.usdc and scene.usdz, in metres and kilograms, z up.

Objects and links are rigid bodies of UsdPhysics with mass and convex colliders. Each has two looks: splats (purpose
`render`) and a textured mesh (purpose `proxy`), so that a viewer shows one of them. Friction is per material here, not
per pair: an object's material has its friction with the table, and the smaller of two materials counts. Restitution
is that of the object's contact with the table; the larger of two materials counts, and the table has none of its own.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gemel.errors import MissingExtraError
from gemel.geometry import SE3, SO3
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.cameras import all_cameras, late_cameras, left_out_of_cameras
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.scene import ExportObject, ExportScene, contact_parts
from gemel.outputs.export.usd_cameras import add_camera
from gemel.outputs.export.usd_prims import (
    add_body,
    add_convex_collider,
    add_material,
    add_splat,
    add_textured_mesh,
    bind_material,
    object_material,
    object_path,
    place,
)
from gemel.outputs.export.usd_robot import add_robot, left_out_of_robot
from gemel.services.formats.image_file import encode_png
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.sim.contacts import TABLE

CONVENTIONS = {
    "unit": "m, kg, s; angles of joints in degrees, as UsdPhysics has them",
    "up": "z",
    "quaternions": "real part first (GfQuatf: w, x, y, z)",
    "cameras": "look along -z, y up",
}
ENDINGS = ("usda", "usdc", "usdz")


def write_usd_scene(scene: ExportScene, baked: dict[str, BakedMesh], folder: Path) -> tuple[str, ...]:
    """Write the stage in three forms; what USD cannot carry, in words."""
    stage = build_stage(scene, baked)
    (folder / "textures").mkdir(parents=True)
    for name, mesh in baked.items():
        (folder / texture_file(name)).write_bytes(encode_png(mesh.texture))
    _save(stage, folder)
    return _not_carried(scene)


def build_stage(scene: ExportScene, baked: dict[str, BakedMesh]) -> Any:
    """The stage in memory; its pictures are named and not there yet."""
    _, Usd, UsdGeom, UsdPhysics, _, _ = _pxr()
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    world = UsdGeom.Xform.Define(stage, "/World").GetPrim()
    stage.SetDefaultPrim(world)
    for key, value in {**CONVENTIONS, "draw": scene.draw_name}.items():
        world.SetCustomDataByKey(f"gemel:{key}".replace(" ", "_"), value)
    world.SetCustomDataByKey("gemel:parameters", {k.replace("/", ":"): float(v) for k, v in scene.draw.items()})
    _add_physics_scene(stage, scene)
    add_material(stage, TABLE, largest_friction(scene, TABLE))
    for thing in scene.objects:
        _add_object(stage, scene, thing, baked[thing.name])
    if scene.links:
        add_robot(stage, scene)
    _add_surroundings(stage, scene)
    for camera in all_cameras(scene):
        add_camera(stage, scene, camera)
    _type_groups(stage)
    return stage


def texture_file(name: str) -> str:
    """Where an object's picture is, from the stage."""
    return f"textures/{file_name(name)}.png"


def _save(stage: Any, folder: Path) -> None:
    """Write all three files; OpenUSD answers a full disk with its own kind of error, or with False."""
    Sdf, _, _, _, UsdUtils, Tf = _pxr()
    layer, packed = stage.GetRootLayer(), str(folder / "scene.usdz")
    try:
        for ending in ("usdc", "usda"):
            if not layer.Export(str(folder / f"scene.{ending}")):
                raise OSError(f"OpenUSD could not write scene.{ending}")
        if not UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(folder / "scene.usdc")), packed):
            raise OSError("OpenUSD could not write scene.usdz")
    except Tf.ErrorException as error:
        raise OSError(f"OpenUSD says: {' '.join(str(error).split())}") from error


def _type_groups(stage: Any) -> None:
    """Prims that only hold others become Xform where there is something to place in them, Scope elsewhere."""
    from pxr import UsdGeom

    for prim in stage.TraverseAll():
        if not prim.GetTypeName():
            is_placed = any(UsdGeom.Xformable(child) for child in prim.GetAllChildren())
            prim.SetTypeName("Xform" if is_placed else "Scope")


def _pxr() -> Any:
    try:
        from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdUtils
    except ImportError as error:
        raise MissingExtraError("usd-core", extra="usd", needed_for="Exporting to USD") from error
    return Sdf, Usd, UsdGeom, UsdPhysics, UsdUtils, Tf


def _add_physics_scene(stage: Any, scene: ExportScene) -> None:
    from pxr import Gf, UsdPhysics

    gravity = np.array(scene.model.opt.gravity)
    size = float(np.linalg.norm(gravity))
    prim = UsdPhysics.Scene.Define(stage, "/World/PhysicsScene")
    direction = gravity / size if size > 0.0 else np.array([0.0, 0.0, -1.0])
    prim.CreateGravityDirectionAttr(Gf.Vec3f(*direction.tolist()))
    prim.CreateGravityMagnitudeAttr(size)


def _add_object(stage: Any, scene: ExportScene, thing: ExportObject, baked: BakedMesh) -> None:
    path = object_path(thing.name)
    add_body(stage, path, thing.name, thing.T_world_object, thing.inertia)
    contact = scene.contact(thing.name)
    material = object_material(thing.name)
    if contact is None:
        add_material(stage, material, largest_friction(scene, thing.name))
    else:
        add_material(stage, material, contact.friction[0], contact.restitution)
    for number, piece in enumerate(thing.pieces):
        add_convex_collider(stage, f"{path}/colliders/piece{number}", piece, material)
    add_splat(stage, f"{path}/splat", thing.gaussians)
    add_textured_mesh(stage, f"{path}/mesh", baked, texture_file(thing.name))


def _add_surroundings(stage: Any, scene: ExportScene) -> None:
    from pxr import UsdGeom, UsdPhysics

    twin = scene.twin
    if twin.table_height_m is not None:
        plane = UsdGeom.Plane.Define(stage, "/World/Table/plane")
        plane.CreateAxisAttr("Z")
        plane.CreatePurposeAttr("guide")
        place(plane.GetPrim(), SE3(SO3.identity(), np.array([0.0, 0.0, twin.table_height_m])))
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
        bind_material(stage, plane.GetPrim(), TABLE)
    if twin.reconstruction.table is not None:
        add_splat(stage, "/World/Table/splat", gaussians_of(twin.reconstruction.table))
    if twin.reconstruction.background is not None:
        add_splat(stage, "/World/Background/splat", twin.reconstruction.background)


def largest_friction(scene: ExportScene, part: str) -> float:
    """Of all contacts of a part; 0.5 when it touches nothing."""
    found = [c.friction[0] for c in scene.contacts if part in contact_parts(scene, c)]
    return max(found, default=0.5)


def _not_carried(scene: ExportScene) -> tuple[str, ...]:
    words = [
        scene.spread_words,
        "friction by pair: materials have one friction each, the smaller counts (PhysX's combine mode)",
        "stiffness of contacts in MuJoCo's terms, turning and rolling friction; sensors",
    ]
    if scene.links:
        words.append("contacts between the robot's own links")
        words += left_out_of_robot(scene)
    if all_cameras(scene):
        words.append("image sizes of cameras: a stage knows angles alone")
    filters = scene.filter_words()
    words += (
        [f"the low-pass filter that splats were fitted with, but as a remark (gemel:*): {filters}"] if filters else []
    )
    return (*words, *left_out_of_cameras(scene), *late_cameras(scene), *scene.beyond_rigid_bodies())
