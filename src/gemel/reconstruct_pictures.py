"""What to look at after a reconstruction: this file hands what the stage noticed to the room that draws.

Stages and outputs are rooms of one floor and do not know each other.
"""

import numpy as np

from gemel.artifacts.camera import WORLD
from gemel.outputs.pictures.comparison import ComparedView, comparison
from gemel.outputs.pictures.overlay import RobotInView, robot_overlay
from gemel.outputs.pictures.sheet import Picture
from gemel.outputs.pictures.turntable import turntable
from gemel.stages.reconstruct.calibration.robot_in_view import robot_mask
from gemel.stages.reconstruct.calibration.robot_rig import Poses
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.looks import drawn
from gemel.stages.reconstruct.stage import ReconstructInfo

_PER_CAMERA = 2
_FINER = 4
_SHOWN = 12


def reconstruct_pictures(info: ReconstructInfo) -> dict[str, Picture]:
    """By file name: the robot on the images, and for each object a turntable and its views."""
    pictures = {}
    robots = _robots_in_view(info)
    if robots:
        pictures["robot"] = robot_overlay(robots)
    for name, item in info.fitted.items():
        pictures[f"{name}_turntable"] = turntable(item.mesh)
        pictures[f"{name}_views"] = comparison(_compared(info, name), most=_SHOWN)
    return pictures


def _compared(info: ReconstructInfo, name: str) -> list[ComparedView]:
    """Withheld views and evenly chosen others of one object."""
    item, observations = info.fitted[name], info.observations
    own = item.views.fitted_rows
    fitted = own[np.unique(np.linspace(0, len(own) - 1, min(_SHOWN, len(own))).round().astype(int))]
    views = []
    for v in (*item.views.withheld_rows, *fitted):
        colour, coverage = drawn(item, info.after, observations, int(v))
        views.append(
            ComparedView(
                label=_label(info, int(v)),
                is_withheld=v in item.views.withheld_rows,
                real=observations.images[v],
                mask=np.asarray(observations.masks[name][v]),
                fit=colour,
                coverage=coverage,
                ignored=info.after.robots[v] | ~observations.known[v],
            )
        )
    return views


def _robots_in_view(info: ReconstructInfo) -> list[RobotInView]:
    """Some views of each fixed camera, with the model's outline before and after calibration."""
    observations = info.observations
    if info.before.problem is None:
        return []
    chosen: list[int] = []
    for c, camera in enumerate(observations.cameras):
        if camera.parent == WORLD:
            own = np.flatnonzero(observations.camera == c)
            chosen += [int(own[i]) for i in np.linspace(0, len(own) - 1, _PER_CAMERA + 2).round().astype(int)[1:-1]]
    return [
        RobotInView(_label(info, v), observations.images[v], _robot(info, info.before, v), _robot(info, info.after, v))
        for v in chosen
    ]


def _robot(info: ReconstructInfo, located: Located, v: int) -> np.ndarray:
    """The robot's pixels without any margin, finer than the image."""
    assert located.problem is not None
    assert located.calibration is not None
    poses = located.calibration.jacobians.poses
    fine = Poses(poses.Ts_camera_world, poses.Ts_world_link, _FINER * located.intrinsics)
    height, width = info.observations.images[v].shape[:2]
    return robot_mask(located.problem.surface, fine, v, (_FINER * height, _FINER * width), margin_px=0)


def _label(info: ReconstructInfo, v: int) -> str:
    observations = info.observations
    return f"{observations.cameras[observations.camera[v]].name} {observations.times_s[v]:.2f} s"
