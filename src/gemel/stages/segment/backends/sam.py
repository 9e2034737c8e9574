"""SAM 2 (and the tracker of SAM 3) through transformers: prompted in one frame, propagated through the camera's video.

Points, boxes and painted masks go to the model as they are. A camera or episode without a prompt of its own gets a box
around what the classical segmenter found there, so one prompt, or none, serves all cameras. Images are prepared as the
model's own processor does it (its image size, mean and standard deviation of ImageNet; Ravi and others, SAM 2, 2024),
without that processor, which would need torchvision.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gemel.errors import MissingExtraError, SourceError, choices_text
from gemel.stages.segment.backends.classical import ClassicalSegmenter
from gemel.stages.segment.guess import Guess, Segmenter, Wanted, key_of
from gemel.stages.segment.view import View

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_CLASS_FROM_TYPE = {
    "sam2": "Sam2VideoModel",
    "sam2_video": "Sam2VideoModel",
    "sam3_tracker": "Sam3TrackerVideoModel",
    "sam3_tracker_video": "Sam3TrackerVideoModel",
}
_BOX_LABELS = (2, 3)
"""How the model marks the two corners of a box among points."""
_OBJECT = 1


class SamSegmenter:
    """One checkpoint, run on the CPU, or on the GPU where there is one."""

    def __init__(self, model: str, *, full_width: dict[str, int], seeds: Segmenter | None = None) -> None:
        self._model, self._session_class = load_sam(model)
        self._full_width = full_width
        self._seeds = seeds or ClassicalSegmenter(table_height_m=0.0, full_width=full_width)

    def __call__(self, views: list[View], wanted: Wanted, on_progress: Callable[[float], None]) -> list[Guess]:
        """Masks of one object in all views."""
        streams: dict[tuple[str, str], list[int]] = {}
        for i in sorted(range(len(views)), key=lambda i: views[i].step):
            streams.setdefault((views[i].episode, views[i].camera), []).append(i)
        prompts = {key: self._prompts([views[i] for i in places], wanted) for key, places in streams.items()}
        if not all(prompts.values()):
            seeds = self._seeds(views, wanted, lambda fraction: on_progress(0.3 * fraction))
            for key, places in streams.items():
                prompts[key] = prompts[key] or _seed_prompt([seeds[i] for i in places], self._image_size)
        guesses: list[Guess] = [Guess(np.zeros(view.size, dtype=bool), 0.0) for view in views]
        for n, (key, places) in enumerate(streams.items()):
            if prompts[key]:
                found = self._track([views[i] for i in places], prompts[key])
                for i, guess in zip(places, found, strict=True):
                    guesses[i] = guess
            on_progress(0.3 + 0.7 * (n + 1) / len(streams))
        return [
            Guess(wanted.painted[key_of(v)], 1.0) if key_of(v) in wanted.painted else g
            for v, g in zip(views, guesses, strict=True)
        ]

    @property
    def _image_size(self) -> int:
        size = self._model.config.vision_config.backbone_config.image_size
        return int(size[0] if isinstance(size, list | tuple) else size)

    def _prompts(self, views: list[View], wanted: Wanted) -> dict[int, dict[str, Any]]:
        """By place in the stream: a painted mask, or points with labels, in the model's pixels."""
        found: dict[int, dict[str, Any]] = {}
        for place, view in enumerate(views):
            scale = np.array([self._image_size / self._full_width[view.camera]] * 2)
            scale[1] = self._image_size / (view.size[0] * self._full_width[view.camera] / view.size[1])
            here = [b for b in wanted.prompt.boxes if b.frame == key_of(view)]
            points = [np.reshape(b.box, (2, 2)) * scale for b in here[:1]]
            labels = [*_BOX_LABELS] if here else []
            for p in wanted.prompt.points:
                if p.frame == key_of(view):
                    points.append(np.reshape(p.xy, (1, 2)) * scale)
                    labels.append(int(p.is_object))
            if key_of(view) in wanted.painted:
                found[place] = {"mask": wanted.painted[key_of(view)]}
            elif points:
                found[place] = {"points": np.concatenate(points), "labels": labels}
        return found

    def _track(self, views: list[View], prompts: dict[int, dict[str, Any]]) -> list[Guess]:
        """Propagate forwards and backwards from the first prompt."""
        import torch

        session = self._session([view.image for view in views])
        number = session.obj_id_to_idx(_OBJECT)
        for place, prompt in prompts.items():
            if "mask" in prompt:
                size = (self._image_size, self._image_size)
                mask = torch.tensor(prompt["mask"][None, None], dtype=torch.float32)
                session.add_mask_inputs(number, place, torch.nn.functional.interpolate(mask, size) > 0.5)
            else:
                points = torch.tensor(prompt["points"], dtype=torch.float32)[None, None]
                labels = torch.tensor(prompt["labels"], dtype=torch.int32)[None, None]
                session.add_point_inputs(number, place, {"point_coords": points, "point_labels": labels})
        session.obj_with_new_inputs = [_OBJECT]
        guesses: dict[int, Guess] = {}
        with torch.inference_mode():
            for place in prompts:
                guesses[place] = _guess(self._model(session, frame_idx=place), views[place])
            for reverse in (False, True):
                for output in self._model.propagate_in_video_iterator(session, min(prompts), reverse=reverse):
                    guesses[output.frame_idx] = _guess(output, views[output.frame_idx])
        return [guesses[i] for i in range(len(views))]

    def _session(self, images: list[np.ndarray]) -> Any:
        import torch

        size = (self._image_size, self._image_size)
        video = torch.tensor(np.stack(images)).permute(0, 3, 1, 2).to(torch.float32) / 255.0
        video = torch.nn.functional.interpolate(video, size, mode="bilinear", antialias=True)
        video = (video - torch.tensor(_MEAN).view(1, 3, 1, 1)) / torch.tensor(_STD).view(1, 3, 1, 1)
        height, width = images[0].shape[:2]
        return self._session_class(video, height, width, inference_device=self._model.device, dtype=self._model.dtype)


def load_sam(model: str) -> tuple[Any, Any]:
    """The model of a folder or hub id, ready to run, and the class of its sessions."""
    try:
        import torch
        import transformers
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "transformers", extra="sam", needed_for="Segmenting with SAM") from None
    is_local = Path(model).exists()
    try:
        kind = transformers.AutoConfig.from_pretrained(model, local_files_only=is_local).model_type
    except (OSError, ValueError, KeyError) as error:
        raise SourceError(
            f"{model!r} is no checkpoint that can be read: {str(error).splitlines()[0]}",
            remedy="give the folder of a downloaded SAM 2 checkpoint, such as that of facebook/sam2.1-hiera-tiny",
        ) from error
    if kind not in _CLASS_FROM_TYPE:
        raise SourceError(
            f"The checkpoint {model!r} has the type {choices_text(kind, tuple(_CLASS_FROM_TYPE))}",
            remedy="give a SAM 2 checkpoint, or the tracker of a SAM 3 one",
        )
    name = _CLASS_FROM_TYPE[kind]
    network = getattr(transformers, name).from_pretrained(model, local_files_only=is_local)
    network = network.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    return network, getattr(transformers, name.replace("Model", "InferenceSession"))


def _seed_prompt(seeds: list[Guess], size: int) -> dict[int, dict[str, Any]]:
    """A box around the surest large mask of a stream; nothing when all are empty."""
    worth = [g.confidence * np.sqrt(g.mask.sum()) for g in seeds]
    best = int(np.argmax(worth))
    if worth[best] <= 0:
        return {}
    mask = seeds[best].mask
    rows, columns = np.nonzero(mask)
    scale = np.array([size / mask.shape[1], size / mask.shape[0]])
    corners = np.array([[columns.min(), rows.min()], [columns.max() + 1, rows.max() + 1]]) * scale
    return {best: {"points": corners, "labels": [*_BOX_LABELS]}}


def _guess(output: Any, view: View) -> Guess:
    """The mask at the view's size, and how sure the model is of it."""
    import torch

    logits = output.pred_masks.float().reshape(1, 1, *output.pred_masks.shape[-2:])
    logits = torch.nn.functional.interpolate(logits, view.size, mode="bilinear")[0, 0].cpu().numpy()
    mask = logits > 0.0
    if not mask.any():
        return Guess(mask, 0.5)
    sure = 1.0 / (1.0 + np.exp(-np.abs(np.clip(logits[mask], -30, 30))))
    return Guess(mask, float(np.clip(2.0 * sure.mean() - 1.0, 0.0, 1.0)))
