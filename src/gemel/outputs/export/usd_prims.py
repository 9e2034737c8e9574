"""Prims that a stage of a twin is made of: bodies, colliders, materials, splats, textured meshes."""

from typing import Any

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.geometry import SE3, SO3, Inertia
from gemel.geometry.mesh_shapes import Mesh
from gemel.outputs.export.bake import BakedMesh
from gemel.services.formats.usd_splat import define_splat

COMBINED = {"friction": "min", "restitution": "max"}
"""How PhysX is told to combine the values of two materials."""
WEIGHTLESS = "physxRigidBody:disableGravity"


def prim_name(name: str) -> str:
    """A name as a prim may have it."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"


def object_path(name: str) -> str:
    """Where an object is on the stage."""
    return f"/World/Objects/{prim_name(name)}"


def object_material(name: str) -> str:
    """What an object's physics material is called."""
    return f"object_{prim_name(name)}"


def link_path(name: str) -> str:
    """Where a robot's link is on the stage."""
    return f"/World/Robot/Links/{prim_name(name)}"


def add_material(stage: Any, name: str, friction: float, restitution: float = 0.0) -> None:
    """A physics material `/World/Materials/NAME`; of two that touch, PhysX takes the smaller friction and the larger
    restitution."""
    from pxr import Sdf, UsdPhysics, UsdShade

    prim = UsdShade.Material.Define(stage, f"/World/Materials/{prim_name(name)}").GetPrim()
    material = UsdPhysics.MaterialAPI.Apply(prim)
    material.CreateStaticFrictionAttr(friction)
    material.CreateDynamicFrictionAttr(friction)
    material.CreateRestitutionAttr(restitution)
    prim.AddAppliedSchema("PhysxMaterialAPI")
    for what, mode in COMBINED.items():
        prim.CreateAttribute(f"physxMaterial:{what}CombineMode", Sdf.ValueTypeNames.Token, custom=False).Set(mode)


def bind_material(stage: Any, prim: Any, name: str) -> None:
    """Let a collider have a physics material."""
    from pxr import UsdShade

    material = UsdShade.Material(stage.GetPrimAtPath(f"/World/Materials/{prim_name(name)}"))
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")


def add_body(
    stage: Any, path: str, name: str, T_world_body: SE3, inertia: Inertia | None, *, is_weightless: bool = False
) -> Any:
    """A rigid body at its place; without mass if that is not known. PhysX lets weightless ones float."""
    from pxr import Gf, Sdf, UsdGeom, UsdPhysics

    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    prim.SetCustomDataByKey("gemel:name", name)
    place(prim, T_world_body)
    UsdPhysics.RigidBodyAPI.Apply(prim)
    if is_weightless:
        prim.AddAppliedSchema("PhysxRigidBodyAPI")
        prim.CreateAttribute(WEIGHTLESS, Sdf.ValueTypeNames.Bool, custom=False).Set(True)
    if inertia is not None:
        moments, axes = np.linalg.eigh(inertia.I_BBcm_B)
        axes[:, 2] *= np.linalg.det(axes)  # right-handed
        mass = UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(inertia.mass_kg)
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*inertia.p_BoBcm_B.tolist()))
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments.tolist()))
        mass.CreatePrincipalAxesAttr(Gf.Quatf(*SO3.from_matrix(axes).wxyz.tolist()))
    return prim


def place(prim: Any, T_parent_prim: SE3) -> None:
    """Move a prim by a translation and a quaternion, both in double precision."""
    from pxr import Gf, UsdGeom

    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*T_parent_prim.translation.tolist()))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*T_parent_prim.rotation.wxyz.tolist()))


def add_mesh(stage: Any, path: str, mesh: Mesh, purpose: str) -> Any:
    """A triangle mesh."""
    from pxr import UsdGeom, Vt

    vertices, faces = mesh
    shape = UsdGeom.Mesh.Define(stage, path)
    points = np.ascontiguousarray(vertices, dtype=np.float32)
    shape.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    shape.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces.ravel(), dtype=np.int32)))
    shape.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, dtype=np.int32)))
    shape.CreateSubdivisionSchemeAttr("none")
    shape.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(np.stack([points.min(axis=0), points.max(axis=0)])))
    shape.CreatePurposeAttr(purpose)
    return shape


def add_convex_collider(stage: Any, path: str, mesh: Mesh, material: str) -> Any:
    """A mesh that touches as its convex hull."""
    from pxr import UsdPhysics

    prim = add_mesh(stage, path, mesh, "guide").GetPrim()
    UsdPhysics.CollisionAPI.Apply(prim)
    UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("convexHull")
    bind_material(stage, prim, material)
    return prim


def add_splat(stage: Any, path: str, gaussians: Gaussians) -> None:
    """Splats, shown where final looks are asked for."""
    from pxr import UsdGeom

    if len(gaussians):
        UsdGeom.Imageable(define_splat(stage, path, gaussians)).CreatePurposeAttr("render")


def add_textured_mesh(stage: Any, path: str, baked: BakedMesh, file: str) -> None:
    """A mesh with a picture on it; `file` is relative to the stage."""
    from pxr import Sdf, UsdGeom, UsdShade, Vt

    shape = add_mesh(stage, path, (baked.vertices, baked.faces), "proxy")
    st = UsdGeom.PrimvarsAPI(shape).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying")
    st.Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(baked.uv.reshape(-1, 2), dtype=np.float32)))
    material = UsdShade.Material.Define(stage, f"{path}/looks")
    surface, texture, reader = (
        UsdShade.Shader.Define(stage, f"{path}/looks/{name}") for name in ("surface", "texture", "reader")
    )
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
    reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    texture.CreateIdAttr("UsdUVTexture")
    texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(Sdf.AssetPath(f"./{file}"))
    texture.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set("sRGB")
    texture.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(reader.ConnectableAPI(), "result")
    texture.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
    surface.CreateIdAttr("UsdPreviewSurface")
    surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(1.0)
    surface.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(0.0)
    surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).ConnectToSource(texture.ConnectableAPI(), "rgb")
    surface.CreateOutput("surface", Sdf.ValueTypeNames.Token)
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    UsdShade.MaterialBindingAPI.Apply(shape.GetPrim()).Bind(material)
