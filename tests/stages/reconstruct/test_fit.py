"""The joint fit on drawn views of a known box: truth, laws of its parts, and what it says was seen."""

from dataclasses import replace

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.benchmarks.surface_error import surface_error
from gemel.geometry import box_mesh, face_normals, icosphere_mesh, is_watertight, vertex_normals
from gemel.services.render.cpu import RendererCpu
from gemel.services.render.similarity import psnr_db, ssim_map
from gemel.stages.reconstruct.fit import FitConfig
from gemel.stages.reconstruct.losses import LossWeights, SurfaceLoss
from gemel.stages.reconstruct.object_fit import ObjectConfig, gaussians_per_edge, reconstruct_object
from gemel.stages.reconstruct.rig import FreeRig
from gemel.stages.reconstruct.schedule import turns
from gemel.stages.reconstruct.seen import look_at_points, seen_vertices
from gemel.stages.reconstruct.vertex_step import VertexStep
from gemel.stages.reconstruct.views import Views
from stages.reconstruct.drawn_views import drawn_views

SIZE = (0.10, 0.06, 0.04)


def _box() -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = box_mesh(SIZE)
    return vertices + np.array([0.0, 0.0, 0.5 * SIZE[2]]), faces


@pytest.fixture(scope="module")
def views() -> Views:
    return drawn_views(*_box())


def _fixed_rig(views: Views) -> FreeRig:
    return FreeRig(views, np.zeros(3), rotation_sigma_rad=0.0, translation_sigma_m=0.0)


@pytest.mark.slow
def test_a_box_is_found_from_its_pictures(views: Views) -> None:
    """From drawn views alone: closed mesh, right volume, surface within a pixel (3.4 mm), underside invented."""
    fit = FitConfig(steps=(100, 300), gaussian_count=3000)
    config = ObjectConfig(voxel_count=64, face_count=900, fit=fit)
    asset, info = reconstruct_object(
        views, _fixed_rig(views), config, renderer=RendererCpu(1), rng=np.random.default_rng(0)
    )
    error = surface_error((asset.vertices, asset.faces), _box(), np.random.default_rng(0))
    assert is_watertight(asset.vertices, asset.faces)
    assert error.root_chamfer_mm < 1.2
    assert error.volume_ratio == pytest.approx(1.0, abs=0.1)
    assert np.mean(info.losses[-50:]) < 0.6 * np.mean(info.losses[:20])
    normals = vertex_normals(asset.vertices, asset.faces)
    assert asset.vertices[:, 2].min() == 0.0
    assert not asset.is_seen[normals[:, 2] < -0.9].any()
    assert asset.is_seen[normals[:, 2] > 0.9].all()


@pytest.mark.slow
def test_equal_seeds_give_equal_assets(views: Views) -> None:
    """The same views, configuration and seed give the same numbers, bit for bit."""
    config = ObjectConfig(voxel_count=32, face_count=400, fit=FitConfig(steps=(10, 20), gaussian_count=1000))
    runs = [
        reconstruct_object(views, _fixed_rig(views), config, renderer=RendererCpu(1), rng=np.random.default_rng(5))[0]
        for _ in range(2)
    ]
    assert np.array_equal(runs[0].vertices, runs[1].vertices)
    assert np.array_equal(runs[0].sh, runs[1].sh)


def test_what_is_turned_away_or_hidden_is_not_seen(views: Views) -> None:
    """Every view from above sees the middle of the top, none the middle of the underside, about half a side."""
    vertices, faces = _box()
    points = np.array([[0.0, 0.0, 0.04], [0.0, 0.0, 0.0], [0.05, 0.0, 0.02]])
    normals = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    sight = look_at_points(views, views.Ts_camera_world, vertices, faces, points, normals)
    assert sight.is_seen[:, 0].all()
    assert not sight.is_seen[:, 1].any()
    assert 4 <= sight.is_seen[:, 2].sum() <= 10
    covered = replace(views, ignore=np.ones_like(views.ignore))
    assert not look_at_points(covered, views.Ts_camera_world, vertices, faces, points, normals).is_seen.any()


def test_vertices_on_the_table_are_invented(views: Views) -> None:
    """The corners of the top are seen; a face that rests on the table is not, whatever is seen of its rim."""
    vertices, faces = _box()
    is_seen = seen_vertices(views, views.Ts_camera_world, vertices, faces, table_z=0.0)
    assert is_seen[vertices[:, 2] > 0.02].all()


def test_smoothed_steps_move_the_neighbourhood() -> None:
    """A gradient at one vertex moves its neighbours along, far ones hardly, and the largest step is the asked one."""
    vertices, faces = icosphere_mesh(0.05, 3)
    tensor = torch.tensor(vertices, dtype=torch.float32)
    gradient = torch.zeros_like(tensor)
    gradient[0, 2] = 1.0
    stepper = VertexStep(tensor, faces, smoothing=15.0)
    moved = tensor.clone()
    stepper.step(moved, gradient, 0.001)
    shift = (tensor - moved)[:, 2].numpy()
    distance = np.linalg.norm(vertices - vertices[0], axis=1)
    near = (distance > 0.0) & (distance < 0.012)
    assert shift[0] == pytest.approx(0.001, rel=1e-4)
    assert shift[near].min() > 0.1 * shift[0]
    assert shift[distance > 0.09].max() < 0.03 * shift[0]


def test_vertices_with_small_gradients_may_have_steps_of_their_own() -> None:
    """A vertex whose gradient is a tenth of the largest moves a tenth as far if all share, as far if they do not."""
    vertices, faces = icosphere_mesh(0.05, 2)
    tensor = torch.tensor(vertices, dtype=torch.float32)
    gradient = torch.zeros_like(tensor)
    gradient[0, 2], gradient[40, 2] = 1.0, 0.1
    shift = {}
    for shared in (1.0, 0.03):
        moved = tensor.clone()
        VertexStep(tensor, faces, smoothing=0.0, shared=shared).step(moved, gradient, 0.001)
        shift[shared] = (tensor - moved)[[0, 40, 80], 2].numpy()
    assert shift[1.0] == pytest.approx([1e-3, 1e-4, 0.0], rel=1e-3, abs=1e-9)
    assert shift[0.03] == pytest.approx([1e-3, 1e-3, 0.0], rel=1e-3, abs=1e-9)


def test_surface_loss_has_no_unit() -> None:
    """A mesh and the same mesh ten times as large cost the same; a rough one costs more."""
    vertices, faces = icosphere_mesh(0.05, 2)
    rough = vertices + 0.002 * np.random.default_rng(0).standard_normal(vertices.shape)

    def cost(v: np.ndarray) -> float:
        return float(SurfaceLoss(v, faces, "cpu")(torch.tensor(v, dtype=torch.float32), LossWeights()))

    assert cost(10.0 * vertices) == pytest.approx(cost(vertices), rel=1e-4)
    assert cost(rough) > 1.2 * cost(vertices)


def test_flat_faces_with_sharp_edges_cost_less_than_waves() -> None:
    """Of two surfaces with the same total turning, neither is preferred; added waves are."""
    vertices, faces = box_mesh(SIZE)
    loss = SurfaceLoss(vertices, faces, "cpu")
    only_normals = LossWeights(laplacian=0.0, edge=0.0, normal=1.0)
    flat = float(loss(torch.tensor(vertices, dtype=torch.float32), only_normals))
    bent = vertices.copy()
    bent[0] += 0.01
    assert float(loss(torch.tensor(bent, dtype=torch.float32), only_normals)) > flat
    assert face_normals(vertices, faces).shape == (12, 3)


def test_gaussians_go_where_faces_are_seen() -> None:
    """Unseen faces get one, seen ones n or n + 1 squared, larger faces more; the total stays within the budget."""
    rng = np.random.default_rng(0)
    is_seen, areas = rng.random(300) < 0.5, rng.random(300)
    per_edge = gaussians_per_edge(is_seen, areas, 2000)
    total = int(np.sum(per_edge**2))
    assert 1900 < total <= 2000
    assert np.all(per_edge[~is_seen] == 1)
    assert set(per_edge[is_seen]) == {3, 4}
    assert areas[is_seen & (per_edge == 4)].min() >= areas[is_seen & (per_edge == 3)].max()


def test_every_view_comes_before_any_comes_again(views: Views) -> None:
    """Within one size, views are shuffled but none is left out; sizes double; steps shrink to a tenth."""
    rows = list(turns(views, (14, 28), np.random.default_rng(0), device="cpu"))
    assert sorted(turn.view for turn in rows[:14]) == list(range(14))
    assert sorted(turn.view for turn in rows[14:28]) == list(range(14))
    assert [rows[0].size, rows[-1].size] == [0.5, 1.0]
    assert rows[0].slowness == 1.0
    assert 0.1 < rows[-1].slowness < 0.11


def test_ssim_of_equal_images_is_one_and_falls_with_noise() -> None:
    """SSIM is 1 for equal images, symmetric, and lower the more noise is added; PSNR is that of the noise."""
    rng = np.random.default_rng(0)
    image = torch.tensor(rng.random((24, 32, 3)), dtype=torch.float32)
    noise = torch.tensor(rng.standard_normal(image.shape), dtype=torch.float32)
    scores = [float(ssim_map(image, image + sigma * noise).mean()) for sigma in (0.0, 0.05, 0.2)]
    assert scores[0] == pytest.approx(1.0, abs=1e-5)
    assert scores[0] > scores[1] > scores[2]
    assert torch.allclose(ssim_map(image, noise), ssim_map(noise, image), atol=1e-4)
    assert psnr_db(image, image + 0.1 * noise, torch.ones(24, 32)) == pytest.approx(20.0, abs=0.3)


def test_ssim_follows_its_definition() -> None:
    """In the middle of an image SSIM equals the formula of Wang et al. with explicit 11 x 11 Gaussian weights."""
    rng = np.random.default_rng(1)
    a, b = rng.random((21, 21)), rng.random((21, 21))
    at = np.arange(-5, 6)
    window = np.exp(-0.5 * (at[:, None] ** 2 + at[None, :] ** 2) / 1.5**2)
    window /= window.sum()
    pa, pb = a[5:16, 5:16], b[5:16, 5:16]
    ma, mb = (window * pa).sum(), (window * pb).sum()
    va, vb = (window * pa * pa).sum() - ma**2, (window * pb * pb).sum() - mb**2
    both = (window * pa * pb).sum() - ma * mb
    expected = (2 * ma * mb + 1e-4) * (2 * both + 9e-4) / ((ma**2 + mb**2 + 1e-4) * (va + vb + 9e-4))
    given = ssim_map(*(torch.tensor(x, dtype=torch.float32)[..., None] for x in (a, b)))[10, 10, 0]
    assert float(given) == pytest.approx(expected, abs=1e-4)
