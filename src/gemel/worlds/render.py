"""Frames of a world: when each row was exposed, where everything was then, and what the sensor made of it.

A frame of time stamp t shows the world at t plus the camera's time offset, blurred over the exposure and sheared by the
rolling shutter. Both are made from a few renderings spread over that time: each row mixes those that fall into its own
exposure. The light paths of a camera are the same in every frame: what stands still looks the same from frame to frame,
up to the sensor's own noise.
"""

import time
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.camera import WORLD, Camera
from gemel.geometry import SE3, Pinhole
from gemel.worlds.denoise import Rendering, denoised
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.history import History
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.mitsuba_scene import MitsubaScene
from gemel.worlds.sensor import develop

STATED_NOISE = 0.02
"""Root-mean-square error of linear radiance, clipped at 1, at the default sample count."""
_FEWEST_EXPOSURES, _MOST_EXPOSURES = 2, 5
_FEWEST_SAMPLES = 2
_SIZE_OF_THINGS_M = 0.15
_DISTANCE_M = {"world": 0.8, "link": 0.25}


@dataclass
class RenderClock:
    """Where the time of rendering goes [s]."""

    mitsuba_s: float = 0.0
    total_s: float = 0.0
    frame_count: int = 0


@dataclass(eq=False)
class Renderer:
    """Makes the frames of one world."""

    scene: MitsubaScene
    cameras: tuple[Camera, ...]
    """True cameras."""
    imperfections: Imperfections
    seed: int
    sample_count: int = 4
    clock: RenderClock = field(default_factory=RenderClock)
    _sensors: dict[tuple[str, int], Any] = field(default_factory=dict)

    def frame(
        self, history: History, camera_name: str, step: int, time_s: float, episode: int
    ) -> UInt8[np.ndarray, "h w 3"]:
        """The frame that a camera delivers with time stamp `time_s` at a step of an episode."""
        started = time.perf_counter()
        number = [camera.name for camera in self.cameras].index(camera_name)
        rng = stream_rng(self.seed, Stream.FRAME, episode, number, step)
        camera = self.cameras[number]
        jitter = self.imperfections.camera_jitter_s * abs(float(rng.standard_normal()))
        middle_s = time_s + camera.time_offset_s - jitter
        radiance = self._exposed(history, camera, middle_s, seed=1000 * number)
        picture = develop(radiance, self.imperfections, rng)
        self.clock.total_s += time.perf_counter() - started
        self.clock.frame_count += 1
        return picture

    def radiance(
        self, history: History, camera: Camera, time_s: float, *, sample_count: int, seed: int
    ) -> Float[np.ndarray, "h w 3"]:
        """Linear radiance at one instant, without sensor."""
        return denoised(self._instant(history, camera, time_s, sample_count, seed))

    def _instant(self, history: History, camera: Camera, time_s: float, sample_count: int, seed: int) -> Rendering:
        poses = history.at(time_s)
        self.scene.pose(poses)
        T_world_camera = camera_pose(camera, history.body_names, poses)
        sensor = self._sensor(camera, sample_count)
        started = time.perf_counter()
        image = self.scene.render(sensor, T_world_camera, sample_count=sample_count, seed=seed)
        self.clock.mitsuba_s += time.perf_counter() - started
        return image

    def _exposed(self, history: History, camera: Camera, middle_s: float, *, seed: int) -> Float[np.ndarray, "h w 3"]:
        exposure_s, readout_s = self.imperfections.exposure_s, self.imperfections.rolling_shutter_s
        count = self._exposure_count(history, camera, middle_s, exposure_s + readout_s)
        weights, offsets_s = row_weights(camera.height, count, exposure_s=exposure_s, readout_s=readout_s)
        samples = max(_FEWEST_SAMPLES, round(self.sample_count / count))
        instants = [
            self._instant(history, camera, middle_s + offsets_s[i], samples, seed + i).weighted(weights[i])
            for i in range(count)
        ]
        return denoised(reduce(add, instants))

    def _exposure_count(self, history: History, camera: Camera, middle_s: float, span_s: float) -> int:
        """Enough renderings for the fastest thing to move at most two pixels between them, within bounds."""
        first, last = history.at(middle_s - 0.5 * span_s), history.at(middle_s + 0.5 * span_s)
        shift = np.linalg.norm(last[:, 4:] - first[:, 4:], axis=1)
        cosine = np.clip(np.abs(np.sum(first[:, :4] * last[:, :4], axis=1)), 0.0, 1.0)
        moved_m = float(np.max(shift + _SIZE_OF_THINGS_M * 2.0 * np.arccos(cosine)))
        distance_m = _DISTANCE_M["world" if camera.parent == WORLD else "link"]
        assert camera.model is not None
        pixels = moved_m * camera.model.fx / distance_m
        return int(np.clip(np.ceil(0.5 * pixels) + 1, _FEWEST_EXPOSURES, _MOST_EXPOSURES))

    def _sensor(self, camera: Camera, sample_count: int) -> Any:
        key = (camera.name, sample_count)
        if key not in self._sensors:
            assert isinstance(camera.model, Pinhole)
            self._sensors[key] = self.scene.sensor(camera.model, sample_count)
        return self._sensors[key]


def camera_pose(camera: Camera, body_names: tuple[str, ...], poses: Float[np.ndarray, "body 7"]) -> SE3:
    """`T_world_camera` of a fixed camera, or of one on a body."""
    assert camera.T_parent_camera is not None
    if camera.parent == WORLD:
        return camera.T_parent_camera
    return SE3.from_wxyz_xyz(poses[body_names.index(camera.parent)]) @ camera.T_parent_camera


def row_weights(
    height: int, count: int, *, exposure_s: float, readout_s: float
) -> tuple[Float[np.ndarray, "count height"], Float[np.ndarray, " count"]]:
    """How much each of `count` instants adds to each row, and when they are relative to the frame's middle [s].

    The whole time is cut into equal cells; a row takes each cell in proportion to the overlap with its own exposure.
    """
    span_s = exposure_s + readout_s
    edges = np.linspace(-0.5 * span_s, 0.5 * span_s, count + 1)
    middle = ((np.arange(height) + 0.5) / height - 0.5) * readout_s
    low, high = middle - 0.5 * exposure_s, middle + 0.5 * exposure_s
    overlap = np.minimum(edges[1:, None], high) - np.maximum(edges[:-1, None], low)
    overlap = np.clip(overlap, 0.0, None) + 1e-12  # without any exposure time all instants are the same one
    return overlap / overlap.sum(axis=0), 0.5 * (edges[1:] + edges[:-1])
