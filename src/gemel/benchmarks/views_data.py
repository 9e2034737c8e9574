"""Views of a scan with known cameras and logged masks, at a size of choice."""

from pathlib import Path

import numpy as np

from gemel.errors import ConfigError, SourceError
from gemel.services.formats.image_file import read_image
from gemel.services.formats.source import RawImages, open_source
from gemel.stages.reconstruct.views import Views


def read_views(root: Path, size: tuple[int, int]) -> Views:
    """All views of the first episode of a source that has a pose and a mask for each of its images."""
    source = open_source(root)
    findings: list[object] = []
    episode = next(iter(source.episodes(findings.append)), None)
    if episode is None or not episode.streams or not episode.camera_poses:
        raise SourceError(f"{root} has no scan with camera poses.", remedy="give a nerfstudio folder with masks")
    stream = episode.streams[0]
    if not isinstance(stream, RawImages) or not all(stream.mask_paths or ("",)):
        raise SourceError(f"{root} has no mask for every image.", remedy="add `mask_path` to transforms.json")
    images = np.stack([read_image(source.root / path) for path in stream.paths]).astype(np.float32) / 255.0
    masks = np.stack([read_image(source.root / path, grey=True) for path in stream.mask_paths])
    views = Views(
        camera_names=(stream.camera,) * len(images),
        images=images,
        masks=masks.astype(np.float32) / 255.0,
        ignore=np.zeros(masks.shape, dtype=bool),
        Ts_world_camera=episode.camera_poses[stream.camera],
        intrinsics=episode.camera_intrinsics[stream.camera],
    )
    return _resized(views, size)


def _resized(views: Views, size: tuple[int, int]) -> Views:
    full = (views.width, views.height)
    while (views.width, views.height) != size:
        if views.width <= size[0] or views.height <= size[1]:
            raise ConfigError(
                f"Images are {full[0]}x{full[1]}, {size[0]}x{size[1]} was asked for.",
                remedy="ask for the full size, or for it halved once or more",
            )
        views = views.half_size()
    return views
