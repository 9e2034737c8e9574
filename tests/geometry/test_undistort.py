"""Undistortion and resampling of images."""

import numpy as np
import pytest

from gemel.errors import GemelError
from gemel.geometry import CameraModel, Fisheye, OpenCV, Pinhole, pixel_centres, sample_bilinear

SHARED = {"width": 160, "height": 120, "fx": 110.0, "fy": 112.0, "cx": 79.0, "cy": 61.0}
CAMERAS = {
    "barrel": OpenCV(**SHARED, k1=-0.28, k2=0.07, p1=1e-3, p2=-5e-4),
    "pincushion": OpenCV(**SHARED, k1=0.2, k2=0.05),
    "fisheye": Fisheye(**SHARED, k1=-0.02, k2=0.004, k3=-0.002, k4=2e-4),
}
every_camera = pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS.keys())
LINE_SPACING, LINE_WIDTH = 0.2, 0.02


def render_lines(camera: CameraModel) -> np.ndarray:
    """Soft vertical lines x = k LINE_SPACING on the plane z = 1, seen by the camera."""
    rays = camera.unproject(pixel_centres(camera.width, camera.height))
    x = rays[..., 0] / rays[..., 2]
    to_line = x - LINE_SPACING * np.round(x / LINE_SPACING)
    return np.exp(-0.5 * (to_line / LINE_WIDTH) ** 2)


def line_bend_px(image: np.ndarray, valid: np.ndarray) -> float:
    """Largest distance of the outermost line that is whole on every fourth row from its straight fit [px]."""
    column = 79.0 + 110.0 * 2 * LINE_SPACING  # where the second line right of the centre ought to be
    window = slice(int(column) - 10, int(column) + 11)
    rows = np.flatnonzero(valid[:, window].all(axis=1))
    weight = image[rows, window] ** 4  # sharpens the line against the tails of its neighbours
    x = (weight * (np.arange(window.start, window.stop) + 0.5)).sum(axis=1) / weight.sum(axis=1)
    return float(np.max(np.abs(x - np.polyval(np.polyfit(rows, x, 1), rows))))


@every_camera
def test_lines_become_straight(camera: CameraModel) -> None:
    """A line grid that the lens bends is straight to a twentieth of a pixel after undistortion."""
    bent = render_lines(camera)
    straight, valid = camera.undistort(bent)
    assert line_bend_px(bent, np.ones_like(valid)) > 1.0
    assert valid.mean() > 0.6
    assert line_bend_px(straight, valid) < 0.05


@every_camera
def test_undistorted_image_is_what_the_pinhole_sees(camera: CameraModel) -> None:
    """Rendering the scene through `undistorted()` gives the same picture, up to interpolation."""
    straight, valid = camera.undistort(render_lines(camera))
    assert camera.undistorted() == Pinhole(**SHARED)
    error = np.abs(straight - render_lines(camera.undistorted()))[valid]
    assert error.mean() < 0.02
    assert error.max() < 0.15


def test_pinhole_undistortion_changes_nothing() -> None:
    """Without distortion every pixel is valid and keeps its value exactly (uint8, three channels)."""
    image = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    same, valid = Pinhole(**SHARED).undistort(image)
    assert valid.all()
    np.testing.assert_array_equal(same, image)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("channels", [(), (1,), (3,), (7,)])
def test_type_and_channels_are_kept(dtype: type, channels: tuple[int, ...]) -> None:
    """Any number of channels, uint8 and floats; invalid pixels are zero."""
    image = np.full((120, 160, *channels), 200, dtype=dtype)
    out, valid = CAMERAS["pincushion"].undistort(image)
    assert out.dtype == dtype
    assert out.shape == image.shape
    assert not valid.all()
    assert np.all(out[valid] == 200)
    assert np.all(out[~valid] == 0)


def test_bilinear_sampling_is_exact_on_planes() -> None:
    """An image that is linear in x and y is reproduced between pixel centres."""
    centres = pixel_centres(20, 10)
    image = 3.0 * centres[..., 0] - 2.0 * centres[..., 1] + 1.0
    pixels = np.random.default_rng(0).uniform([0.5, 0.5], [19.5, 9.5], (100, 2))
    values, valid = sample_bilinear(image, pixels)
    assert valid.all()
    np.testing.assert_allclose(values, 3.0 * pixels[:, 0] - 2.0 * pixels[:, 1] + 1.0, atol=1e-12)


def test_sampling_outside_is_invalid() -> None:
    """Outside the image and at NaN there is nothing; near the border the edge is repeated."""
    image = np.arange(6.0).reshape(2, 3)
    pixels = np.array([[-0.1, 1.0], [1.0, 2.1], [np.nan, 1.0], [0.0, 0.0], [3.0, 2.0], [1.5, 0.5]])
    values, valid = sample_bilinear(image, pixels)
    np.testing.assert_array_equal(valid, [False, False, False, True, True, True])
    np.testing.assert_array_equal(values, [0.0, 0.0, 0.0, 0.0, 5.0, 1.0])


def test_an_image_of_another_size_is_refused() -> None:
    """The message gives both sizes."""
    with pytest.raises(GemelError, match="80 × 60 pixels was given to a camera of 160 × 120"):
        CAMERAS["barrel"].undistort(np.zeros((60, 80)))
