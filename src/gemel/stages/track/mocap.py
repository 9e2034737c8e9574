"""Poses that the log brings, passed through with a given uncertainty."""

import numpy as np

from gemel.artifacts.episode import Episode
from gemel.artifacts.track import Track
from gemel.services.tracking.evidence import about_world
from gemel.stages.track.config import TrackConfig


def mocap_tracks(episode: Episode, config: TrackConfig) -> tuple[Track, ...]:
    """One track for each object that the log has poses of."""
    own = np.diag([*(config.mocap_position_sigma_m**2,) * 3, *(config.mocap_rotation_sigma_rad**2,) * 3])
    tracks = []
    for name, poses in episode.object_poses.items():
        A = np.stack([about_world(p) for p in poses.translation])
        tracks.append(
            Track(
                episode=episode.id,
                object=name,
                times_s=episode.times_s,
                Ts_world_object=poses,
                covariances=A @ own @ np.swapaxes(A, 1, 2),
                is_lost=np.zeros(len(episode.times_s), dtype=bool),
            )
        )
    return tuple(tracks)
