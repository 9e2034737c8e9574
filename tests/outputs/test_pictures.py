"""Pictures show what they are given, and can be read back."""

from pathlib import Path

import numpy as np

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import icosphere_mesh
from gemel.outputs.pictures.comparison import ComparedView, comparison
from gemel.outputs.pictures.font import HEIGHT, labelled, lettering
from gemel.outputs.pictures.overlay import AFTER, BEFORE, RobotInView, robot_overlay
from gemel.outputs.pictures.sheet import as_picture, sheet
from gemel.outputs.pictures.turntable import turntable
from gemel.outputs.pictures.write import write_pictures
from gemel.services.formats.image_file import read_image


def ball(seen_above: float) -> SplatMesh:
    """A green ball of which the part above a height was seen."""
    vertices, faces = icosphere_mesh(0.05, 3)
    count = len(faces)
    green = np.tile((np.array([0.2, 0.8, 0.2]) - 0.5) / 0.28209479, (count, 1, 1))
    return SplatMesh(
        vertices, faces, vertices[:, 2] >= seen_above, np.arange(count), np.full((count, 3), 1.0 / 3.0),
        np.full((count, 2), 1.5), 1e-4, green, np.full(count, 0.99), 0.02,
    )  # fmt: skip


def orange_part(picture: np.ndarray) -> float:
    """Part of the pixels that are much redder than blue."""
    return float(np.mean(picture[..., 0].astype(int) - picture[..., 2] > 60))


def test_a_turntable_shows_colours_and_what_is_invented() -> None:
    """Splats are green; the mesh is grey where seen, and magenta where it was not."""
    size, count = 64, 4
    whole = turntable(ball(-1.0), view_count=count, size_px=size)
    half = turntable(ball(0.0), view_count=count, size_px=size)
    above, below = np.array_split(whole, 2)
    assert np.mean(above[..., 1].astype(int) - above[..., 0] > 60) > 0.2
    assert np.mean(below[..., 0].astype(int) - below[..., 1] > 60) == 0.0
    pink = np.array_split(half, 2)[1]
    assert np.mean(pink[..., 0].astype(int) - pink[..., 1] > 60) > 0.05


def test_equal_views_have_no_difference() -> None:
    """A fit equal to the image leaves the difference black inside the mask; a brighter one is red."""
    rng = np.random.default_rng(0)
    real = rng.uniform(0.2, 0.6, (20, 320, 3))
    mask = np.zeros((20, 320), dtype=bool)
    mask[5:15, 100:200] = True
    inner = (slice(7, 13), slice(105, 195))

    def difference(fit: np.ndarray) -> np.ndarray:
        view = ComparedView("front", False, real, mask, fit * mask[..., None], mask.astype(float), np.zeros_like(mask))
        return comparison([view])[-20:, -320:][inner]

    assert difference(real).max() == 0
    brighter = difference(real + 0.2)
    assert brighter[..., 0].min() > 100
    assert brighter[..., 2].max() == 0


def test_withheld_views_stand_out() -> None:
    """Withheld views come first and carry another colour on their bar."""
    image, mask = np.full((20, 320, 3), 0.5), np.ones((20, 320), dtype=bool)
    views = [ComparedView("a", is_apart, image, mask, image, 1.0 * mask, ~mask) for is_apart in (False, True)]
    picture = comparison(views)
    assert orange_part(picture[0]) > 0.9
    assert orange_part(picture[len(picture) // 2 + 1]) == 0.0


def test_the_robots_outline_is_drawn_where_the_robot_is() -> None:
    """Red runs round the believed place, green round the found one."""
    before, after = np.zeros((48, 480), dtype=bool), np.zeros((48, 480), dtype=bool)
    before[10:20, 10:20] = True
    after[10:20, 100:110] = True
    picture = robot_overlay([RobotInView("front", np.full((48, 480, 3), 0.5), before, after)])[-48:]
    for colour, left in ((BEFORE, 10), (AFTER, 482 + 100)):
        rows, columns = np.nonzero((picture == colour).all(axis=-1))
        assert (rows.min(), rows.max(), columns.min(), columns.max()) == (10, 20, left, left + 10)


def test_sheets_keep_every_picture() -> None:
    """Pictures of several sizes lie in cells of the largest, in order."""
    pictures = [as_picture(np.full((4, n, 3), value)) for n, value in ((5, 0.0), (9, 0.2), (7, 0.4))]
    laid = sheet(pictures, columns=2)
    assert laid.shape == (10, 20, 3)
    assert laid[0, 0, 0] == 0
    assert laid[0, 11, 0] == 51
    assert laid[6, 0, 0] == 102


def test_letters_differ() -> None:
    """Every letter has its own shape; unknown ones become a question mark; the label's bar is on top."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    shapes = {lettering(letter).tobytes() for letter in letters if letter not in "0O5S"}
    assert len(shapes) == len(letters) - 4
    assert np.array_equal(lettering("é"), lettering("?"))
    assert labelled(np.zeros((10, 80, 3), np.uint8), "x").shape[0] >= 10 + HEIGHT


def test_written_pictures_can_be_read(tmp_path: Path) -> None:
    """PNG files hold exactly what was drawn."""
    picture = np.random.default_rng(0).integers(0, 255, (20, 30, 3)).astype(np.uint8)
    (path,) = write_pictures(tmp_path / "pictures" / "stage", {"name": picture})
    assert np.array_equal(read_image(path), picture)
