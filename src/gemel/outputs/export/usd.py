"""USD for Isaac Sim and others: one stage as scene.usda, scene.usdc and scene.usdz, in metres and kilograms, z up.

Objects and links are rigid bodies of UsdPhysics with mass and convex colliders. Each has two looks: splats (purpose
`render`) and a textured mesh (purpose `proxy`), so that a viewer shows one of them. Friction is per material here, not
per pair: an object's material has its friction with the table, and the smaller of two materials counts.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gemel.artifacts.camera import WORLD
from gemel.errors import MissingExtraError
from gemel.geometry import SE3, SO3
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.cameras import T_CAMERA_GL, MountedCamera, left_out_of_cameras, mounted_cameras
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.scene import ExportObject, ExportScene
from gemel.outputs.export.usd_prims import (
    add_body,
    add_convex_collider,
    add_material,
    add_splat,
    add_textured_mesh,
    bind_material,
    link_path,
    object_material,
    object_path,
    place,
    prim_name,
)
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
_FOCAL = 24.0
"""Only ratios of focal length and aperture matter."""


def write_usd_scene(scene: ExportScene, baked: dict[str, BakedMesh], folder: Path) -> tuple[str, ...]:
    """Write the stage in three forms; what USD cannot carry, in words."""
    from gemel.outputs.export.usd_robot import add_robot

    Sdf, Usd, UsdGeom, UsdPhysics, UsdUtils = _pxr()
    (folder / "textures").mkdir(parents=True)
    stage = Usd.Stage.CreateNew(str(folder / "scene.usdc"))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    world = UsdGeom.Xform.Define(stage, "/World").GetPrim()
    stage.SetDefaultPrim(world)
    for key, value in {**CONVENTIONS, "draw": scene.draw_name}.items():
        world.SetCustomDataByKey(f"gemel:{key}".replace(" ", "_"), value)
    world.SetCustomDataByKey("gemel:parameters", {k.replace("/", ":"): float(v) for k, v in scene.draw.items()})
    _add_physics_scene(stage, scene)
    add_material(stage, TABLE, _largest_friction(scene, TABLE))
    for thing in scene.objects:
        _add_object(stage, scene, thing, baked[thing.name], folder)
    if scene.links:
        add_robot(stage, scene)
    _add_surroundings(stage, scene)
    for camera in mounted_cameras(scene):
        _add_camera(stage, scene, camera)
    stage.GetRootLayer().Save()
    stage.GetRootLayer().Export(str(folder / "scene.usda"))
    UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(folder / "scene.usdc")), str(folder / "scene.usdz"))
    return _not_carried(scene)


def _pxr() -> Any:
    try:
        from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdUtils
    except ImportError as error:
        raise MissingExtraError("usd-core", extra="usd", needed_for="Exporting to USD") from error
    return Sdf, Usd, UsdGeom, UsdPhysics, UsdUtils


def _add_physics_scene(stage: Any, scene: ExportScene) -> None:
    from pxr import Gf, UsdPhysics

    gravity = np.array(scene.model.opt.gravity)
    size = float(np.linalg.norm(gravity))
    prim = UsdPhysics.Scene.Define(stage, "/World/PhysicsScene")
    direction = gravity / size if size > 0.0 else np.array([0.0, 0.0, -1.0])
    prim.CreateGravityDirectionAttr(Gf.Vec3f(*direction.tolist()))
    prim.CreateGravityMagnitudeAttr(size)


def _add_object(stage: Any, scene: ExportScene, thing: ExportObject, baked: BakedMesh, folder: Path) -> None:
    path = object_path(thing.name)
    add_body(stage, path, thing.name, thing.T_world_object, thing.inertia)
    bounce = [scene.draw.get(f"contact/{label}/restitution", 0.0) for label in
              (f"{thing.name}-{TABLE}", f"{TABLE}-{thing.name}")]  # fmt: skip
    contact = scene.contact(thing.name)
    friction = contact.friction[0] if contact is not None else _largest_friction(scene, thing.name)
    material = object_material(thing.name)
    add_material(stage, material, friction, max(bounce))
    for number, piece in enumerate(thing.pieces):
        add_convex_collider(stage, f"{path}/colliders/piece{number}", piece, material)
    add_splat(stage, f"{path}/splat", thing.gaussians)
    file = f"textures/{file_name(thing.name)}.png"
    (folder / file).write_bytes(encode_png(baked.texture))
    add_textured_mesh(stage, f"{path}/mesh", baked, file)


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


def camera_path(scene: ExportScene, camera: MountedCamera) -> str:
    """Where a camera is on the stage: below what carries it."""
    links, objects = [link.name for link in scene.links], [thing.name for thing in scene.objects]
    camera.check_parent((*links, *objects))
    if camera.parent == WORLD:
        return f"/World/Cameras/{prim_name(camera.name)}"
    body = link_path(camera.parent) if camera.parent in links else object_path(camera.parent)
    return f"{body}/cameras/{prim_name(camera.name)}"


def _add_camera(stage: Any, scene: ExportScene, camera: MountedCamera) -> None:
    from pxr import UsdGeom

    fx, fy, cx, cy = camera.intrinsics.tolist()
    prim = UsdGeom.Camera.Define(stage, camera_path(scene, camera))
    place(prim.GetPrim(), camera.T_parent_camera @ T_CAMERA_GL)
    prim.CreateFocalLengthAttr(_FOCAL)
    prim.CreateHorizontalApertureAttr(_FOCAL * camera.width / fx)
    prim.CreateVerticalApertureAttr(_FOCAL * camera.height / fy)
    prim.CreateHorizontalApertureOffsetAttr(_FOCAL * (0.5 * camera.width - cx) / fx)
    prim.CreateVerticalApertureOffsetAttr(_FOCAL * (cy - 0.5 * camera.height) / fy)


def _largest_friction(scene: ExportScene, part: str) -> float:
    """Of all contacts of a part; 0.5 when it touches nothing."""
    found = [c.friction[0] for c in scene.contacts if c.label.startswith(f"{part}-") or c.label.endswith(f"-{part}")]
    return max(found, default=0.5)


def _not_carried(scene: ExportScene) -> tuple[str, ...]:
    words = [
        scene.spread_words,
        "friction by pair: materials have one friction each, the smaller counts (PhysX's combine mode)",
        "stiffness of contacts in MuJoCo's terms; sensors",
    ]
    if scene.links:
        words += ["dry and viscous friction of joints, joints that follow others (only as attributes gemel:*)",
                  "rotor inertia, gravity compensation, contacts between the robot's own links"]  # fmt: skip
    if mounted_cameras(scene):
        words.append("image sizes of cameras: a stage knows angles alone")
    return (*words, *left_out_of_cameras(scene), *scene.beyond_rigid_bodies())
