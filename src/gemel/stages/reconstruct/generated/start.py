"""A generated model as the start of an object's fit: closed, even, at its place."""

from dataclasses import dataclass

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.services.formats.mesh_file import MeshFile
from gemel.services.generate.generator import Generator
from gemel.stages.reconstruct.generated.align import align
from gemel.stages.reconstruct.generated.solid import even_solid
from gemel.stages.reconstruct.remesh import Mesh
from gemel.stages.reconstruct.views import Views


@dataclass(frozen=True, eq=False)
class GeneratedStart:
    """Where a fit begins, and what has to be said about it."""

    mesh: Mesh
    """In the world [m]."""
    overlap: float
    """Of its outline with the masks, 0 to 1."""
    scale: float
    """Metres per unit of the model."""

    def findings(self, name: str, view_count: int) -> tuple[Finding, ...]:
        """For the record: the shape is not measured; from one view, nearly none of it is."""
        note = Finding(
            "generated-shape", Severity.NOTE,
            f"The shape of {name!r} was generated elsewhere and fitted to {view_count} views (overlap "
            f"{self.overlap:.0%}, {self.scale:.4g} m per unit of the model).",
            "record a scan and use `route = \"observed\"` where its true shape matters",
            stream=name, value=self.overlap,
        )  # fmt: skip
        if view_count > 1:
            return (note,)
        single = Finding(
            "single-image", Severity.WARNING,
            f"{name!r} is known from one image: what it does not show is invented, and its size rests on the "
            "table's place.",
            "add a view from another side", stream=name, value=1.0,
        )  # fmt: skip
        return note, single


def generated_start(
    name: str,
    generator: Generator,
    views: Views,
    *,
    table_z: float | None,
    voxel_count: int,
    face_count: int,
    rng: np.random.Generator,
) -> GeneratedStart:
    """A model of the object from its largest view, brought to its place."""
    shown = ((views.masks > 0.5) & ~views.ignore).sum(axis=(1, 2))
    v = int(np.argmax(shown))
    image = np.clip(np.round(255.0 * views.images[v]), 0, 255).astype(np.uint8)
    model = generator.mesh_of(name, image, views.masks[v] > 0.5)
    return start_from_model(
        model, views, table_z=table_z, voxel_count=voxel_count, face_count=face_count, rng=rng
    )  # fmt: skip


def start_from_model(
    model: MeshFile, views: Views, *, table_z: float | None, voxel_count: int, face_count: int, rng: np.random.Generator
) -> GeneratedStart:
    """The model as a closed mesh of even faces at the object's place."""
    coarse = even_solid(model.vertices, model.faces, voxel_count=voxel_count, face_count=face_count, rng=rng)
    found = align(model, coarse, views, table_z=table_z, rng=rng)
    return GeneratedStart((found.pose(coarse[0]), coarse[1]), found.overlap, found.pose.scale)
