"""What to look at after tracking: this file hands what the stage found to the room that draws.

Stages and outputs are rooms of one floor and do not know each other.
"""

import numpy as np

from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.track import Track, Tracks
from gemel.outputs.pictures.font import labelled
from gemel.outputs.pictures.overlay import AFTER, BEFORE, outline
from gemel.outputs.pictures.sheet import Picture, as_picture, magnification, sheet
from gemel.services.render.mesh_raster import silhouette
from gemel.services.tracking.view import View
from gemel.stages.track.stage import TrackInfo

_FRAMES = 5
_WANTED_PX = 320


def track_pictures(tracks: Tracks, info: TrackInfo, reconstruction: Reconstruction) -> dict[str, Picture]:
    """By file name: for each track, the object's outline on a few frames of every camera, red where it was lost."""
    if info.lab is None:
        return {}
    records = {record.id: record for record in (*info.lab.fit.calibration, *info.lab.fit.validation)}
    pictures = {}
    for track in tracks.tracks:
        looks = [int(s) for s in np.unique(np.linspace(0, len(track.times_s) - 1, _FRAMES).round())]
        steps = [info.every * look for look in looks]
        cells = [
            _cell(view, track, look, reconstruction)
            for look, views in zip(looks, info.lab.views(records[track.episode], steps), strict=True)
            for view in views
        ]
        pictures[f"{track.object}_episode_{track.episode}"] = sheet(cells, columns=len(info.lab.lookout.cameras))
    return pictures


def _cell(view: View, track: Track, look: int, reconstruction: Reconstruction) -> Picture:
    mesh, n = reconstruction.objects[track.object], magnification(view.shape[1], wanted=_WANTED_PX)
    T = view.T_camera_world @ track.Ts_world_object[look].as_matrix()
    p_camera = mesh.vertices @ T[:3, :3].T + T[:3, 3]
    mask = silhouette(p_camera, mesh.faces, n * view.intrinsics, n * view.shape[1], n * view.shape[0])
    picture = as_picture(view.image, size=n)
    outline(picture, mask, BEFORE if track.is_lost[look] else AFTER)
    return labelled(picture, f"{view.camera} {track.times_s[look]:.2f} s")
