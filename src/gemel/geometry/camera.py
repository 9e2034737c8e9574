"""Camera models: between points in front of a camera and pixels of its image.

Conventions, the same for every model:

- Camera axes: x right, y down, z forward. Points `p_camera` [m].
- Pixel centres lie at +0.5: the top-left pixel covers [0, 1] × [0, 1] and its centre is (0.5, 0.5).
  Calibrations that put that centre at (0, 0), as OpenCV's do, need 0.5 added to cx and cy.
- `project` gives NaN for points that the camera cannot see at any image size: behind it (z <= 0; for
  `Fisheye`, which may see behind itself, beyond its limit angle) or past the radius where the distortion
  folds back.
- `unproject` gives unit-length ray directions; NaN where the distortion has no inverse.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from gemel.errors import GemelError
from gemel.geometry.distortion import EquidistantDistortion, RationalDistortion
from gemel.geometry.resample import Image, Samples, pixel_centres, sample_bilinear

Points = Float[np.ndarray, "*batch 3"]
Pixels = Float[np.ndarray, "*batch 2"]
Depths = Float[np.ndarray, "*batch 1"]
# typing.Self would be shorter, but the run-time checker accepts it only on classes it decorates itself.
Camera = TypeVar("Camera", bound="_Camera")


@dataclass(frozen=True)
class _Camera(ABC):
    """What all models share: size, focal lengths and principal point."""

    width: int
    """Image width [px]."""
    height: int
    """Image height [px]."""
    fx: float
    """Focal length along x [px]."""
    fy: float
    """Focal length along y [px]."""
    cx: float
    """Principal point, x [px], pixel centres at +0.5."""
    cy: float
    """Principal point, y [px], pixel centres at +0.5."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_field(type(self).__name__, field.name, getattr(self, field.name))
            kind = int if field.name in ("width", "height") else float
            object.__setattr__(self, field.name, kind(getattr(self, field.name)))

    @abstractmethod
    def _plane_from_camera(self, p_camera: Points) -> Pixels:
        """Where a point lands in the normalised image plane, distortion included."""

    @abstractmethod
    def _plane_jacobian(self, p_camera: Points) -> Float[np.ndarray, "*batch 2 3"]:
        """Derivative of `_plane_from_camera`."""

    @abstractmethod
    def _rays_from_plane(self, xy: Pixels) -> Points:
        """Unit rays through points of the normalised image plane, distortion included."""

    @property
    def _focal(self) -> Float[np.ndarray, "2"]:
        return np.array([self.fx, self.fy])

    @property
    def _centre(self) -> Float[np.ndarray, "2"]:
        return np.array([self.cx, self.cy])

    def project(self, p_camera: Points) -> Pixels:
        """Pixels (x, y) of points in the camera frame [m], also outside the image; NaN for points behind."""
        return np.asarray(self._focal * self._plane_from_camera(p_camera) + self._centre)

    def project_jacobian(self, p_camera: Points) -> Float[np.ndarray, "*batch 2 3"]:
        """Derivative of `project` [px/m]; meaningful where `project` is finite."""
        return np.asarray(self._focal[:, None] * self._plane_jacobian(p_camera))

    def unproject(self, pixels: Pixels) -> Points:
        """Unit-length directions in the camera frame of the rays through pixels; NaN where there is none."""
        return self._rays_from_plane((pixels - self._centre) / self._focal)

    def matrix(self) -> Float[np.ndarray, "3 3"]:
        """Intrinsic matrix K [px], without the distortion."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def scaled(self: Camera, factor: float) -> Camera:
        """The same camera with its image resized by `factor`.

        The size is rounded to whole pixels, and the intrinsics follow the size really obtained.
        """
        width, height = round(self.width * factor), round(self.height * factor)
        sx, sy = width / self.width, height / self.height
        fx, fy, cx, cy = self.fx * sx, self.fy * sy, self.cx * sx, self.cy * sy
        return replace(self, width=width, height=height, fx=fx, fy=fy, cx=cx, cy=cy)

    def cropped(self: Camera, x0: int, y0: int, width: int, height: int) -> Camera:
        """The same camera with the image cut to `width` × `height` from the corner (x0, y0) [px]."""
        return replace(self, width=width, height=height, cx=self.cx - x0, cy=self.cy - y0)

    def undistorted(self) -> "Pinhole":
        """The pinhole camera that `undistort` renders for: same size, focal length and principal point."""
        return Pinhole(self.width, self.height, self.fx, self.fy, self.cx, self.cy)

    def undistort(self, image: Image) -> tuple[Samples, Bool[np.ndarray, "height width"]]:
        """What `undistorted()` would have seen, with a mask of the pixels this image knows; others are 0."""
        if image.shape[:2] != (self.height, self.width):
            raise GemelError(
                f"An image of {image.shape[1]} × {image.shape[0]} pixels was given to a camera of "
                f"{self.width} × {self.height}.",
                remedy="Use `scaled` or `cropped` to get the camera of the image you have.",
            )
        rays = self.undistorted().unproject(pixel_centres(self.width, self.height))
        return sample_bilinear(image, self.project(rays))


@dataclass(frozen=True)
class Pinhole(_Camera):
    """A camera without distortion: x = fx X/Z + cx, y = fy Y/Z + cy."""

    def _plane_from_camera(self, p_camera: Points) -> Pixels:
        return _perspective(p_camera)

    def _plane_jacobian(self, p_camera: Points) -> Float[np.ndarray, "*batch 2 3"]:
        return _perspective_jacobian(p_camera)

    def _rays_from_plane(self, xy: Pixels) -> Points:
        return _rays_through(xy)


@dataclass(frozen=True)
class OpenCV(_Camera):
    """OpenCV's standard model: rational radial and tangential distortion, see `RationalDistortion`."""

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0

    @cached_property
    def distortion(self) -> RationalDistortion:
        """The lens, without size and focal length."""
        radial_tail = (self.k3, self.k4, self.k5, self.k6)
        return RationalDistortion(self.k1, self.k2, self.p1, self.p2, *radial_tail)

    def _plane_from_camera(self, p_camera: Points) -> Pixels:
        return self.distortion.distort(_perspective(p_camera))

    def _plane_jacobian(self, p_camera: Points) -> Float[np.ndarray, "*batch 2 3"]:
        lens = self.distortion.jacobian(_perspective(p_camera))
        return np.asarray(lens @ _perspective_jacobian(p_camera))

    def _rays_from_plane(self, xy: Pixels) -> Points:
        return _rays_through(self.distortion.undistort(xy))


@dataclass(frozen=True)
class Fisheye(_Camera):
    """OpenCV's fisheye model: the image radius is a polynomial of the angle, see `EquidistantDistortion`."""

    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0

    @cached_property
    def distortion(self) -> EquidistantDistortion:
        """The lens, without size and focal length."""
        return EquidistantDistortion(self.k1, self.k2, self.k3, self.k4)

    def _plane_from_camera(self, p_camera: Points) -> Pixels:
        r, z, outward = _cylindrical(p_camera)
        return np.asarray(self.distortion.distort(np.arctan2(r, z)) * outward)

    def _plane_jacobian(self, p_camera: Points) -> Float[np.ndarray, "*batch 2 3"]:
        """Split into the outward direction e, along which the angle changes, and the one across it.

        d/d(x, y) = s (1 - e eᵀ) + g z/|p|² e eᵀ and d/dz = -g r/|p|² e, where s = radius / r and
        g = d radius / d theta. Written so, no term cancels near the axis.
        """
        r, z, outward = _cylindrical(p_camera)
        theta_rad, square = np.arctan2(r, z), r**2 + z**2
        slope = self.distortion.slope(theta_rad)
        across = np.where(r > 0.0, self.distortion.distort(theta_rad), 1.0) / np.where(r > 0.0, r, z)
        along = np.where(r > 0.0, slope * z / square, across)
        e = outward[..., None]  # (*batch, 2, 1)
        outer = e * outward[..., None, :]
        block = across[..., None] * np.eye(2) + (along - across)[..., None] * outer
        return np.concatenate([block, -(slope * r / square)[..., None] * e], axis=-1)

    def _rays_from_plane(self, xy: Pixels) -> Points:
        radius = np.linalg.norm(xy, axis=-1, keepdims=True)
        theta_rad = self.distortion.undistort(radius)
        outward = xy / np.where(radius > 0.0, radius, 1.0)
        return np.concatenate([np.sin(theta_rad) * outward, np.cos(theta_rad)], axis=-1)


CameraModel = Pinhole | OpenCV | Fisheye


def _perspective(p_camera: Points) -> Pixels:
    """(X/Z, Y/Z); NaN where Z <= 0."""
    z = p_camera[..., 2:]
    return np.asarray(p_camera[..., :2] / np.where(z > 0.0, z, np.nan))


def _perspective_jacobian(p_camera: Points) -> Float[np.ndarray, "*batch 2 3"]:
    """Derivative of (X/Z, Y/Z)."""
    xy = _perspective(p_camera)[..., None]
    identity = np.broadcast_to(np.eye(2), (*xy.shape[:-2], 2, 2))
    z = p_camera[..., 2, None, None]
    return np.asarray(np.concatenate([identity, -xy], axis=-1) / np.where(z > 0.0, z, np.nan))


def _rays_through(xy: Pixels) -> Points:
    """Unit vectors along (x, y, 1)."""
    rays = np.concatenate([xy, np.ones_like(xy[..., :1])], axis=-1)
    return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))


def _cylindrical(p_camera: Points) -> tuple[Depths, Depths, Pixels]:
    """Distance from the axis, depth, and the unit vector away from the axis (zero on it).

    The point at the camera itself has no direction: its depth is given as NaN.
    """
    xy, z = p_camera[..., :2], p_camera[..., 2:]
    r = np.linalg.norm(xy, axis=-1, keepdims=True)
    z = np.where((r == 0.0) & (z == 0.0), np.nan, z)
    return r, z, xy / np.where(r > 0.0, r, 1.0)


def _check_field(model: str, name: str, value: Any) -> None:
    """Refuse sizes that are not positive whole numbers, focal lengths not positive, anything not finite."""
    is_size = name in ("width", "height")
    must_be_positive = is_size or name in ("fx", "fy")
    if np.isfinite(value) and (value > 0 or not must_be_positive) and (not is_size or value == int(value)):
        return
    expected = "a positive whole number of pixels" if is_size else "a finite number"
    expected = "a positive finite number of pixels" if name in ("fx", "fy") else expected
    raise GemelError(
        f"{model}.{name} is {value}; {expected} was expected.",
        remedy=f"Correct {name} in the calibration this camera is read from.",
    )
