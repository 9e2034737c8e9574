"""Meshes that bound no solid are refused with what is wrong with them; looks that are off the mesh are named."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.splatmesh import SplatMesh
from gemel.errors import ConfigError
from gemel.geometry import box_mesh, icosphere_mesh
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.stage import assemble
from gemel.store.store import Store
from services.sim.made_twin import at, belief, reconstruction, splat_mesh

VERTICES, FACES = box_mesh((0.1, 0.06, 0.04))
NAN = np.where(np.arange(len(VERTICES))[:, None] == 0, np.nan, VERTICES)
HALF_FLIPPED = np.where(np.arange(len(FACES))[:, None] % 2, FACES, FACES[:, ::-1])


def _findings(folder: Path, **meshes: SplatMesh) -> tuple[Finding, ...]:
    seen = reconstruction(meshes, {name: at(0.3 * i, 0.0, 0.02) for i, name in enumerate(meshes)})
    _, info = assemble(
        seen, belief({}), AssembleConfig(is_gate_strict=False), robot=None, joints=(), task=None,
        blobs=Store(folder / "store"), rng=np.random.default_rng(0),
    )  # fmt: skip
    return info.findings


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (VERTICES, FACES[:-2], "it has holes"),
        (VERTICES, FACES[:, ::-1], "look inwards"),
        (VERTICES, HALF_FLIPPED, "opposite directions"),
        (VERTICES * [1.0, 1.0, 0.0], FACES, "no volume"),
        (np.array([[0.0, 0, 0], [0.1, 0, 0], [0.05, 0, 0]]), np.array([[0, 1, 2]]), "it has holes"),
        (np.zeros((0, 3)), np.zeros((0, 3), int), "no faces"),
        (NAN, FACES, "not finite"),
        (1e-6 * VERTICES, FACES, "longest side"),
    ],
)
def test_what_is_no_solid_is_refused(tmp_path: Path, vertices: np.ndarray, faces: np.ndarray, words: str) -> None:
    """Also where the gate is told not to be strict: there is nothing to simulate."""
    with pytest.raises(ConfigError, match=rf"(?s)bad-mesh \(box\): The mesh of 'box' is no solid: .*{words}.*→"):
        _findings(tmp_path, box=splat_mesh(vertices, faces))


def test_all_bad_meshes_are_told_together(tmp_path: Path) -> None:
    """And sound ones are not among them."""
    sound, holed = splat_mesh(VERTICES, FACES), splat_mesh(VERTICES, FACES[1:])
    flipped = splat_mesh(VERTICES, FACES[:, ::-1])
    with pytest.raises(ConfigError, match=r"(?s)\(cup\).*\(pan\)") as caught:
        _findings(tmp_path, mug=sound, cup=holed, pan=flipped)
    assert "mug" not in str(caught.value)


def test_a_million_faces_are_refused_within_seconds(tmp_path: Path) -> None:
    """Cutting them into pieces would take minutes."""
    mesh = splat_mesh(*icosphere_mesh(0.05, 8))
    start = time.perf_counter()
    with pytest.raises(ConfigError, match="1310720 faces, at most 200000"):
        _findings(tmp_path, ball=mesh)
    assert time.perf_counter() - start < 2.0


@pytest.mark.parametrize(("scale", "severity"), [(0.8, Severity.NOTE), (20.0, Severity.ERROR)])
def test_looks_off_the_mesh_are_named(tmp_path: Path, scale: float, severity: Severity) -> None:
    """Splats that tile a ball pass with a figure; far larger ones are not where the ball is touched."""
    vertices, faces = icosphere_mesh(0.02, 3)
    count = len(faces)
    ball = replace(
        splat_mesh(vertices, faces), face_from_gaussian=np.arange(count), barycentric=np.full((count, 3), 1.0 / 3.0),
        in_plane_scale=np.full((count, 2), scale), sh=np.zeros((count, 1, 3)), opacity=np.ones(count),
    )  # fmt: skip
    (found,) = (f for f in _findings(tmp_path, ball=ball) if f.code == "mesh-splat-distance")
    assert found.severity is severity
    assert found.value is not None
    assert found.value > 0.0
