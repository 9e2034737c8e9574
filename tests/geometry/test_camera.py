"""Laws of camera models: conventions, inverses, derivatives."""

import numpy as np
import pytest

from gemel.errors import GemelError
from gemel.geometry import CameraModel, Fisheye, OpenCV, Pinhole, pixel_centres

SHARED = {"width": 64, "height": 48, "fx": 50.0, "fy": 52.0, "cx": 31.0, "cy": 25.0}
CAMERAS = {
    "pinhole": Pinhole(**SHARED),
    "barrel": OpenCV(**SHARED, k1=-0.28, k2=0.07, p1=1e-3, p2=-5e-4, k3=0.0),
    "pincushion": OpenCV(**SHARED, k1=0.12, k2=0.05, p1=-2e-3, p2=1e-3, k3=0.01),
    # Numbers of the size that depth cameras with the rational model report.
    "rational": OpenCV(**SHARED, k1=0.45, k2=-2.5, p1=6e-4, p2=-1e-4, k3=1.5, k4=0.33, k5=-2.3, k6=1.4),
    "equidistant": Fisheye(**SHARED),
    "fisheye": Fisheye(64, 48, 22.0, 22.0, 31.0, 25.0, k1=-0.02, k2=0.004, k3=-0.002, k4=2e-4),
}
every_camera = pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS.keys())


def visible_points(camera: CameraModel, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    pixels = rng.random((count, 2)) * [camera.width, camera.height]
    return camera.unproject(pixels) * rng.uniform(0.3, 5.0, (count, 1))


@every_camera
def test_project_inverts_unproject_over_the_whole_image(camera: CameraModel) -> None:
    """Every pixel, corners included, has a unit ray that projects back onto it."""
    corners = np.array([[0.0, 0.0], [64.0, 0.0], [0.0, 48.0], [64.0, 48.0], [31.0, 25.0]])
    pixels = np.concatenate([pixel_centres(camera.width, camera.height).reshape(-1, 2), corners])
    rays = camera.unproject(pixels)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1.0, atol=1e-14)
    np.testing.assert_allclose(camera.project(rays), pixels, atol=1e-9)


@every_camera
def test_unproject_inverts_project(camera: CameraModel) -> None:
    """The ray through the image of a point passes through the point, whatever its distance."""
    p_camera = visible_points(camera)
    directions = p_camera / np.linalg.norm(p_camera, axis=-1, keepdims=True)
    np.testing.assert_allclose(camera.unproject(camera.project(p_camera)), directions, atol=1e-11)


@every_camera
def test_project_jacobian_matches_finite_differences(camera: CameraModel) -> None:
    """The analytic derivative agrees with central differences, near the axis too."""
    near_axis = np.array([[1e-7, -1e-7, 1.0], [1e-3, 0.0, 2.0], [0.0, 0.0, 1.5]])
    p_camera, h = np.concatenate([visible_points(camera), near_axis]), 1e-6
    steps = h * np.eye(3)
    difference = [(camera.project(p_camera + d) - camera.project(p_camera - d)) / (2 * h) for d in steps]
    jacobian = camera.project_jacobian(p_camera)
    assert jacobian.shape == (*p_camera.shape[:-1], 2, 3)
    np.testing.assert_allclose(jacobian, np.stack(difference, axis=-1), rtol=1e-6, atol=1e-6)


@every_camera
def test_moving_along_the_ray_does_not_move_the_pixel(camera: CameraModel) -> None:
    """J(p) p = 0: projection does not depend on distance."""
    p_camera = visible_points(camera)
    along = np.einsum("nij,nj->ni", camera.project_jacobian(p_camera), p_camera)
    np.testing.assert_allclose(along, 0.0, atol=1e-10)


@every_camera
def test_the_axis_meets_the_principal_point(camera: CameraModel) -> None:
    """A point straight ahead lands on (cx, cy); right and down in space are right and down in the image."""
    p_camera = np.array([[0.0, 0.0, 2.0], [0.1, 0.0, 2.0], [0.0, 0.1, 2.0]])
    centre, right, down = camera.project(p_camera)
    np.testing.assert_allclose(centre, [camera.cx, camera.cy], atol=1e-12)
    assert right[0] > centre[0]
    assert down[1] > centre[1]


@every_camera
def test_batch_shapes_are_kept(camera: CameraModel) -> None:
    """Single points, and batches of any number of axes."""
    assert camera.project(np.array([0.1, 0.2, 1.0])).shape == (2,)
    assert camera.unproject(np.array([3.0, 4.0])).shape == (3,)
    assert camera.project(np.ones((2, 5, 3))).shape == (2, 5, 2)
    assert camera.unproject(np.ones((2, 5, 2))).shape == (2, 5, 3)
    assert camera.project_jacobian(np.ones((2, 5, 3))).shape == (2, 5, 2, 3)
    assert camera.project(np.ones((0, 3))).shape == (0, 2)


def test_pinhole_is_the_intrinsic_matrix() -> None:
    """x = K p / z, written out."""
    camera = CAMERAS["pinhole"]
    p_camera = visible_points(camera)
    homogeneous = p_camera @ camera.matrix().T
    np.testing.assert_allclose(camera.project(p_camera), homogeneous[:, :2] / homogeneous[:, 2:], atol=1e-12)


def test_distortion_free_models_agree_with_their_ideal() -> None:
    """OpenCV without coefficients is a pinhole; Fisheye without coefficients has radius = f theta."""
    p_camera = visible_points(CAMERAS["pinhole"])
    np.testing.assert_allclose(OpenCV(**SHARED).project(p_camera), Pinhole(**SHARED).project(p_camera))
    at_60_degrees = np.array([np.sin(np.pi / 3), 0.0, np.cos(np.pi / 3)])
    np.testing.assert_allclose(Fisheye(**SHARED).project(at_60_degrees), [31.0 + 50.0 * np.pi / 3, 25.0])


def test_distortion_follows_the_published_formula() -> None:
    """One point worked by hand: x = 0.3, y = 0.4, so s = 0.25."""
    camera = OpenCV(1, 1, 1.0, 1.0, 0.0, 0.0, k1=0.4, k2=0.16, p1=0.01, p2=0.02, k3=0.64, k4=0.8, k5=0.0, k6=0.0)
    radial = (1 + 0.4 * 0.25 + 0.16 * 0.0625 + 0.64 * 0.015625) / (1 + 0.8 * 0.25)
    x = 0.3 * radial + 2 * 0.01 * 0.12 + 0.02 * (0.25 + 2 * 0.09)
    y = 0.4 * radial + 0.01 * (0.25 + 2 * 0.16) + 2 * 0.02 * 0.12
    np.testing.assert_allclose(camera.project(np.array([0.6, 0.8, 2.0])), [x, y], atol=1e-15)


@pytest.mark.filterwarnings("error")
@every_camera
def test_points_that_cannot_be_seen_are_nan(camera: CameraModel) -> None:
    """Straight behind and at the camera itself there is no pixel; no warning is raised either."""
    hidden = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    assert np.all(np.isnan(camera.project(hidden)))
    assert np.all(np.isnan(camera.project_jacobian(hidden[1:])))
    if not isinstance(camera, Fisheye):
        assert np.all(np.isnan(camera.project(np.array([0.3, 0.2, -1.0]))))


def test_a_fisheye_sees_behind_itself() -> None:
    """A ray at 100 degrees to the axis projects and comes back."""
    angle_rad = np.deg2rad(100.0)
    ray = np.array([np.sin(angle_rad), 0.0, np.cos(angle_rad)])
    camera = CAMERAS["equidistant"]
    np.testing.assert_allclose(camera.unproject(camera.project(ray)), ray, atol=1e-12)


def test_distortion_does_not_fold_back() -> None:
    """Barrel distortion turns around at r² = 1/(3 |k1|); points beyond are NaN, not folded inwards."""
    camera = OpenCV(**SHARED, k1=-0.3)
    limit = np.sqrt(1.0 / 0.9)
    assert camera.distortion.limit_radius == pytest.approx(limit, rel=1e-12)
    radii = limit * np.array([0.5, 0.999, 1.001, 1.5, 3.0])
    pixels = camera.project(np.stack([radii, 0.0 * radii, 0.0 * radii + 1.0], axis=-1))
    np.testing.assert_array_equal(np.isnan(pixels[:, 0]), [False, False, True, True, True])


@pytest.mark.parametrize("camera", [OpenCV(**SHARED, k1=-0.3), Fisheye(**SHARED, k1=-0.1)], ids=["opencv", "fisheye"])
def test_pixels_without_a_ray_are_nan(camera: CameraModel) -> None:
    """Beyond the largest radius the lens can produce, unproject says NaN; just inside it, it does not."""
    lens = camera.distortion
    limit = lens.limit_radius if isinstance(camera, OpenCV) else lens.limit_angle_rad
    largest = limit * 2.0 / 3.0  # both cubics reach two thirds of their turning point
    pixels = np.array([[camera.cx + camera.fx * largest * f, camera.cy] for f in (0.9999, 1.0001, 2.0)])
    rays = camera.unproject(pixels)
    np.testing.assert_array_equal(np.isnan(rays[:, 0]), [False, True, True])


@every_camera
def test_scaling_and_cropping_move_pixels_as_images_do(camera: CameraModel) -> None:
    """Half size halves pixel coordinates (no half-pixel shift); a crop subtracts its corner."""
    p_camera = visible_points(camera)
    pixels = camera.project(p_camera)
    half = camera.scaled(0.5)
    assert (type(half), half.width, half.height) == (type(camera), 32, 24)
    np.testing.assert_allclose(half.project(p_camera), pixels / 2.0, atol=1e-12)
    cut = camera.cropped(10, 20, 30, 15)
    assert (cut.width, cut.height) == (30, 15)
    np.testing.assert_allclose(cut.project(p_camera), pixels - [10.0, 20.0], atol=1e-12)


def test_scaling_to_an_uneven_size_keeps_the_borders() -> None:
    """A size that must be rounded stretches the intrinsics so that the image border stays the border."""
    camera = Pinhole(65, 49, 50.0, 50.0, 32.5, 24.5)
    small = camera.scaled(0.3)
    assert (small.width, small.height) == (20, 15)
    corner_ray = camera.unproject(np.array([65.0, 49.0]))
    np.testing.assert_allclose(small.project(corner_ray), [20.0, 15.0], atol=1e-12)


def test_cameras_are_values() -> None:
    """Equal numbers make equal cameras with equal hashes; numpy scalars become plain floats."""
    camera = Pinhole(64, 48, np.float64(50.0), np.float64(52.0), 31.0, 25.0)
    assert type(camera.fx) is float
    assert camera == Pinhole(**SHARED)
    assert hash(camera) == hash(Pinhole(**SHARED))
    assert camera != OpenCV(**SHARED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, r"OpenCV\.width is 0; a positive whole number of pixels"),
        ({"height": -3}, r"OpenCV\.height is -3; a positive whole number"),
        ({"fx": -1.0}, r"OpenCV\.fx is -1\.0; a positive finite number"),
        ({"fy": np.nan}, r"OpenCV\.fy is nan"),
        ({"cx": np.inf}, r"OpenCV\.cx is inf; a finite number"),
        ({"k5": np.nan}, r"OpenCV\.k5 is nan(.|\n)*What to do: Correct k5"),
    ],
)
def test_bad_intrinsics_are_refused_by_name(change: dict[str, float], message: str) -> None:
    """The message names the model, the field, the value and what was expected."""
    with pytest.raises(GemelError, match=message):
        OpenCV(**{**SHARED, **change})
