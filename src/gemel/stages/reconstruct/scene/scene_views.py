"""What the scene's fit looks at: small images with poses, and which pixels show robot or objects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.artifacts.camera import WORLD
from gemel.services.render.mesh_raster import rasterise
from gemel.stages.reconstruct.calibration.robot_rig import Poses
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations

_EVERY = 8
_MARGIN_PX = 2
"""What is so near to the robot or to an object may be it."""
_NEAR_M = 0.03


@dataclass(frozen=True, eq=False)
class SceneViews:
    """v views of a scene in which only the robot moves, reduced to the calibration's size."""

    camera: Int[np.ndarray, " v"]
    """Index of each view's camera."""
    camera_names: tuple[str, ...]
    is_moving: Bool[np.ndarray, " camera"]
    """Whether each camera rides on the robot."""
    images: tuple[Float32[np.ndarray, "_ _ 3"], ...]
    """RGB 0 to 1; cameras may differ in size."""
    poses: Poses
    robot_depth: tuple[Float[np.ndarray, "_ _"], ...]
    """Distance of the robot along z [m]; infinite where it is not."""
    robot: tuple[Bool[np.ndarray, "_ _"], ...]
    """Pixels that may show the robot."""
    taken: tuple[Bool[np.ndarray, "_ _"], ...]
    """Pixels that may show an object, or that the camera did not see."""
    fitted: Int[np.ndarray, " fitted"]
    withheld: Int[np.ndarray, " withheld"]
    """Views that nothing is fitted to; they judge the result."""

    @property
    def distinct(self) -> Int[np.ndarray, " d"]:
        """Fitted views that look from different places: one of each camera that stands still."""
        camera = self.camera[self.fitted]
        first = np.unique(camera, return_index=True)[1]
        is_kept = self.is_moving[camera]
        is_kept[first] = True
        return self.fitted[is_kept]

    def pixels(self, v: int, p_world: Float[np.ndarray, "n 3"]) -> tuple[np.ndarray, np.ndarray]:
        """Points in the camera (n, 3) [m] and where they appear (n, 2) [px]; points behind it appear nowhere."""
        T, k = self.poses.Ts_camera_world[v], self.poses.intrinsics[v]
        p_camera = p_world @ T[:3, :3].T + T[:3, 3]
        is_front = p_camera[:, 2:] > _NEAR_M
        at = p_camera[:, :2] / np.where(is_front, p_camera[:, 2:], 1.0) * k[:2] + k[2:]
        return p_camera, np.where(is_front, at, np.nan)

    def centre(self, v: int) -> Float[np.ndarray, "3"]:
        """Where the camera is in the world [m]."""
        T = self.poses.Ts_camera_world[v]
        return np.asarray(-T[:3, :3].T @ T[:3, 3])

    def rays(self, v: int, pixels: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 3"]:
        """Unit directions in the world of what appears at pixels."""
        T, k = self.poses.Ts_camera_world[v], self.poses.intrinsics[v]
        d = np.concatenate([(pixels - k[2:]) / k[:2], np.ones((len(pixels), 1))], axis=1) @ T[:3, :3]
        return np.asarray(d / np.linalg.norm(d, axis=1, keepdims=True))


def scene_views(observations: Observations, located: Located, used: Int[np.ndarray, " u"]) -> SceneViews:
    """Views of a calibrated scene; every eighth of each camera is withheld, but none that objects were fitted to."""
    from scipy.ndimage import binary_dilation

    assert located.problem is not None
    assert located.calibration is not None
    problem, poses = located.problem, located.calibration.jacobians.poses
    depths = []
    for v, image in enumerate(problem.images):
        T = poses.Ts_camera_world[v]
        p_camera = problem.surface.in_world(poses.Ts_world_link[v]) @ T[:3, :3].T + T[:3, 3]
        size = (image.shape[1], image.shape[0])
        depths.append(rasterise(p_camera, problem.surface.faces, poses.intrinsics[v], *size, near_m=_NEAR_M)[0])
    withheld = withheld_views(observations.camera, used)
    return SceneViews(
        camera=observations.camera,
        camera_names=tuple(camera.name for camera in observations.cameras),
        is_moving=np.array([camera.parent != WORLD for camera in observations.cameras]),
        images=problem.images,
        poses=poses,
        robot_depth=tuple(depths),
        robot=tuple(np.asarray(binary_dilation(np.isfinite(depth), iterations=_MARGIN_PX)) for depth in depths),
        taken=tuple(
            taken_pixels([track[v] for track in observations.masks.values()], known, image.shape[:2])
            for v, (known, image) in enumerate(zip(observations.known, problem.images, strict=True))
        ),
        fitted=np.setdiff1d(np.arange(len(problem.images)), withheld),
        withheld=withheld,
    )


def taken_pixels(
    masks: "Sequence[Bool[np.ndarray, 'h w'] | None]", is_known: Bool[np.ndarray, "h w"], shape: tuple[int, int]
) -> Bool[np.ndarray, "_ _"]:
    """Pixels of the small image that show or touch an object or nothing; all of them where a mask is missing."""
    from scipy.ndimage import binary_dilation

    found = [mask for mask in masks if mask is not None]
    if len(found) < len(masks):
        return np.ones(shape, dtype=bool)
    n = is_known.shape[1] // shape[1]
    small, unknown = (
        area[: n * shape[0], : n * shape[1]].reshape(shape[0], n, shape[1], n).any(axis=(1, 3))
        for area in (np.any([*found, np.zeros_like(is_known)], axis=0), ~is_known)
    )
    return np.asarray(binary_dilation(small, iterations=_MARGIN_PX)) | unknown


def withheld_views(camera: Int[np.ndarray, " v"], used: Int[np.ndarray, " u"]) -> Int[np.ndarray, " w"]:
    """About every eighth view of each camera, from those that are not used elsewhere."""
    chosen = []
    for c in np.unique(camera):
        free = np.setdiff1d(np.flatnonzero(camera == c), used)
        count = min(max(int((camera == c).sum()) // _EVERY, 1), len(free))
        at = (np.arange(count) + 0.5) * len(free) / max(count, 1)
        chosen.append(free[at.astype(np.int64)])
    return np.sort(np.concatenate(chosen)).astype(np.int64)
