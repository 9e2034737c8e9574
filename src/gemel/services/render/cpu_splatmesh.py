"""Placement of Gaussians on faces and its gradients, compiled; the formulas are those of splatmesh.py."""

from typing import Any

import numpy as np

from gemel.services.render.cpu_compile import kernel


@kernel
def place_kernel(vertices: Any, scale: Any, uv: Any, bound: Any, constants: Any, results: Any) -> None:
    """Fill in means (g, 3) and covariances (g, 3, 3); `constants`: two parts of axis 1, one of axis 2, thickness²."""
    faces, face_from_gaussian = bound
    means, covariances = results
    alpha, beta, gamma, thickness = constants
    for n in range(len(face_from_gaussian)):
        f = face_from_gaussian[n]
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        for i in range(3):
            e1, e2 = vertices[b, i] - vertices[a, i], vertices[c, i] - vertices[a, i]
            means[n, i] = vertices[a, i] + uv[n, 0] * e1 + uv[n, 1] * e2
            u_i = scale[n, 0] * (alpha * e1 + beta * e2) + scale[n, 2] * gamma * e2
            w_i = scale[n, 1] * gamma * e2
            for j in range(i + 1):
                d1, d2 = vertices[b, j] - vertices[a, j], vertices[c, j] - vertices[a, j]
                u_j = scale[n, 0] * (alpha * d1 + beta * d2) + scale[n, 2] * gamma * d2
                w_j = scale[n, 1] * gamma * d2
                value = u_i * u_j + w_i * w_j
                if i == j:
                    value += thickness
                covariances[n, i, j] = value
                covariances[n, j, i] = value


@kernel
def place_gradient_kernel(
    vertices: Any, scale: Any, uv: Any, bound: Any, constants: Any, slopes: Any, results: Any
) -> None:
    """Gradients of vertices, scales and places on faces into `results`, from those of means and covariances."""
    faces, face_from_gaussian = bound
    alpha, beta, gamma, _ = constants
    to_means, to_covariances = slopes
    to_vertices, to_scale, to_uv = results
    e1, e2 = np.empty(3, np.float32), np.empty(3, np.float32)
    for n in range(len(face_from_gaussian)):
        f = face_from_gaussian[n]
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        for i in range(3):
            e1[i], e2[i] = vertices[b, i] - vertices[a, i], vertices[c, i] - vertices[a, i]
        s1, s2, s3 = scale[n, 0], scale[n, 1], scale[n, 2]
        sum_1, sum_2, sum_3 = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        along_1, along_2 = np.float32(0.0), np.float32(0.0)
        for i in range(3):
            along_u, along_w = np.float32(0.0), np.float32(0.0)  # (G + Gᵀ) u and (G + Gᵀ) w
            for j in range(3):
                both = to_covariances[n, i, j] + to_covariances[n, j, i]
                along_u += both * (s1 * (alpha * e1[j] + beta * e2[j]) + s3 * gamma * e2[j])
                along_w += both * s2 * gamma * e2[j]
            sum_1 += along_u * (alpha * e1[i] + beta * e2[i])
            sum_2 += along_w * gamma * e2[i]
            sum_3 += along_u * gamma * e2[i]
            along_1 += to_means[n, i] * e1[i]
            along_2 += to_means[n, i] * e2[i]
            to_e1 = s1 * alpha * along_u + uv[n, 0] * to_means[n, i]
            to_e2 = (s1 * beta + s3 * gamma) * along_u + s2 * gamma * along_w + uv[n, 1] * to_means[n, i]
            to_vertices[a, i] += to_means[n, i] - to_e1 - to_e2
            to_vertices[b, i] += to_e1
            to_vertices[c, i] += to_e2
        to_scale[n, 0] = sum_1
        to_scale[n, 1] = sum_2
        to_scale[n, 2] = sum_3
        to_uv[n, 0] = along_1
        to_uv[n, 1] = along_2
