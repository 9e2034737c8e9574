"""Laws of Gaussians that live on faces: they move, stretch and tile with the mesh, and gradients are right."""

from dataclasses import replace

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3, SO3, icosphere_mesh
from gemel.services.render.cpu import RendererCpu
from gemel.services.render.reference import RendererReference
from gemel.services.render.renderer import RenderRequest
from gemel.services.render.splatmesh import barycentric_grid, bind, gaussians_of, place, place_plainly, spread
from gemel.services.render.transform import transform_gaussians


def _asset(per_edge: int = 2, *, seed: int = 0) -> SplatMesh:
    rng = np.random.default_rng(seed)
    vertices, faces = icosphere_mesh(0.05, 1)
    vertices = vertices * np.array([1.0, 0.7, 0.5]) + 0.004 * rng.standard_normal(vertices.shape)
    grid = barycentric_grid(per_edge)
    count = len(faces) * len(grid)
    return SplatMesh(
        vertices=vertices,
        faces=faces,
        is_seen=np.ones(len(vertices), bool),
        face_from_gaussian=np.repeat(np.arange(len(faces)), len(grid)),
        barycentric=np.tile(grid, (len(faces), 1)),
        in_plane_scale=rng.uniform(0.5, 1.2, (count, 2)) / per_edge,
        normal_scale_m=1e-4,
        sh=rng.normal(scale=0.4, size=(count, 4, 3)),
        opacity=rng.uniform(0.3, 0.99, count),
        dilation_px2=0.05,
    )


def _request(asset: SplatMesh, dtype: torch.dtype, **changes: object) -> RenderRequest:
    binding = bind(asset.faces, per_edge=2, normal_scale_m=asset.normal_scale_m)
    means, covariances = place(
        torch.tensor(asset.vertices, dtype=dtype), binding, torch.tensor(asset.in_plane_scale, dtype=dtype)
    )
    T_world_camera = SE3.look_at(np.array([0.2, 0.1, 0.15]), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    inputs = {
        "means": means,
        "covariances": covariances,
        "opacities": torch.tensor(asset.opacity, dtype=dtype),
        "sh": torch.tensor(asset.sh, dtype=dtype),
        "Ts_camera_world": torch.tensor(T_world_camera.inverse().as_matrix()[None], dtype=dtype),
        "intrinsics": torch.tensor([[60.0, 60.0, 16.0, 12.0]], dtype=dtype),
    }
    return RenderRequest(**(inputs | changes), width=32, height=24, dilation_px2=asset.dilation_px2)  # type: ignore[arg-type]


@pytest.mark.parametrize("per_edge", [1, 2, 3, 4])
def test_the_grid_tiles_the_face(per_edge: int) -> None:
    """n² Gaussians of scale 1/n, uniformly weighted, have together the mean and second moment of their face."""
    vertices = np.array([[0.0, 0.0, 0.0], [0.03, 0.0, 0.01], [0.01, 0.02, -0.01]])
    binding = bind(np.array([[0, 1, 2]]), per_edge=per_edge, normal_scale_m=0.0)
    scale = torch.full((per_edge**2, 2), 1.0 / per_edge, dtype=torch.float64)
    means, covariances = (x.numpy() for x in place(torch.tensor(vertices), binding, scale))
    centred = vertices - vertices.mean(axis=0)
    spread = means - means.mean(axis=0)
    assert np.allclose(means.mean(axis=0), vertices.mean(axis=0), atol=1e-8)
    together = covariances.mean(axis=0) + spread.T @ spread / len(means)
    assert np.allclose(together, centred.T @ centred / 12.0, atol=1e-9)


def test_rigid_motion_of_vertices_moves_the_gaussians() -> None:
    """Moving the mesh and reading its Gaussians is the same as moving its Gaussians."""
    asset, T = _asset(), SE3.random(np.random.default_rng(3))
    moved = SplatMesh(**{**vars(asset), "vertices": T @ asset.vertices})
    expected = transform_gaussians(gaussians_of(asset), T.as_matrix())
    given = gaussians_of(moved)
    assert np.allclose(given.means, expected.means, atol=1e-6)
    assert np.allclose(given.scales, expected.scales, atol=1e-7)
    R_given, R_expected = (_matrices(g.rotations) for g in (given, expected))
    for R, other in ((R_given, given), (R_expected, expected)):
        R *= other.scales[:, None, :]
    assert np.allclose(R_given @ R_given.transpose(0, 2, 1), R_expected @ R_expected.transpose(0, 2, 1), atol=1e-9)


def _matrices(wxyz: np.ndarray) -> np.ndarray:
    from gemel.geometry import SO3

    return SO3(wxyz).as_matrix()


def test_finished_asset_looks_as_it_was_fitted() -> None:
    """Covariances of the fit and rotations and scales of the asset give the same picture, on both back ends."""
    asset = _asset()
    gaussians = gaussians_of(asset)
    fitted = RendererReference().render(_request(asset, torch.float64))
    stored = RendererReference().render(
        _request(
            asset,
            torch.float64,
            means=torch.tensor(gaussians.means).double(),
            covariances=None,
            quats=torch.tensor(gaussians.rotations).double(),
            scales=torch.tensor(gaussians.scales).double(),
        )
    )
    on_cpu = RendererCpu(1).render(_request(asset, torch.float32))
    assert fitted.alpha.max() > 0.9
    assert torch.allclose(fitted.colour, stored.colour, atol=1e-4)
    assert torch.allclose(fitted.colour.float(), on_cpu.colour, atol=2e-3)


def _turned(asset: SplatMesh) -> np.ndarray:
    """Scales with a third column."""
    more = np.random.default_rng(1).uniform(-0.5, 0.5, (len(asset.in_plane_scale), 1))
    return np.concatenate([asset.in_plane_scale, more], axis=1)


def test_a_third_scale_turns_gaussians_in_their_plane() -> None:
    """Scales and turn give any ellipse in the plane of the face, and nothing out of it; no turn changes nothing."""
    vertices, faces = np.array([[0.0, 0, 0], [2.0, 0, 0], [0.5, 1.5, 0]]), np.array([[0, 1, 2]])
    binding = bind(faces, per_edge=1, normal_scale_m=0.0)
    e1, e2 = vertices[1, :2], vertices[2, :2]
    axes = np.stack([e1 * np.sqrt(1 / 18) - e2 * np.sqrt(1 / 72), e2 * np.sqrt(1 / 24)], axis=1)
    wanted = np.array([[0.3, 0.1], [0.1, 0.05]])
    within = np.linalg.inv(axes) @ wanted @ np.linalg.inv(axes).T
    s2 = np.sqrt(within[1, 1] - within[0, 1] ** 2 / within[0, 0])
    scale = np.array([[np.sqrt(within[0, 0]), s2, within[0, 1] / np.sqrt(within[0, 0])]])
    _, covariances = place(torch.tensor(vertices), binding, torch.tensor(scale))
    assert np.allclose(covariances[0, :2, :2].numpy(), wanted)
    assert not covariances[0, 2].any()
    plain, padded = (
        place(torch.tensor(vertices), binding, torch.tensor(s))[1] for s in ([[0.5, 0.7]], [[0.5, 0.7, 0.0]])
    )
    assert torch.equal(plain, padded)


def test_gradients_of_the_placement_are_those_of_finite_differences() -> None:
    """Vertices and in-plane scales get the right gradients through means and covariances."""
    asset = _asset(per_edge=2)
    binding = bind(asset.faces, per_edge=2, normal_scale_m=1e-4)
    vertices = torch.tensor(asset.vertices, requires_grad=True)
    scale = torch.tensor(_turned(asset), requires_grad=True)
    chosen = torch.arange(0, len(scale), 37)

    def placed(v: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        means, covariances = place(v, binding, s)
        return means[chosen], 1e3 * covariances[chosen]

    assert torch.autograd.gradcheck(placed, (vertices, scale), eps=1e-6, atol=1e-6)


def test_image_gradients_reach_the_vertices() -> None:
    """On the CPU back end the gradient of a picture towards vertices is the reference's."""
    asset = _asset()
    slopes = {}
    for renderer, dtype in ((RendererReference(), torch.float64), (RendererCpu(1), torch.float32)):
        vertices = torch.tensor(asset.vertices, dtype=dtype, requires_grad=True)
        binding = bind(asset.faces, per_edge=2, normal_scale_m=1e-4)
        means, covariances = place(vertices, binding, torch.tensor(asset.in_plane_scale, dtype=dtype))
        image = renderer.render(_request(asset, dtype, means=means, covariances=covariances))
        (image.colour * torch.linspace(0.0, 1.0, 32, dtype=dtype)[:, None]).sum().backward()
        slopes[renderer.name] = vertices.grad.double()
    assert slopes["reference"].abs().max() > 1.0
    difference = (slopes["cpu"] - slopes["reference"]).norm() / slopes["reference"].norm()
    assert difference < 1e-2


def test_compiled_placement_is_the_plain_one() -> None:
    """Means, covariances and gradients of the CPU kernels equal those of plain torch."""
    asset, results = _asset(), []
    binding = bind(asset.faces, per_edge=2, normal_scale_m=1e-3)
    for function in (place, place_plainly):
        vertices = torch.tensor(asset.vertices, dtype=torch.float32, requires_grad=True)
        scale = torch.tensor(_turned(asset), dtype=torch.float32, requires_grad=True)
        uv = binding.barycentric[:, 1:].clone().requires_grad_()
        means, covariances = function(vertices, binding, scale, uv)
        slope = torch.linspace(-1.0, 2.0, covariances.numel()).reshape(covariances.shape)
        ((means * slope[:, 0]).sum() + 1e3 * (covariances * slope).sum()).backward()
        results.append([means.detach(), covariances.detach(), vertices.grad, scale.grad, uv.grad])
    for compiled, plain in zip(*results, strict=True):
        assert torch.allclose(compiled, plain, rtol=1e-4, atol=1e-5 * float(plain.abs().max()))


def test_each_face_may_have_its_own_number() -> None:
    """Faces with other numbers of Gaussians have the same grids as when they are alone."""
    per_edge = np.array([2, 1, 3, 2])
    face_from_gaussian, barycentric = spread(per_edge)
    assert np.bincount(face_from_gaussian).tolist() == [4, 1, 9, 4]
    for face, number in enumerate(per_edge):
        assert np.allclose(barycentric[face_from_gaussian == face], barycentric_grid(int(number)))


@pytest.mark.parametrize("columns", [2, 3])
def test_files_and_drawings_place_gaussians_alike(columns: int) -> None:
    """What is written to files has the means and covariances of what is drawn, turned in the plane or not."""
    asset = replace(_asset(), in_plane_scale=_turned(_asset())[:, :columns])
    binding = bind(asset.faces, per_edge=2, normal_scale_m=asset.normal_scale_m)
    binding = replace(binding, barycentric=torch.tensor(asset.barycentric))
    means, covariances = place_plainly(torch.tensor(asset.vertices), binding, torch.tensor(asset.in_plane_scale))
    written = gaussians_of(asset)
    axes = SO3(written.rotations.astype(np.float64)).as_matrix() * written.scales[:, None]
    assert np.allclose(written.means, means.numpy(), atol=1e-6)
    assert np.allclose(axes @ np.swapaxes(axes, 1, 2), covariances.numpy(), atol=1e-9)
