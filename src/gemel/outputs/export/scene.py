"""What all formats write: the twin with one draw of its belief, compiled once, as records.

Lengths are metres, quaternions wxyz and the world has z up, as everywhere in Gemel; formats that differ convert.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gemel.artifacts.blob import Blobs
from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3, Inertia
from gemel.geometry.mesh_shapes import Mesh
from gemel.outputs.export.links import Link, links_of
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.render.spherical_harmonics import C0
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.compile import CompiledTwin, compile_twin, mean_draw
from gemel.services.sim.contacts import TABLE
from gemel.services.sim.drives import is_drive_parameter
from gemel.services.sim.mass_properties import nominal_inertia
from gemel.services.sim.restitution import restitution
from gemel.services.sim.slots import contact_labels
from gemel.services.sim.twin_simulator import draw_samples


@dataclass(frozen=True, eq=False)
class ExportObject:
    """A free body with its looks."""

    name: str
    T_world_object: SE3
    inertia: Inertia
    mesh: SplatMesh
    gaussians: Gaussians
    """In the object's frame."""
    pieces: tuple[Mesh, ...]
    """Convex pieces that touch, in the object's frame [m]."""


@dataclass(frozen=True)
class Contact:
    """How two parts touch."""

    label: str
    """`A-B`."""
    dimension: int
    """3: sliding friction, 4: turning too, 6: rolling too."""
    friction: tuple[float, ...]
    """Sliding twice, turning [m], rolling twice [m]."""
    solref: tuple[float, float]
    """Time constant [s] and damping ratio of the contact in MuJoCo."""

    @property
    def restitution(self) -> float:
        """Speed after over speed before a bounce."""
        return float(restitution(np.array(self.solref[1])))


@dataclass(frozen=True, eq=False)
class ExportScene:
    """A twin with the values of one draw."""

    twin: Twin
    compiled: CompiledTwin
    draw: Mapping[str, float]
    draw_name: str
    """`mean`, or which draw."""
    objects: tuple[ExportObject, ...]
    contacts: tuple[Contact, ...]

    @property
    def model(self) -> Any:
        """`mujoco.MjModel` of the whole scene."""
        return self.compiled.model

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The robot's links, parents first; empty without a robot."""
        return links_of(self.model, self.robot_bodies)

    @cached_property
    def robot_bodies(self) -> tuple[int, ...]:
        """Bodies that are neither free objects nor parts of objects with joints."""
        others = {*self.compiled.objects}
        prefixes = tuple(f"{name}_" for name in self.twin.reconstruction.articulated)
        roots = [int(self.model.body_rootid[i]) for i in range(self.model.nbody)]
        names = [self.model.body(root).name for root in roots]
        return tuple(
            i
            for i in range(1, self.model.nbody)
            if names[i] not in others and not names[i].startswith(prefixes or ("\0",))
        )

    def T_world_link(self, name: str) -> SE3:
        """Where a link is at the start."""
        return body_poses(self.model, name, np.array(self.model.qpos0))

    def contact(self, name: str, other: str = TABLE) -> Contact | None:
        """The contact of an object with the table or another part."""
        labels = (f"{name}-{other}", f"{other}-{name}")
        return next((contact for contact in self.contacts if contact.label in labels), None)

    def robot_contacts(self) -> tuple[int, ...]:
        """Pairs of geoms of the model of which one is the robot's and the other a free object's."""
        others = {TABLE, *self.twin.reconstruction.articulated}
        found: list[int] = []
        for label, pairs in contact_labels(self.model).items():
            parts = {*contact_parts(self, next(c for c in self.contacts if c.label == label))}
            if parts & {*self.compiled.objects} and not parts <= {*self.compiled.objects, *others}:
                found += pairs
        return tuple(found)

    @property
    def spread_words(self) -> str:
        """What no format of one scene carries of a belief."""
        return f"the belief's spread: written is its {self.draw_name}"

    def drive_values(self) -> dict[str, float]:
        """Delay, backlash and lead of the drives."""
        return {name: value for name, value in self.draw.items() if is_drive_parameter(name)}

    def splats(self) -> dict[str, Gaussians]:
        """All splats by part: objects, links of the robot, `table` and `background`, each in its own frame."""
        seen = self.twin.reconstruction
        links = {self.model.body(body).name for body in self.robot_bodies}
        found = {thing.name: thing.gaussians for thing in self.objects}
        found |= {name: gaussians_of(mesh) for name, mesh in seen.links.items() if name in links}
        if seen.table is not None:
            found[TABLE] = gaussians_of(seen.table)
        if seen.background is not None:
            found["background"] = seen.background
        return {name: gaussians for name, gaussians in found.items() if len(gaussians)}

    def filter_words(self) -> str:
        """The low-pass filters that splats were fitted with, in words; viewers use one of their own."""
        filters = {(g.dilation_px2, g.is_antialiased) for g in self.splats().values()}
        return ", ".join(f"{px2:g} px²{', antialiased' if smooth else ''}" for px2, smooth in sorted(filters))

    def left_out_of_looks(self, *, has_background: bool = False) -> tuple[str, ...]:
        """Parts that formats of looks leave out, in words."""
        seen = self.twin.reconstruction
        words = [f"objects with joints: {', '.join(seen.articulated)}"] if seen.articulated else []
        words += ["the background"] if seen.background is not None and not has_background else []
        return tuple(words)

    def beyond_rigid_bodies(self) -> tuple[str, ...]:
        """What this scene has and no format of rigid bodies and servos can carry, in words."""
        words = []
        if self.twin.reconstruction.articulated:
            words.append(f"objects with joints: {', '.join(self.twin.reconstruction.articulated)}")
        if self.drive_values():
            words.append("delay, backlash and lead of drives")
        return tuple(words)


def export_scene(twin: Twin, blobs: Blobs, *, draw_seed: int | None = None) -> ExportScene:
    """Compile the twin at the belief's mean, or at the draw of a seed."""
    draw = mean_draw(twin)
    if draw_seed is not None:
        if draw_seed < 0:
            raise ConfigError(
                f"The draw's seed is {draw_seed}; seeds begin at 0.", remedy="give --draw a whole number from 0 on"
            )
        sample = draw_samples(twin, 1, np.random.default_rng(draw_seed))[0]
        draw = dict(zip(twin.belief.names, sample.tolist(), strict=True))
    twin = _with_bare_table(twin)
    compiled = compile_twin(twin, blobs, draw)
    return ExportScene(
        twin=twin,
        compiled=compiled,
        draw=draw,
        draw_name="mean" if draw_seed is None else f"draw of seed {draw_seed}",
        objects=tuple(_object(twin, compiled.model, name) for name in compiled.objects),
        contacts=tuple(_contacts(compiled.model)),
    )


def contact_parts(scene: ExportScene, contact: Contact) -> tuple[str, str]:
    """The two parts of a contact `A-B`; names may have hyphens of their own."""
    known = {TABLE, *scene.compiled.objects, *scene.twin.reconstruction.articulated}
    words = contact.label.split("-")
    ways = [("-".join(words[:i]), "-".join(words[i:])) for i in range(1, len(words))]
    return max(ways, key=lambda way: sum(part in known for part in way))


def _with_bare_table(twin: Twin) -> Twin:
    """The twin with a table that has no shade of objects in it: in files objects move and their shade does not."""
    seen = twin.reconstruction
    if seen.table is None or seen.bare_table is None:
        return twin
    sh = seen.table.sh.copy()
    sh[:, 0] = (seen.bare_table - 0.5) / C0
    return replace(twin, reconstruction=replace(seen, table=replace(seen.table, sh=sh)))


def mesh_in_file_frame(model: Any, m: int) -> Mesh:
    """A mesh of a compiled model as its file had it: MuJoCo moves every mesh to its centre and principal axes."""
    v0, vn = int(model.mesh_vertadr[m]), int(model.mesh_vertnum[m])
    f0, fn = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
    T_file_mesh = SE3(SO3(np.array(model.mesh_quat[m])), np.array(model.mesh_pos[m]))
    vertices = T_file_mesh @ np.array(model.mesh_vert[v0 : v0 + vn], dtype=np.float64)
    return vertices, np.array(model.mesh_face[f0 : f0 + fn], dtype=np.int64)


def _object(twin: Twin, model: Any, name: str) -> ExportObject:
    mesh = twin.reconstruction.objects.get(name)
    if mesh is None:
        raise ConfigError(
            f"The twin has no shape for {name!r}; it has {sorted(twin.reconstruction.objects)}.",
            remedy="run the reconstruct stage again",
        )
    pieces = [model.mesh(f"{name}/{i}").id for i in range(len(twin.colliders[name]))]
    return ExportObject(
        name=name,
        T_world_object=twin.initial_poses[name],
        inertia=nominal_inertia(model, model.body(name).id),
        mesh=mesh,
        gaussians=gaussians_of(mesh),
        pieces=tuple(mesh_in_file_frame(model, m) for m in pieces),
    )


def _contacts(model: Any) -> list[Contact]:
    found = []
    for label, pairs in contact_labels(model).items():
        first = pairs[0]
        friction = tuple(float(value) for value in model.pair_friction[first])
        time_s, damping = (float(value) for value in model.pair_solref[first])
        found.append(Contact(label, int(model.pair_dim[first]), friction, (time_s, damping)))
    return found
