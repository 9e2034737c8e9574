"""The gate tells right reconstructions from wrong ones, and says which view or part is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.finding import Severity
from gemel.artifacts.splatmesh import SplatMesh
from gemel.errors import SourceError
from gemel.geometry import box_mesh, face_normals, icosphere_mesh
from gemel.geometry.mesh_shapes import Mesh, merge_meshes, torus_mesh
from gemel.services.render.splat_distance import mesh_splat_distance
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.gate.judge import insist, judge, mesh_findings
from gemel.stages.reconstruct.gate.self_intersection import intersecting_faces
from gemel.stages.reconstruct.gate.view_sectors import view_sectors
from gemel.stages.reconstruct.located import Located, locate_by_robot
from gemel.stages.reconstruct.object_views import object_views
from gemel.stages.reconstruct.observations import Observations
from stages.reconstruct.made_lab import BLOCK, BLOCK_AT, JOINTS, OBJECT, cameras, intact, shade


def splatmesh(mesh: Mesh, *, scale: float = 1.2) -> SplatMesh:
    """One red Gaussian in the middle of every face, lit as the lab is."""
    vertices, faces = mesh
    count = len(faces)
    red = (np.array([0.75, 0.15, 0.2]) * shade(face_normals(vertices, faces))[:, None] - 0.5) / 0.28209479
    return SplatMesh(
        vertices, faces, np.ones(len(vertices), bool), np.arange(count), np.full((count, 3), 1.0 / 3.0),
        np.full((count, 2), scale), 1e-4, red[:, None], np.full(count, 0.99), 0.02,
    )  # fmt: skip


def fine_box(size: np.ndarray, cuts: int = 3) -> Mesh:
    """A box with small faces."""
    vertices, faces = icosphere_mesh(1.0, cuts)
    return vertices / np.abs(vertices).max(axis=1, keepdims=True) * 0.5 * size, faces


def test_faces_that_pass_through_each_other_are_found() -> None:
    """Two balls that overlap cross along a circle; balls side by side, a box and a torus cross nowhere."""
    ball = icosphere_mesh(1.0, 2)
    overlapping = merge_meshes([ball, (ball[0] + [1.0, 0.1, 0.2], ball[1])])
    found = intersecting_faces(*overlapping)
    assert len(found) > 20
    # All of them lie near the plane in which the two spheres meet.
    middles = overlapping[0][overlapping[1][found]].mean(axis=1)
    axis = np.array([1.0, 0.1, 0.2]) / np.linalg.norm([1.0, 0.1, 0.2])
    assert np.abs(middles @ axis - 0.5 * np.linalg.norm([1.0, 0.1, 0.2])).max() < 0.3
    apart = merge_meshes([ball, (ball[0] + [2.5, 0.0, 0.0], ball[1])])
    for mesh in (apart, box_mesh((1.0, 2.0, 3.0)), torus_mesh(1.0, 0.3)):
        assert len(intersecting_faces(*mesh)) == 0


def test_splats_that_leave_the_mesh_are_measured() -> None:
    """Splats that tile a ball lie within its facets; far larger ones stick out by their own size."""
    ball = icosphere_mesh(0.05, 3)
    rng = np.random.default_rng(0)
    assert mesh_splat_distance(splatmesh(ball, scale=0.8), rng) < 0.001
    assert mesh_splat_distance(splatmesh(ball, scale=20.0), rng) > 0.005


def test_a_sound_asset_passes_and_each_defect_is_named() -> None:
    """Closed, simple and of a plausible size: nothing; each defect alone: its own code."""
    rng = np.random.default_rng(0)
    ball = icosphere_mesh(0.05, 3)

    def codes(mesh: SplatMesh) -> list[str]:
        return [finding.code for finding in mesh_findings("ball", mesh, is_metric=True, rng=rng)]

    good = splatmesh(ball, scale=0.8)
    assert codes(good) == []
    hole = splatmesh((ball[0], ball[1][1:]), scale=0.8)
    assert codes(hole) == ["not-watertight"]
    assert codes(splatmesh((ball[0], np.ascontiguousarray(ball[1][:, ::-1])), scale=0.8)) == ["inside-out"]
    assert codes(splatmesh((100.0 * ball[0], ball[1]), scale=0.8)) == ["implausible-size"]
    two = merge_meshes([ball, (ball[0] + [0.05, 0.0, 0.0], ball[1])])
    assert codes(splatmesh(two, scale=0.8)) == ["self-intersection"]
    assert codes(splatmesh(ball, scale=20.0)) == ["mesh-splat-distance"]


def test_missing_directions_are_told() -> None:
    """Cameras over three quarters of a circle leave the last quarter, and the advice names it."""
    azimuth = np.radians(np.arange(90.0, 361.0, 15.0))
    eyes = np.stack([np.cos(azimuth), np.sin(azimuth), np.full(len(azimuth), 1.0)], axis=-1)
    sectors = view_sectors(eyes, np.zeros(3))
    assert sectors.widest_gap_deg == pytest.approx(90.0)
    assert "azimuth 0 to 90" in sectors.advice
    assert "lower than 45" in sectors.advice


@pytest.fixture(scope="module")
def lab() -> tuple[Observations, Located]:
    """The small lab, with cameras where they truly are."""
    observations = replace(intact().observations, cameras=cameras())
    located = locate_by_robot(
        observations, JOINTS, intact().robot, CalibrationConfig(), is_calibrated=False, on_progress=lambda part: None
    )
    return observations, located


def fitted(observations: Observations, located: Located, mesh: Mesh) -> FittedObject:
    views = object_views(
        observations, OBJECT, located.Ts_world_camera, located.intrinsics, list(located.robots), fixed_views=2
    )
    ones = ((1.0, 1.0, 1.0),) * 3
    return FittedObject(splatmesh(mesh), views, ones, ((0.0, 0.0, 0.0),) * 3, np.zeros((len(views.fitted_rows), 3)))


def judged(observations: Observations, located: Located, mesh: Mesh) -> dict[str, Severity]:
    found = judge(
        {OBJECT: fitted(observations, located, mesh)}, located, observations, is_metric=True,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert all(finding.remedy for finding in found)
    return {finding.code: finding.severity for finding in found}


def test_the_true_block_passes_the_gate(lab: tuple[Observations, Located]) -> None:
    """The block itself at its place explains its views; only the missing views behind it are told."""
    vertices, faces = fine_box(BLOCK)
    found = judged(*lab, (vertices + BLOCK_AT, faces))
    assert Severity.ERROR not in found.values(), found
    assert set(found) <= {"missing-views", "silhouette-mismatch"}, found


@pytest.mark.parametrize("change", ["shifted", "small"])
def test_a_wrong_block_fails_the_gate(lab: tuple[Observations, Located], change: str) -> None:
    """A block at another place or of another size contradicts its views."""
    size = 0.6 * BLOCK if change == "small" else BLOCK
    vertices, faces = fine_box(size)
    place = BLOCK_AT + np.array([0.03, 0.03, 0.0]) if change == "shifted" else BLOCK_AT
    assert judged(*lab, (vertices + place, faces))["views-disagree"] is Severity.ERROR


def test_a_strict_gate_stops_and_tells_everything(lab: tuple[Observations, Located]) -> None:
    """Errors become one exception that lists them all; warnings stop nothing."""
    vertices, faces = fine_box(0.6 * BLOCK)
    item = fitted(*lab, (vertices + BLOCK_AT, faces[1:]))
    found = judge({OBJECT: item}, lab[1], lab[0], is_metric=True, rng=np.random.default_rng(0))
    with pytest.raises(SourceError, match="views-disagree") as caught:
        insist(found)
    assert "not-watertight" in str(caught.value)
    insist([finding for finding in found if finding.severity is not Severity.ERROR])
    assert "is_gate_strict" in str(caught.value)
