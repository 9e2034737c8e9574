"""What reconstruction looks at: chosen frames of the scans, undistorted, with masks and joint readings.

Objects rest during a scan, so all its frames show one scene. Without a scan, the frames before the first motion of
each calibration episode would show other scenes each; then only the first episode's start is used, and a finding says
what to record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.split import FitData
from gemel.errors import SourceError
from gemel.geometry import Pinhole

Image = Float32[np.ndarray, "h w 3"]
MaskOf = Callable[[str, str, str, int], "Bool[np.ndarray, 'h w'] | None"]
"""Mask of (object, episode, camera, step), or None where there is none that can be trusted."""


@dataclass(frozen=True, eq=False)
class Observations:
    """v frames of one still scene."""

    cameras: tuple[Camera, ...]
    """With pinhole models: distortion has been taken out of the images."""
    episodes: tuple[Episode, ...]
    camera: Int[np.ndarray, " v"]
    """Index of each view's camera."""
    episode: Int[np.ndarray, " v"]
    """Index of each view's episode."""
    step: Int[np.ndarray, " v"]
    images: tuple[Image, ...]
    """RGB 0 to 1, one for each view; cameras may differ in size."""
    masks: Mapping[str, tuple["Bool[np.ndarray, 'h w'] | None", ...]]
    """For each object and view; None where the segmentation left the frame out."""
    known: tuple[Bool[np.ndarray, "h w"], ...]
    """Pixels that the camera saw: taking distortion out leaves some empty."""
    depths: tuple["Float32[np.ndarray, 'h w'] | None", ...] = ()
    """Logged depth of each view along the camera's z [m], 0 where nothing was measured; empty if none was logged."""

    def __len__(self) -> int:
        return len(self.images)

    @property
    def times_s(self) -> Float[np.ndarray, " v"]:
        """The stamp of each view in its episode [s]."""
        stamps = [self.episodes[e].times_s[s] for e, s in zip(self.episode, self.step, strict=True)]
        return np.array(stamps, dtype=np.float64)

    def occupied(self) -> list[Bool[np.ndarray, "h w"]]:
        """Pixels of each view that show some object, widened by a few pixels; all of them where masks are missing."""
        from scipy.ndimage import binary_dilation

        widened = []
        for v, image in enumerate(self.images):
            masks = [track[v] for track in self.masks.values()]
            if any(mask is None for mask in masks):
                widened.append(np.ones(image.shape[:2], dtype=bool))
                continue
            taken = np.any([mask for mask in masks if mask is not None] or [np.zeros(image.shape[:2], bool)], axis=0)
            reach = max(round(4 * image.shape[1] / 160), 1)
            widened.append(np.asarray(binary_dilation(taken, iterations=reach)) | ~self.known[v])
        return widened


def scan_records(fit: FitData) -> tuple[EpisodeRecord, ...]:
    """Episodes that show the still scene: scans, or else the only calibration episode."""
    scans = tuple(record for record in fit.calibration if record.kind is EpisodeKind.SCAN)
    if scans:
        return scans[:1]
    if len(fit.calibration) == 1:
        return fit.calibration
    raise SourceError(
        f"None of the {len(fit.calibration)} calibration episodes is a scan; reconstruction needs one episode in which "
        "cameras go round objects at rest.",
        remedy="name it in twin.toml under [episodes] scan, or record one: 26 views over 270 degrees, 30-70 degrees up",
    )


def observe(
    fit: FitData,
    frames: Frames,
    *,
    objects: Sequence[str],
    mask_of: MaskOf,
    moving_views: int,
    fixed_views: int,
) -> Observations:
    """Evenly spaced frames of every camera with known optics."""
    records = scan_records(fit)
    cameras = tuple(camera for camera in fit.cameras if camera.is_calibrated)
    if not cameras:
        raise SourceError(
            "No camera has both intrinsics and a pose guess, so nothing can be reconstructed.",
            remedy="give each camera's model and mounting in twin.toml under [cameras.NAME]",
        )
    rows = _chosen(records, cameras, moving_views, fixed_views)
    episodes = tuple(frames.episode(record.id) for record in records)
    pairs = [_undistorted(cameras[c], frames.image(records[e].id, cameras[c].name, s)) for c, e, s in rows]
    masks = {
        name: tuple(_undistorted_mask(cameras[c], mask_of(name, records[e].id, cameras[c].name, s)) for c, e, s in rows)
        for name in objects
    }
    depths = tuple(_undistorted_depth(cameras[c], frames.depth(records[e].id, cameras[c].name, s)) for c, e, s in rows)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    pinholes = tuple(_as_pinhole(camera) for camera in cameras)
    return Observations(
        cameras=pinholes,
        episodes=episodes,
        camera=columns[:, 0],
        episode=columns[:, 1],
        step=columns[:, 2],
        images=tuple(image for image, _ in pairs),
        masks=masks,
        known=tuple(is_known for _, is_known in pairs),
        depths=depths if any(depth is not None for depth in depths) else (),
    )


def _chosen(
    records: Sequence[EpisodeRecord], cameras: Sequence[Camera], moving_views: int, fixed_views: int
) -> list[tuple[int, int, int]]:
    rows = []
    for c, camera in enumerate(cameras):
        is_moving = camera.parent != "world" or camera.has_pose_per_frame
        wanted = max((moving_views if is_moving else fixed_views) // len(records), 1)
        for e, record in enumerate(records):
            steps = np.linspace(0, record.step_count - 1, min(wanted, record.step_count)).round().astype(int)
            rows += [(c, e, int(step)) for step in np.unique(steps)]
    return rows


def _as_pinhole(camera: Camera) -> Camera:
    assert camera.model is not None
    return replace(camera, model=camera.model.undistorted())


def _undistorted(camera: Camera, image: np.ndarray) -> tuple[Image, Bool[np.ndarray, "h w"]]:
    values = image.astype(np.float32) / np.float32(255.0)
    if isinstance(camera.model, Pinhole) or camera.model is None:
        return values, np.ones(values.shape[:2], dtype=bool)
    straight, is_known = camera.model.undistort(values)
    return np.asarray(straight, dtype=np.float32), is_known


def _undistorted_mask(camera: Camera, mask: "np.ndarray | None") -> "np.ndarray | None":
    if mask is None or isinstance(camera.model, Pinhole) or camera.model is None:
        return mask
    return camera.model.undistort(mask[..., None].astype(np.float32))[0][..., 0] > 0.5


def _undistorted_depth(camera: Camera, depth: "np.ndarray | None") -> "np.ndarray | None":
    """Depth with distortion taken out; a pixel that is mixed from unmeasured ones becomes unmeasured."""
    if depth is None or isinstance(camera.model, Pinhole) or camera.model is None:
        return depth
    both = np.stack([depth, depth > 0.0], axis=-1).astype(np.float32)
    straight, is_known = camera.model.undistort(both)
    return np.where(is_known & (straight[..., 1] > 0.999), straight[..., 0], 0.0).astype(np.float32)
