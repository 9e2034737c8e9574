"""Whether a mesh bounds a solid: each defect by its own words, and quickly."""

import time

import numpy as np
import pytest

from gemel.geometry import box_mesh, icosphere_mesh
from gemel.geometry.solid import MOST_FACES, solid_complaint

VERTICES, FACES = box_mesh((0.1, 0.06, 0.04))


def _with(changed: dict[int, list[float]]) -> np.ndarray:
    vertices = VERTICES.copy()
    for row, values in changed.items():
        vertices[row] = values
    return vertices


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (VERTICES, FACES[1:], "holes"),
        (VERTICES, FACES[:, ::-1], "look inwards"),
        (VERTICES, np.where(np.arange(len(FACES))[:, None] % 2, FACES, FACES[:, ::-1]), "opposite directions"),
        (VERTICES * [1.0, 1.0, 0.0], FACES, "no volume"),
        (VERTICES * 1e-6, FACES, "longest side"),
        (_with({0: [np.nan, 0.0, 0.0]}), FACES, "not finite"),
        (np.zeros((0, 3)), np.zeros((0, 3), np.int64), "no faces"),
    ],
)
def test_each_defect_is_named_with_a_remedy(vertices: np.ndarray, faces: np.ndarray, words: str) -> None:
    """Holes, flipped faces, no volume, wrong unit, numbers that are none, nothing at all."""
    complaint, remedy = solid_complaint(vertices, faces)
    assert words in complaint
    assert remedy


def test_a_solid_is_not_complained_about() -> None:
    """A box, and a ball of as many faces as are taken."""
    assert solid_complaint(VERTICES, FACES) == ("", "")
    ball = icosphere_mesh(0.05, 6)
    assert MOST_FACES / 4 < len(ball[1]) < MOST_FACES
    assert solid_complaint(*ball) == ("", "")


def test_a_million_faces_are_refused_at_once() -> None:
    """Nobody waits for minutes to learn that a mesh is too fine."""
    vertices, faces = icosphere_mesh(0.05, 8)
    start = time.perf_counter()
    complaint, _ = solid_complaint(vertices, faces)
    assert f"{len(faces)} faces" in complaint
    assert time.perf_counter() - start < 0.5
