"""A camera that shows nothing but noise is found; one that shows something in a single frame is not blind."""

import numpy as np

from gemel.stages.segment.build_views import blind_cameras
from gemel.stages.segment.view import View


def test_only_cameras_without_any_sight_are_blind() -> None:
    rng = np.random.default_rng(0)
    dark = [np.clip(rng.normal(4.0, 3.0, (36, 48, 3)), 0, 255).astype(np.uint8) for _ in range(4)]
    lit = rng.integers(20, 200, (36, 48, 3)).astype(np.uint8)
    views = [View("0", "wrist", k, image, False) for k, image in enumerate(dark)]
    views += [View("0", "front", k, image, True) for k, image in enumerate([*dark[:3], lit])]
    assert blind_cameras(views) == ["wrist"]
