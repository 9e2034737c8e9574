"""SAM checkpoints: which of their networks there are, loaded through transformers, and images as they expect them.

A SAM 2 checkpoint, or the tracker of a SAM 3 one, follows a prompt through a video. A whole SAM 3 checkpoint also has
a detector that finds what words name. Images are prepared as the checkpoints' own processors do it (image size; mean
and standard deviation of ImageNet for SAM 2, one half for SAM 3), without those processors, which would need
torchvision.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gemel.errors import MissingExtraError, SourceError, choices_text

_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
_TRACKER_FROM_TYPE = {
    "sam2": "Sam2VideoModel",
    "sam2_video": "Sam2VideoModel",
    "sam3_tracker": "Sam3TrackerVideoModel",
    "sam3_tracker_video": "Sam3TrackerVideoModel",
    "sam3_video": "Sam3TrackerVideoModel",
}
_WITH_WORDS = "sam3_video"
"""The type that whole SAM 3 checkpoints state, such as facebook/sam3."""


@dataclass(frozen=True, eq=False)
class Detector:
    """Finds in one image what words name."""

    network: Any
    """A `Sam3Model`."""
    tokenizer: Any
    least_score: float
    """Detections below this are none, says the checkpoint."""


@dataclass(frozen=True, eq=False)
class SamCheckpoint:
    """The networks of one checkpoint, ready to run on the GPU where there is one, else on the CPU."""

    kind: str
    """The type that its config states."""
    tracker: Any
    session_class: Any
    detector: Detector | None

    @property
    def image_size(self) -> int:
        """Width and height of the images that go into the networks [px]."""
        size = self.tracker.config.vision_config.backbone_config.image_size
        return int(size[0] if isinstance(size, list | tuple) else size)

    def prepared(self, images: list[np.ndarray]) -> Any:
        """RGB images of one size as a tensor (image, 3, size, size)."""
        import torch

        mean, std = _IMAGENET if self.kind.startswith("sam2") else _HALF
        size = (self.image_size, self.image_size)
        video = torch.tensor(np.stack(images)).permute(0, 3, 1, 2).to(torch.float32) / 255.0
        video = torch.nn.functional.interpolate(video, size, mode="bilinear", antialias=True)
        return (video - torch.tensor(mean).view(1, 3, 1, 1)) / torch.tensor(std).view(1, 3, 1, 1)

    def session(self, images: list[np.ndarray]) -> Any:
        """A video of these images, to which prompts can be added."""
        height, width = images[0].shape[:2]
        device, dtype = self.tracker.device, self.tracker.dtype
        return self.session_class(self.prepared(images), height, width, inference_device=device, dtype=dtype)


def load_sam(model: str) -> SamCheckpoint:
    """The checkpoint of a folder or hub id."""
    try:
        import torch  # noqa: F401 (transformers loads without it, its models do not)
        import transformers
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "transformers", extra="sam", needed_for="Segmenting with SAM") from None
    is_local = Path(model).exists()
    try:
        config = transformers.AutoConfig.from_pretrained(model, local_files_only=is_local)
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(model, error) from error
    if config.model_type not in _TRACKER_FROM_TYPE:
        raise SourceError(
            f"The checkpoint {model!r} has the type {choices_text(config.model_type, tuple(_TRACKER_FROM_TYPE))}",
            remedy="give a SAM 2 checkpoint, the tracker of a SAM 3 one, or a whole SAM 3 one such as facebook/sam3",
        )
    name = _TRACKER_FROM_TYPE[config.model_type]
    session_class = getattr(transformers, name.replace("Model", "InferenceSession"))
    tracker = _network(name, model, is_local)
    detector = _detector(model, config, is_local) if config.model_type == _WITH_WORDS else None
    return SamCheckpoint(config.model_type, tracker, session_class, detector)


def _detector(model: str, config: Any, is_local: bool) -> Detector:
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, local_files_only=is_local)
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(model, error) from error
    if tokenizer("a").input_ids == tokenizer("b").input_ids:  # transformers makes an empty one where its files miss
        raise _unreadable(model, ValueError("its tokenizer (vocab.json and merges.txt) is missing"))
    return Detector(_network("Sam3Model", model, is_local), tokenizer, float(config.score_threshold_detection))


def _network(name: str, model: str, is_local: bool) -> Any:
    import torch
    import transformers

    try:
        network = getattr(transformers, name).from_pretrained(model, local_files_only=is_local)
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(model, error) from error
    return network.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def _unreadable(model: str, error: Exception) -> SourceError:
    return SourceError(
        f"{model!r} is no checkpoint that can be read: {str(error).splitlines()[0]}",
        remedy="give the folder of a downloaded SAM 2 or SAM 3 checkpoint, such as that of facebook/sam2.1-hiera-tiny",
    )
