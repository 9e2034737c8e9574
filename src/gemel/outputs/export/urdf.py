"""URDF: the robot in `robot/robot.urdf`, every object in `objects/NAME/NAME.urdf`, and `scene.json` for the rest.

A URDF joint turns about the origin of its link and is zero where the frames meet. So each link's frame is moved to its
joint's anchor, and the joint's rest value goes into its origin: joint values mean the same as in the twin. Capsules
become a cylinder and two spheres, which is the same solid. `scene.json` has what is between the bodies: poses, the
table, contacts, servos.
"""

import json
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gemel.geometry import SE3, SO3, Inertia
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.links import Link, LinkJoint, Shape
from gemel.outputs.export.mjcf import file_name
from gemel.outputs.export.scene import ExportObject, ExportScene
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.obj_mesh import write_mtl, write_obj

CONVENTIONS = {
    "unit": "m, kg, s, rad",
    "up": "z",
    "quaternions": "none in URDF (roll, pitch, yaw about fixed axes); wxyz in scene.json",
    "joint values": "readings of the log",
}
ROBOT_FILE, SCENE_FILE = "robot/robot.urdf", "scene.json"
ROOT_LINK = "world"
_URDF_JOINTS = {"hinge": "revolute", "slide": "prismatic", "free": "floating"}
_ANY_SPEED = 1000.0
"""URDF demands a speed limit; the twin knows none. [rad/s or m/s]"""
_ANY_EFFORT = 1e6
_ANY_TRAVEL_M = 1000.0
"""URDF demands limits of sliding joints."""
Element = ElementTree.Element
Files = dict[str, bytes]
"""Bytes by path in the folder."""


def write_urdf(scene: ExportScene, baked: dict[str, BakedMesh], folder: Path) -> tuple[str, ...]:
    """Write robot, objects and scene; what URDF cannot carry, in words."""
    for name, data in urdf_files(scene, baked).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return _not_carried(scene)


def urdf_files(scene: ExportScene, baked: dict[str, BakedMesh]) -> Files:
    """All files by their path in the folder."""
    files: Files = {SCENE_FILE: json.dumps(scene_tree(scene), indent=2).encode()}
    if scene.links:
        files[ROBOT_FILE] = _bytes(robot_urdf(scene.links, files))
    for thing in scene.objects:
        files[object_file(thing.name)] = _bytes(object_urdf(scene, thing, baked[thing.name], files))
    return files


def object_file(name: str) -> str:
    """Where an object's URDF is."""
    return f"objects/{file_name(name)}/{file_name(name)}.urdf"


def link_frame(link: Link) -> SE3:
    """`T_body_link`: the URDF link's frame in the twin's body frame."""
    return SE3(SO3.identity(), np.zeros(3) if link.joint is None else link.joint.anchor)


def robot_urdf(links: tuple[Link, ...], files: Files) -> Element:
    """The robot as XML; its meshes are added to the files."""
    root = _root("robot")
    ElementTree.SubElement(root, "link", name=ROOT_LINK)
    frames = {link.name: link_frame(link) for link in links}
    for link in links:
        element = ElementTree.SubElement(root, "link", name=link.name)
        T_link_body = frames[link.name].inverse()
        if link.inertia is not None:
            element.append(_inertial(link.inertia.transformed(T_link_body)))
        for number, shape in enumerate(link.shapes):
            file = f"meshes/{file_name(link.name)}_{number}.obj"
            for tag in (["visual"] if shape.is_shown else []) + (["collision"] if shape.is_touching else []):
                element.extend(_geometries(tag, shape, T_link_body, file, files))
        T_parent_body = frames[link.parent].inverse() @ link.T_parent_link if link.parent else link.T_parent_link
        root.append(_joint(link, T_parent_body @ frames[link.name]))
    return root


def object_urdf(scene: ExportScene, thing: ExportObject, baked: BakedMesh, files: Files) -> Element:
    """An object as XML with one link; its meshes and its texture are added to the files."""
    folder = f"objects/{file_name(thing.name)}"
    files[f"{folder}/meshes/looks.obj"] = write_obj(
        baked.vertices, baked.faces, uv=baked.uv, material_file="looks.mtl", comment="unit m"
    )
    files[f"{folder}/meshes/looks.mtl"] = write_mtl("looks.png")
    files[f"{folder}/meshes/looks.png"] = encode_png(baked.texture)
    root = _root(thing.name)
    link = ElementTree.SubElement(root, "link", name=thing.name)
    link.append(_inertial(thing.inertia))
    contact = scene.contact(thing.name)
    if contact is not None:  # the extension that Bullet and its followers read
        values = ElementTree.SubElement(link, "contact")
        ElementTree.SubElement(values, "lateral_friction", value=_text(contact.friction[0]))
    link.append(_mesh_geometry("visual", SE3.identity(), "meshes/looks.obj"))
    for number, (vertices, faces) in enumerate(thing.pieces):
        file = f"meshes/piece{number}.obj"
        files[f"{folder}/{file}"] = write_obj(vertices, faces, comment="unit m")
        link.append(_mesh_geometry("collision", SE3.identity(), file))
    return root


def scene_tree(scene: ExportScene) -> dict[str, object]:
    """What is between the bodies, for JSON."""
    joints = [link.joint for link in scene.links if link.joint is not None]
    return {
        "conventions": CONVENTIONS,
        "draw": {"name": scene.draw_name, "values": dict(scene.draw)},
        "gravity": [float(value) for value in scene.model.opt.gravity],
        "timestep_s": float(scene.model.opt.timestep),
        "table_height_m": scene.twin.table_height_m,
        "robot": ROBOT_FILE if scene.links else None,
        "objects": {
            thing.name: {
                "file": object_file(thing.name),
                "position_m": thing.T_world_object.translation.tolist(),
                "quaternion_wxyz": thing.T_world_object.rotation.wxyz.tolist(),
            }
            for thing in scene.objects
        },
        "contacts": {contact.label: {k: v for k, v in vars(contact).items() if k != "label"}
                     for contact in scene.contacts},
        "servos": {joint.name: {"gain": joint.servo.gain, "damping": joint.servo.damping}
                   for joint in joints if joint.servo is not None},
        "start": {joint.name: joint.rest for joint in joints if joint.kind != "free"},
    }  # fmt: skip


def _root(name: str) -> Element:
    root = ElementTree.Element("robot", name=name)
    root.append(ElementTree.Comment("; ".join(f"{key}: {value}" for key, value in CONVENTIONS.items())))
    settings = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(
        settings, "compiler", strippath="false", discardvisual="false", fusestatic="false", balanceinertia="false"
    )  # how MuJoCo reads it as it is; others ignore this
    return root


def _bytes(root: Element) -> bytes:
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _joint(link: Link, T_parent_rest: SE3) -> Element:
    joint = link.joint
    if joint is None:
        element = ElementTree.Element("joint", name=f"{link.name}_fixed", type="fixed")
        T_parent_zero = T_parent_rest
    else:
        back = -joint.rest * joint.axis
        T_rest_zero = SE3(SO3.exp(back), np.zeros(3)) if joint.kind == "hinge" else SE3(SO3.identity(), back)
        T_parent_zero = T_parent_rest @ T_rest_zero
        is_endless = joint.kind == "hinge" and not math.isfinite(joint.high)
        kind = "continuous" if is_endless else _URDF_JOINTS[joint.kind]
        element = ElementTree.Element("joint", name=joint.name, type=kind)
    ElementTree.SubElement(element, "parent", link=link.parent or ROOT_LINK)
    ElementTree.SubElement(element, "child", link=link.name)
    element.append(_origin(T_parent_zero))
    if joint is not None and joint.kind != "free":
        element.extend(_joint_details(joint))
    return element


def _joint_details(joint: LinkJoint) -> Iterator[Element]:
    yield ElementTree.Element("axis", xyz=_text(*joint.axis))
    yield ElementTree.Element("dynamics", damping=_text(joint.damping), friction=_text(joint.friction))
    effort = joint.servo.effort if joint.servo is not None else math.inf
    limit = {"effort": _text(min(effort, _ANY_EFFORT)), "velocity": _text(_ANY_SPEED)}
    if math.isfinite(joint.high):
        limit |= {"lower": _text(joint.low), "upper": _text(joint.high)}
    elif joint.kind == "slide":
        limit |= {"lower": _text(-_ANY_TRAVEL_M), "upper": _text(_ANY_TRAVEL_M)}
    yield ElementTree.Element("limit", limit)
    if joint.follows is not None:
        yield ElementTree.Element(
            "mimic", joint=joint.follows.leader, multiplier=_text(joint.follows.factor),
            offset=_text(joint.follows.offset),
        )  # fmt: skip


def _inertial(inertia: Inertia) -> Element:
    element = ElementTree.Element("inertial")
    element.append(_origin(SE3(SO3.identity(), inertia.p_BoBcm_B)))
    ElementTree.SubElement(element, "mass", value=_text(inertia.mass_kg))
    entries = {f"i{'xyz'[i]}{'xyz'[j]}": _text(inertia.I_BBcm_B[i, j]) for i in range(3) for j in range(i, 3)}
    ElementTree.SubElement(element, "inertia", entries)
    return element


def _geometries(tag: str, shape: Shape, T_link_body: SE3, mesh_file: str, files: Files) -> Iterator[Element]:
    T_link_shape = T_link_body @ shape.T_link_shape
    radius, half = float(shape.size[0]), float(shape.size[1])
    if shape.kind == "box":
        yield _geometry(tag, T_link_shape, "box", size=_text(*(2.0 * shape.size)))
    elif shape.kind == "sphere":
        yield _geometry(tag, T_link_shape, "sphere", radius=_text(radius))
    elif shape.kind in ("cylinder", "capsule"):
        yield _geometry(tag, T_link_shape, "cylinder", radius=_text(radius), length=_text(2.0 * half))
        for end in (half, -half) if shape.kind == "capsule" else ():
            T_shape_end = SE3(SO3.identity(), np.array([0.0, 0.0, end]))
            yield _geometry(tag, T_link_shape @ T_shape_end, "sphere", radius=_text(radius))
    else:
        files[f"robot/{mesh_file}"] = write_obj(*shape.mesh, comment="unit m")
        yield _mesh_geometry(tag, T_link_shape, mesh_file)


def _mesh_geometry(tag: str, T_link_shape: SE3, file: str) -> Element:
    return _geometry(tag, T_link_shape, "mesh", filename=file)


def _geometry(tag: str, T_link_shape: SE3, kind: str, **attributes: str) -> Element:
    element = ElementTree.Element(tag)
    element.append(_origin(T_link_shape))
    ElementTree.SubElement(ElementTree.SubElement(element, "geometry"), kind, attributes)
    return element


def _origin(T: SE3) -> Element:
    return ElementTree.Element("origin", xyz=_text(*T.translation), rpy=_text(*roll_pitch_yaw(T.rotation)))


def roll_pitch_yaw(rotation: SO3) -> tuple[float, float, float]:
    """Angles about the fixed x, y and z axes [rad], in this order."""
    R = rotation.as_matrix()
    flat = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], flat)
    if flat < 1e-9:  # looking straight up or down: roll and yaw turn about one axis
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def _text(*values: float) -> str:
    return " ".join(f"{float(value):.17g}" for value in values)


def _not_carried(scene: ExportScene) -> tuple[str, ...]:
    words = [
        scene.spread_words,
        "friction by pair, stiffness of contacts, the table and where objects start (in scene.json)",
        "splats; looks that change with the view",
        "speed limits: the format demands them and the twin knows none",
    ]
    if scene.twin.reconstruction.background is not None or scene.twin.reconstruction.table is not None:
        words.append("looks of table and background")
    if scene.links:
        words += ["servo gains (in scene.json)", "rotor inertia (armature), gravity compensation, sensors",
                  "cameras, sites and materials of the robot"]  # fmt: skip
    return (*words, *scene.beyond_rigid_bodies())
