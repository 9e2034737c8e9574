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
from functools import partial

import numpy as np
from jaxtyping import Bool

from gemel.artifacts.blob import Blobs
from gemel.artifacts.camera import WORLD
from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding
from gemel.artifacts.segmentation import MaskTrack, Segmentation
from gemel.artifacts.split import FitData
from gemel.errors import ConfigError, choices_text
from gemel.geometry.bitmask import pack_masks
from gemel.stages.segment.backends.choose import MaskFile, make_segmenter
from gemel.stages.segment.build_views import Shot, blind_cameras, build_views, choose_shots
from gemel.stages.segment.confidence import with_neighbours
from gemel.stages.segment.config import ObjectPrompt, SegmentConfig
from gemel.stages.segment.findings import camera_is_blind, not_found, track_findings
from gemel.stages.segment.guess import FrameKey, Guess, Wanted
from gemel.stages.segment.robot_shape import RobotShape
from gemel.stages.segment.view import View

OnProgress = Callable[[float], None]
Painted = Mapping[str, Mapping[FrameKey, Bool[np.ndarray, "_ _"]]]
"""Masks that a person painted, by object and frame, at the size of the images."""
WantedIn = tuple[str, ObjectPrompt, set[str]]
"""An object's name, its prompt and the episodes in which it is looked for."""
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
    model: str = "",
    mask_file: MaskFile = lambda name, key: None,
    painted: Painted | None = None,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Segmentation, SegmentInfo]:
    """Masks of every object in every chosen frame.

    `model` is where the segmenter's weights are; `mask_file` hands out the user's own masks.
    """
    segmenter = make_segmenter(config, fit, frames, model=model, mask_file=mask_file)
    asked = _wanted(fit, config)
    wanted = [w for w in asked if can_be_found(fit, config, w, painted or {})]
    findings = [not_found(name) for name, _, _ in asked if name not in {name for name, _, _ in wanted}]
    if not wanted:
        return _result(config, []), SegmentInfo(tuple(findings))
    shots = choose_shots(fit, config)
    shots += [shot for shot in _prompted_shots(fit, config, painted or {}) if shot not in set(shots)]
    views = build_views(shots, fit, frames, robot, working_width=config.working_width,
                        on_progress=lambda f: on_progress(0.3 * f))  # fmt: skip
    blind = blind_cameras(views)
    findings += [camera_is_blind(camera) for camera in blind]
    views = [view for view in views if view.camera not in blind]
    tracks: list[MaskTrack] = []
    for n, (name, prompt, episodes) in enumerate(wanted):
        of = [view for view in views if view.episode in episodes]
        brushed = _at_view_size((painted or {}).get(name, {}), of)
        part = partial(_part_done, on_progress, n, len(wanted))
        guesses = segmenter(of, Wanted(name, prompt, brushed), part)
        if not any(guess.mask.any() for guess in guesses):
            findings.append(not_found(name))
        for track, more in _tracks(name, prompt, of, guesses, fit, config, blobs):
            tracks.append(track)
            findings += more
    return _result(config, tracks), SegmentInfo(tuple(findings))


def _result(config: SegmentConfig, tracks: list[MaskTrack]) -> Segmentation:
    return Segmentation(tuple(tracks), f"{config.backend} {VERSION}", {"min_confidence": config.min_confidence})


def can_be_found(fit: FitData, config: SegmentConfig, wanted: WantedIn, painted: Painted) -> bool:
    """Whether it is worth reading any frame: something points at the object, or a moving camera scans the table."""
    name, prompt, episodes = wanted
    if config.backend != "classical" or prompt.points or prompt.boxes or painted.get(name):
        return True
    moving = {c.name for c in fit.cameras if c.is_calibrated and (c.parent != WORLD or c.has_pose_per_frame)}
    scans = [r for r in (*fit.calibration, *fit.validation) if r.kind is EpisodeKind.SCAN and r.id in episodes]
    return any(stream.camera in moving for record in scans for stream in record.streams)


def _part_done(on_progress: OnProgress, done: int, total: int, fraction: float) -> None:
    """Progress of one object among several, after the frames were read."""
    on_progress(0.3 + 0.7 * (done + fraction) / total)


def _wanted(fit: FitData, config: SegmentConfig) -> list[WantedIn]:
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
    asked = [p.frame for o in config.objects.values() for p in o.points]
    asked += [b.frame for o in config.objects.values() for b in o.boxes]
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
    painted: Mapping[FrameKey, Bool[np.ndarray, "_ _"]], views: list[View]
) -> dict[FrameKey, Bool[np.ndarray, "_ _"]]:
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
