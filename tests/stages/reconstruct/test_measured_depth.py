"""Logged depth in the object's reconstruction: what outlines cannot see, and depth that cannot be meant."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.benchmarks.surface_error import surface_error
from gemel.geometry import is_watertight
from gemel.services.render.cpu import RendererCpu
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.checks.depth_agreement import depth_ratio, with_trusted_depth
from gemel.stages.reconstruct.fit import FitConfig
from gemel.stages.reconstruct.measured import measured_part
from gemel.stages.reconstruct.object_fit import ObjectConfig, reconstruct_object
from gemel.stages.reconstruct.object_views import ObjectViews
from gemel.stages.reconstruct.rig import FreeRig
from gemel.stages.reconstruct.views import Views
from stages.reconstruct.drawn_views import drawn_views

RADIUS_M, WALL_M, HEIGHT_M, FLOOR_M = 0.05, 0.008, 0.05, 0.008


def _cup() -> tuple[np.ndarray, np.ndarray]:
    """A closed mesh of a cup that stands on z = 0: its outline turned round the z axis."""
    inner = RADIUS_M - WALL_M
    outline = np.array(
        [[0.0, 0.0], [RADIUS_M, 0.0], [RADIUS_M, HEIGHT_M], [inner, HEIGHT_M], [inner, FLOOR_M], [0.0, FLOOR_M]]
    )
    angles = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
    rings = [[(r * np.cos(a), r * np.sin(a), z) for a in angles] for r, z in outline[1:-1]]
    vertices = np.array([(0.0, 0.0, 0.0), *(p for ring in rings for p in ring), (0.0, 0.0, FLOOR_M)])
    n, last = len(angles), 1 + 4 * len(angles)
    faces = []
    for i in range(n):
        j = (i + 1) % n
        faces += [(0, 1 + j, 1 + i), (last, 1 + 3 * n + i, 1 + 3 * n + j)]
        for ring in range(3):
            low, high = 1 + ring * n, 1 + (ring + 1) * n
            faces += [(low + i, low + j, high + i), (low + j, high + j, high + i)]
    return vertices, np.array(faces)


def _with_depth(views: Views, mesh: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> Views:
    """Views with the depth that a sensor would log: 2 mm of noise, and one pixel in twenty unmeasured."""
    depths = []
    for i in range(len(views)):
        p_camera = views.Ts_world_camera[i].inverse() @ mesh[0]
        depth, face = rasterise(p_camera, mesh[1], views.intrinsics[i], views.width, views.height)
        is_measured = (face != NOTHING) & (rng.random(depth.shape) > 0.05)
        depths.append(np.where(is_measured, depth + 0.002 * rng.standard_normal(depth.shape), 0.0))
    return replace(views, depths=np.stack(depths).astype(np.float32))


@pytest.fixture(scope="module")
def views() -> Views:
    cup = _cup()
    return _with_depth(drawn_views(*cup, count=12, width=80, height=60), cup, np.random.default_rng(0))


@pytest.mark.slow
def test_depth_opens_the_cup_that_outlines_close(views: Views) -> None:
    """Outlines and pictures leave the cup filled; logged depth empties it, and the mesh stays closed."""
    config = ObjectConfig(voxel_count=48, face_count=1200, fit=FitConfig(steps=(40, 80), gaussian_count=2500))
    errors = {}
    for name, seen in {"with": views, "without": replace(views, depths=None)}.items():
        rig = FreeRig(seen, np.zeros(3), rotation_sigma_rad=0.0, translation_sigma_m=0.0)
        asset, _ = reconstruct_object(seen, rig, config, renderer=RendererCpu(1), rng=np.random.default_rng(0))
        assert is_watertight(asset.vertices, asset.faces)
        errors[name] = surface_error((asset.vertices, asset.faces), _cup(), np.random.default_rng(0))
    assert errors["with"].root_chamfer_mm < 0.6 * errors["without"].root_chamfer_mm
    assert errors["with"].root_chamfer_mm < 3.0
    assert abs(errors["with"].volume_ratio - 1.0) < 0.5 * abs(errors["without"].volume_ratio - 1.0)


def test_half_size_keeps_depth_only_where_it_is_of_one_surface(views: Views) -> None:
    """A block of four pixels has a depth when all were measured and lie together."""
    depths = np.ones((1, 2, 6), np.float32)
    depths[0, 0, 2], depths[0, 1, 5] = 0.0, 2.0
    one = views.subset([0])
    small = replace(
        one, images=np.zeros((1, 2, 6, 3), np.float32), masks=np.ones((1, 2, 6), np.float32),
        ignore=np.zeros((1, 2, 6), bool), depths=depths,
    ).half_size()  # fmt: skip
    assert small.depths is not None
    assert np.array_equal(small.depths, [[[1.0, 0.0, 0.0]]])


def test_depth_in_another_unit_is_not_used(views: Views) -> None:
    """Millimetres that are really half millimetres put the object at twice its distance: a finding, and no depth."""
    rows = np.arange(len(views))
    assert depth_ratio(views) == pytest.approx(1.0, abs=0.2)
    assert 0.9 < measured_part(views) < 1.0
    good, nothing = with_trusted_depth(ObjectViews(views, None, rows, rows[:0]), "cup")
    assert nothing == ()
    assert good.fitted.depths is not None
    assert views.depths is not None
    wrong = replace(views, depths=2.0 * views.depths)
    bad, findings = with_trusted_depth(ObjectViews(wrong, None, rows, rows[:0]), "cup")
    assert bad.fitted.depths is None
    assert [finding.code for finding in findings] == ["depth-disagrees"]
