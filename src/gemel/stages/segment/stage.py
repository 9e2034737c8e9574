"""Segment: which pixels of every frame belong to which object.

Owns: masks, their confidence, the choice of frames, and which thing is meant by a prompt or by none.
Does not own: precise cameras (reconstruct), poses of objects (track).
Inputs: `FitData`, read through `Frames`; the robot's shape; masks that a person painted.
Output: a `Segmentation`. Masks have the size of the images and are packed into one blob per camera and episode.
Judged by: overlap with the true masks of stand-in worlds (`gemel bench masks`), aim 0.95.

Time: about 20 s per scan to learn (two cameras and a wrist camera at 160 x 120), then 0.03 s per frame and core.
Memory: all frames at working size, 60 kB each at 160 x 120, 230 kB at 320 x 240.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from gemel.artifacts.blob import Blobs
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding
from gemel.artifacts.segmentation import MaskTrack, Segmentation
from gemel.artifacts.split import FitData
from gemel.errors import ConfigError, choices_text
from gemel.geometry.bitmask import pack_masks
from gemel.stages.segment.build_views import Shot, build_views, choose_shots
from gemel.stages.segment.confidence import with_neighbours
from gemel.stages.segment.config import ObjectPrompt, SegmentConfig
from gemel.stages.segment.findings import not_found, track_findings
from gemel.stages.segment.guess import FrameKey, Guess, Segmenter, Wanted
from gemel.stages.segment.robot_shape import RobotShape
from gemel.stages.segment.view import View

OnProgress = Callable[[float], None]
Painted = Mapping[str, Mapping[FrameKey, Bool[np.ndarray, "h w"]]]
"""Masks that a person painted, by object and frame, at the size of the images."""
VERSION = "1"


@dataclass(frozen=True)
class SegmentInfo:
    """What the segment stage noticed."""

    findings: tuple[Finding, ...]


def segment(
    fit: FitData,
    config: SegmentConfig,
    *,
    frames: Frames,
    blobs: Blobs,
    robot: RobotShape | None,
    segmenter: Segmenter,
    painted: Painted | None = None,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Segmentation, SegmentInfo]:
    """Masks of every object in every chosen frame."""
    wanted = _wanted(fit, config)
    shots = choose_shots(fit, config)
    shots += [shot for shot in _prompted_shots(fit, config, painted or {}) if shot not in set(shots)]
    views = build_views(shots, fit, frames, robot, working_width=config.working_width,
                        on_progress=lambda f: on_progress(0.3 * f))  # fmt: skip
    tracks: list[MaskTrack] = []
    findings: list[Finding] = []
    for n, (name, prompt, episodes) in enumerate(wanted):
        of = [view for view in views if view.episode in episodes]
        brushed = _at_view_size((painted or {}).get(name, {}), of)
        guesses = segmenter(
            of, Wanted(name, prompt, brushed), lambda f, n=n: on_progress(0.3 + 0.7 * (n + f) / len(wanted))
        )  # type: ignore[misc]
        if not any(guess.mask.any() for guess in guesses):
            findings.append(not_found(name))
        for track, more in _tracks(name, prompt, of, guesses, fit, config, blobs):
            tracks.append(track)
            findings += more
    settings = {"min_confidence": config.min_confidence}
    return Segmentation(tuple(tracks), f"{config.backend} {VERSION}", settings), SegmentInfo(tuple(findings))


def _wanted(fit: FitData, config: SegmentConfig) -> list[tuple[str, ObjectPrompt, set[str]]]:
    """Objects with their prompts and the episodes in which they are looked for."""
    records = [*fit.calibration, *fit.validation]
    everywhere = {record.id for record in records}
    if not config.objects:
        names = dict.fromkeys(record.object or "object" for record in records)
        return [(n, ObjectPrompt(), {r.id for r in records if (r.object or "object") == n}) for n in names]
    handled = {record.object for record in records}
    return [
        (name, prompt, {r.id for r in records if r.object == name} if name in handled else everywhere)
        for name, prompt in config.objects.items()
    ]


def _prompted_shots(fit: FitData, config: SegmentConfig, painted: Painted) -> list[Shot]:
    """Frames that somebody pointed at or painted; each has to exist and must not be held out."""
    asked = [(p.episode, p.camera, p.step) for o in config.objects.values() for p in (*o.points, *o.boxes)]
    asked += [key for frames in painted.values() for key in frames]
    records = {record.id: record for record in (*fit.calibration, *fit.validation)}
    for episode, camera, step in asked:
        if episode not in records:
            raise ConfigError(
                f"A prompt is in episode {choices_text(episode, list(records))}",
                remedy="point at a frame of these episodes",
            )
        cameras = [stream.camera for stream in records[episode].streams]
        if camera not in cameras:
            raise ConfigError(f"A prompt is in camera {choices_text(camera, cameras)}", remedy="use one of the choices")
        if not 0 <= step < records[episode].step_count:
            raise ConfigError(
                f"A prompt is at step {step} of episode {episode}, which has {records[episode].step_count} steps.",
                remedy="point at one of its steps",
            )
    return [Shot(*key) for key in dict.fromkeys(asked)]


def _at_view_size(
    painted: Mapping[FrameKey, Bool[np.ndarray, "h w"]], views: list[View]
) -> dict[FrameKey, Bool[np.ndarray, "h w"]]:
    size = {(v.episode, v.camera, v.step): v.size for v in views}
    return {key: resized_mask(mask, size[key]) for key, mask in painted.items() if key in size}


def resized_mask(mask: Bool[np.ndarray, "h w"], size: tuple[int, int]) -> Bool[np.ndarray, "h2 w2"]:
    """A mask at another size (height, width)."""
    if mask.shape == size:
        return mask
    import cv2

    return np.asarray(cv2.resize(mask.astype(np.float32), (size[1], size[0]), interpolation=cv2.INTER_LINEAR) > 0.5)


def _tracks(
    name: str, prompt: ObjectPrompt, views: list[View], guesses: list[Guess], fit: FitData, config: SegmentConfig,
    blobs: Blobs,
) -> list[tuple[MaskTrack, list[Finding]]]:  # fmt: skip
    size_from_camera = {camera.name: (camera.height, camera.width) for camera in fit.cameras}
    groups: dict[tuple[str, str], list[int]] = {}
    for i, view in enumerate(views):
        groups.setdefault((view.episode, view.camera), []).append(i)
    result = []
    for (episode, camera), places in groups.items():
        places = sorted(places, key=lambda i: views[i].step)
        steps = [views[i].step for i in places]
        chosen = [guesses[i] for i in places]
        masks = np.stack([resized_mask(g.mask, size_from_camera[camera]) for g in chosen])
        track = MaskTrack(
            episode, camera, name, blobs.put_bytes(pack_masks(masks)), tuple(steps),
            with_neighbours(chosen, steps), prompt.text,
        )  # fmt: skip
        shares = masks.mean(axis=(1, 2))
        result.append((track, track_findings(track, shares, config.min_confidence, is_scan=views[places[0]].is_scan)))
    return result
