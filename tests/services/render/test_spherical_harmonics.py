"""Laws of the colour basis and of turning it, and of moving whole splats."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import GemelError
from gemel.services.render.renderer import make_renderer
from gemel.services.render.spherical_harmonics import band_rotations, basis, degree_of
from gemel.services.render.transform import transform_gaussians


def _rotation(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def test_basis_is_orthonormal_on_the_sphere() -> None:
    """The integral of Y_i Y_j over the sphere is one for i = j and zero otherwise (Gauss-Legendre times trapezoid)."""
    z, weights = np.polynomial.legendre.leggauss(8)
    angle = np.arange(16) * 2 * np.pi / 16
    r = np.sqrt(1 - z * z)
    d = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.outer(z, np.ones(16))], axis=-1)
    Y = basis(d, 3)
    gram = np.einsum("zak,zal,z->kl", Y, Y, weights) * 2 * np.pi / 16
    assert np.allclose(gram, np.eye(16), atol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_turned_coefficients_look_the_same_from_the_turned_direction(degree: int) -> None:
    """f_new(R d) = f_old(d), the matrix is orthogonal, and turning twice is turning by the product."""
    R, S = _rotation(0), _rotation(1)
    c = np.random.default_rng(2).normal(size=(degree + 1) ** 2)
    d = np.random.default_rng(3).normal(size=(50, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    D = band_rotations(R, degree)
    assert np.allclose(basis(d @ R.T, degree) @ (D @ c), basis(d, degree) @ c, atol=1e-12)
    assert np.allclose(D @ D.T, np.eye(len(c)), atol=1e-12)
    assert np.allclose(band_rotations(S, degree) @ D, band_rotations(S @ R, degree), atol=1e-12)


def test_impossible_coefficient_count_is_refused() -> None:
    """Only whole degrees exist."""
    with pytest.raises(GemelError, match="expected 1, 4, 9 or 16"):
        degree_of(7)


def test_turned_splat_looks_the_same_from_the_turned_camera(make_scene: Any, converted: Any) -> None:
    """Moving, turning and scaling splat and camera together changes no pixel (SH degree 3), to float32 accuracy."""
    request = converted(make_scene(n=200))
    arrays = {k: getattr(request, k).detach().numpy() for k in ("means", "quats", "scales", "opacities", "sh")}
    gaussians = Gaussians(arrays["means"], arrays["quats"], arrays["scales"], arrays["opacities"], arrays["sh"])
    T_new_old, scale = np.eye(4), 2.5
    T_new_old[:3, :3], T_new_old[:3, 3] = _rotation(4), (3.0, -2.0, 1.0)
    moved = transform_gaussians(gaussians, T_new_old, scale=scale)
    T_camera_new = request.Ts_camera_world[0].detach().numpy() @ np.linalg.inv(T_new_old)
    there = replace(
        request,
        means=torch.from_numpy(moved.means),
        quats=torch.from_numpy(moved.rotations),
        scales=torch.from_numpy(moved.scales),
        sh=torch.from_numpy(moved.sh),
        Ts_camera_world=torch.from_numpy(T_camera_new[None].astype(np.float32)),
    )
    here, other = make_renderer("cpu").render(request), make_renderer("cpu").render(there)
    assert float((here.colour - other.colour).detach().abs().max()) < 2e-4
    assert float((here.depth * scale - other.depth).detach().abs().max()) < 2e-3


def test_mirrored_transform_is_refused() -> None:
    """A mirror is not a rigid motion; SH bands would be wrong."""
    one = np.ones((1, 3), dtype=np.float32)
    gaussians = Gaussians(one, np.ones((1, 4), np.float32), one, np.ones(1, np.float32), np.ones((1, 1, 3), np.float32))
    with pytest.raises(GemelError, match="not a rigid transform"):
        transform_gaussians(gaussians, np.diag([-1.0, 1.0, 1.0, 1.0]))
