"""SAM 2 and SAM 3 through transformers: prompted in a few frames, propagated through the camera's video.

Points, boxes and painted masks go to the model as they are. A camera or episode without a prompt of its own gets one:
from the object's words where the checkpoint has a detector (SAM 3), else a box around what the classical segmenter
found there. So one prompt, or none, serves all cameras.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gemel.errors import ConfigError
from gemel.stages.segment.backends.classical import ClassicalSegmenter
from gemel.stages.segment.backends.sam_checkpoint import load_sam
from gemel.stages.segment.backends.sam_text import find_by_words
from gemel.stages.segment.guess import Guess, Segmenter, Wanted, key_of
from gemel.stages.segment.view import View

OnProgress = Callable[[float], None]
Prompts = dict[int, dict[str, Any]]
"""By place in a video: `mask`, at the view's size, or `points` in the model's pixels with their `labels`."""
_BOX_LABELS = (2, 3)
"""How the model marks the two corners of a box among points."""
_OBJECT = 1


class SamSegmenter:
    """One checkpoint, run on the CPU, or on the GPU where there is one."""

    def __init__(self, model: str, *, full_width: dict[str, int], seeds: Segmenter | None = None) -> None:
        self._name, self._checkpoint = model, load_sam(model)
        self._full_width = full_width
        self._seeds = seeds or ClassicalSegmenter(table_height_m=0.0, full_width=full_width)

    def __call__(self, views: list[View], wanted: Wanted, on_progress: OnProgress) -> list[Guess]:
        """Masks of one object in all views."""
        self._check_words(wanted)
        streams: dict[tuple[str, str], list[int]] = {}
        for i in sorted(range(len(views)), key=lambda i: views[i].step):
            streams.setdefault((views[i].episode, views[i].camera), []).append(i)
        prompts = {key: self._prompts([views[i] for i in places], wanted) for key, places in streams.items()}
        bare = {key: places for key, places in streams.items() if not _shows_object(prompts[key])}
        if bare:
            found = self._found(views, bare, wanted, lambda fraction: on_progress(0.3 * fraction))
            prompts |= {key: {**found[key], **prompts[key]} for key in bare}
        guesses: list[Guess] = [Guess(np.zeros(view.size, dtype=bool), 0.0) for view in views]
        for n, (key, places) in enumerate(streams.items()):
            if prompts[key]:
                tracked = self._track([views[i] for i in places], prompts[key])
                for i, guess in zip(places, tracked, strict=True):
                    guesses[i] = guess
            on_progress(0.3 + 0.7 * (n + 1) / len(streams))
        return [
            Guess(wanted.painted[key_of(v)], 1.0) if key_of(v) in wanted.painted else g
            for v, g in zip(views, guesses, strict=True)
        ]

    def _check_words(self, wanted: Wanted) -> None:
        """Words alone need a detector."""
        prompt = wanted.prompt
        is_shown = bool(prompt.points or prompt.boxes or wanted.painted)
        if prompt.prompt and not is_shown and self._checkpoint.detector is None:
            raise ConfigError(
                f"Only words say what {wanted.name!r} is ({prompt.prompt!r}), and the checkpoint {self._name!r} "
                f"(type {self._checkpoint.kind}) does not understand words.",
                remedy="give [segment] model a whole SAM 3 checkpoint such as facebook/sam3, or point at the object "
                "with `gemel prompt DIR`, or leave `prompt` out: then the thing on the table is taken",
            )

    def _found(
        self, views: list[View], streams: dict[tuple[str, str], list[int]], wanted: Wanted, on_progress: OnProgress
    ) -> dict[tuple[str, str], Prompts]:
        """Prompts of the videos in which nobody pointed at anything."""
        detector, words = self._checkpoint.detector, wanted.prompt.prompt
        if detector is None or not words:
            seeds = self._seeds(views, wanted, on_progress)
            size = self._checkpoint.image_size
            return {key: _seed_prompt([seeds[i] for i in places], size) for key, places in streams.items()}
        prompts: dict[tuple[str, str], Prompts] = {}
        for n, (key, places) in enumerate(streams.items()):
            found = find_by_words(self._checkpoint, detector, [views[i] for i in places], words)
            prompts[key] = {} if found is None else {found[0]: {"mask": found[1]}}
            on_progress((n + 1) / len(streams))
        return prompts

    def _prompts(self, views: list[View], wanted: Wanted) -> Prompts:
        """What a person painted or pointed at."""
        found: Prompts = {}
        size = self._checkpoint.image_size
        for place, view in enumerate(views):
            scale = np.array([size / self._full_width[view.camera]] * 2)
            scale[1] = size / (view.size[0] * self._full_width[view.camera] / view.size[1])
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

    def _track(self, views: list[View], prompts: Prompts) -> list[Guess]:
        """Propagate forwards and backwards from the first prompt."""
        import torch

        tracker, side = self._checkpoint.tracker, self._checkpoint.image_size
        session = self._checkpoint.session([view.image for view in views])
        number = session.obj_id_to_idx(_OBJECT)
        for place, prompt in prompts.items():
            if "mask" in prompt:
                mask = torch.tensor(prompt["mask"][None, None], dtype=torch.float32)
                session.add_mask_inputs(number, place, torch.nn.functional.interpolate(mask, (side, side)) > 0.5)
            else:
                points = torch.tensor(prompt["points"], dtype=torch.float32)[None, None]
                labels = torch.tensor(prompt["labels"], dtype=torch.int32)[None, None]
                session.add_point_inputs(number, place, {"point_coords": points, "point_labels": labels})
        session.obj_with_new_inputs = [_OBJECT]
        guesses: dict[int, Guess] = {}
        with torch.inference_mode():
            for place in prompts:
                guesses[place] = _guess(tracker(session, frame_idx=place), views[place])
            for reverse in (False, True):
                for output in tracker.propagate_in_video_iterator(session, min(prompts), reverse=reverse):
                    guesses[output.frame_idx] = _guess(output, views[output.frame_idx])
        return [guesses[i] for i in range(len(views))]


def _shows_object(prompts: Prompts) -> bool:
    """Whether some prompt says where the object is, not only where it is not."""
    return any(prompt["mask"].any() if "mask" in prompt else any(prompt["labels"]) for prompt in prompts.values())


def _seed_prompt(seeds: list[Guess], size: int) -> Prompts:
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
