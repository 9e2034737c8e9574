"""What cameras that stand still see without robot and objects, learnt while an episode runs.

Until a pixel has been free once it shows the reconstructed scene; after that the mean of what was seen there, in which
new frames count for at least a twentieth, so that slow changes of the light are followed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.camera import WORLD, Camera
from gemel.services.render.mesh_raster import silhouette
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.services.tracking.view import View

_LONGEST = 20.0
_MARGIN_PX = 3
"""What is so near to robot or object may be it, or in its shadow, at 160 px."""


class Plates:
    """One plate for each camera that stands still."""

    def __init__(self, cameras: Sequence[Camera]) -> None:
        still = [camera for camera in cameras if camera.parent == WORLD and not camera.has_pose_per_frame]
        self._counts = {camera.name: np.zeros((camera.height, camera.width), np.float32) for camera in still}
        self._means = {name: np.zeros((*count.shape, 3), np.float32) for name, count in self._counts.items()}

    def behind(self, view: View) -> View:
        """The view with what is known to be behind objects and robot."""
        if view.camera not in self._means:
            return view
        is_known = (self._counts[view.camera] > 0.0)[..., None]
        return replace(view, surroundings=np.where(is_known, self._means[view.camera], view.surroundings))

    def learn(self, view: View, objects: Sequence[tuple[TrackedObject, Float[np.ndarray, "4 4"]]]) -> None:
        """Take in the pixels that show neither robot nor any of the objects at their poses `T_world_object`."""
        if view.camera not in self._means:
            return
        free = _free(view, objects)
        count, mean = self._counts[view.camera], self._means[view.camera]
        count[free] = np.minimum(count[free] + 1.0, _LONGEST)
        mean[free] += (view.image[free] - mean[free]) / count[free][:, None]


def _free(view: View, objects: Sequence[tuple[TrackedObject, Float[np.ndarray, "4 4"]]]) -> Bool[np.ndarray, "h w"]:
    from scipy.ndimage import binary_dilation

    taken = np.isfinite(view.robot_depth)
    for tracked, T_world_object in objects:
        T = view.T_camera_world @ T_world_object
        p_camera = tracked.mesh.vertices @ T[:3, :3].T + T[:3, 3]
        taken |= silhouette(p_camera, tracked.mesh.faces, view.intrinsics, view.shape[1], view.shape[0])
    reach = max(round(_MARGIN_PX * view.shape[1] / 160), 1)
    return view.is_known & ~np.asarray(binary_dilation(taken, iterations=reach))
