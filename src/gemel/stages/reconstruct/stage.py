"""Reconstruct: frames, masks and robot -> SplatMesh objects, calibrated cameras and robot.

Owns: shapes and looks of objects, robot links, table and background; camera mountings, optics and clocks; base poses,
joint offsets and play.
Does not own: masks (segment), motion (track), physical parameters (identify).
Inputs: `FitData` read through `Frames`, masks, and the robot's model if there is one. Objects rest during a scan.
Output: a `Reconstruction`. With a robot, its base is the frame, its links are the ruler; without one, the given cameras
are both. What no view saw is closed plausibly and marked as invented.
Judged by: the gate (checks/ before the fit, gate/ after it); `gemel bench reconstruct` and `calibrate` against truth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.split import FitData
from gemel.errors import SourceError
from gemel.geometry import SE3, SO3
from gemel.services.generate.generator import Generator
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.render.renderer import Renderer, make_renderer
from gemel.services.render.torch_threads import one_torch_thread
from gemel.stages.reconstruct.calibration.calibrate import Calibration
from gemel.stages.reconstruct.checks.depth_agreement import with_trusted_depth
from gemel.stages.reconstruct.checks.plausible import look_again, look_over
from gemel.stages.reconstruct.colours import object_response, scene_response
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.stages.reconstruct.fitted_object import FittedObject
from gemel.stages.reconstruct.found import cameras_of, joint_columns
from gemel.stages.reconstruct.gate.judge import has_errors, insist, judge
from gemel.stages.reconstruct.generated.start import generated_start
from gemel.stages.reconstruct.located import Located, locate_as_given, locate_by_robot, located_at
from gemel.stages.reconstruct.object_views import LEAST_VIEWS, object_views
from gemel.stages.reconstruct.observations import MaskOf, Observations, observe
from gemel.stages.reconstruct.scene.scene import Scene, SceneInfo, reconstruct_scene

if TYPE_CHECKING:
    from gemel.stages.reconstruct.fit import FitConfig

OnProgress = Callable[[float], None]
_ROUND = 0.5
"""Thickness of Gaussians that are not kept flat, in mean edges: as thick as they are wide."""
_CALIBRATION_PART = 0.35
"""Part of the work that calibration is, on the progress bar."""
_SCENE_PART = 0.1
"""Part of the work that robot, table and background are."""


@dataclass(frozen=True, eq=False)
class ReconstructInfo:
    """What the stage noticed, and what its gate, pictures and benchmarks need."""

    findings: tuple[Finding, ...]
    observations: Observations
    before: Located
    """With cameras and robot as the lab believes them."""
    after: Located
    fitted: dict[str, FittedObject]
    scene: SceneInfo | None = None
    """How well everything drawn together explains withheld views; None without a robot, and before it is made."""


@dataclass(frozen=True, eq=False)
class _Tools:
    """What every object's fit uses."""

    renderer: Renderer
    generator: Generator | None
    rng: np.random.Generator


@one_torch_thread()
def reconstruct(
    fit: FitData,
    config: ReconstructConfig,
    *,
    objects: Sequence[str],
    mask_of: MaskOf,
    frames: Frames,
    robot: Any,
    rng: np.random.Generator,
    generator: Generator | None = None,
    on_progress: OnProgress = lambda fraction: None,
    on_judged: Callable[[ReconstructInfo], None] = lambda info: None,
) -> tuple[Reconstruction, ReconstructInfo]:
    """Shapes, looks and calibration; `robot` is the compiled robot model (`mujoco.MjModel`) or None.

    With a `generator`, objects start from its models instead of from their outlines, and one view of each is enough.
    `on_judged` is told what there is to look at before the gate stops at errors: then it is needed most.
    """
    if not objects:
        raise SourceError("No object was segmented.", remedy="prompt for one with `gemel prompt`, or in twin.toml")
    calibration = config.calibration
    observations = observe(
        fit,
        frames,
        objects=objects,
        mask_of=mask_of,
        moving_views=calibration.moving_views,
        fixed_views=calibration.fixed_views,
    )
    tools = _Tools(make_renderer(config.renderer), generator, rng)
    before, located, findings = _locate(
        observations, fit, config, robot, lambda part: on_progress(_CALIBRATION_PART * part),
        needs_overlap=generator is None,
    )  # fmt: skip
    if has_errors(findings) and config.is_gate_strict:
        on_judged(ReconstructInfo(findings, observations, before, located, {}))
        insist(findings)
    fitted: dict[str, FittedObject] = {}
    for index, name in enumerate(objects):

        def progress(part: float, index: int = index) -> None:
            on_progress(_CALIBRATION_PART + (1.0 - _CALIBRATION_PART - _SCENE_PART) * (index + part) / len(objects))

        fitted[name], located, noted = _fit_object(observations, name, located, config, tools, progress)
        findings += noted
    findings += judge(fitted, located, observations, is_metric=located.problem is not None, rng=rng)
    info = ReconstructInfo(findings, observations, before, located, fitted)
    on_judged(info)
    if config.is_gate_strict:
        insist(findings)
    scene, scene_info = _scene(info, config, robot, tools, lambda part: on_progress(1.0 - _SCENE_PART * (1.0 - part)))
    info = replace(info, scene=scene_info)
    return _assembled(fit, info, scene), info


def nothing_to_reconstruct(fit: FitData) -> tuple[Reconstruction, tuple[Finding, ...]]:
    """What is known when no object was segmented: the cameras as they were given."""
    finding = Finding(
        code="nothing-to-reconstruct",
        severity=Severity.WARNING,
        message="No object was segmented, so nothing was reconstructed and no camera was corrected.",
        remedy="point at an object with `gemel prompt`, or record a scan with calibrated cameras",
    )
    count = len(fit.joints)
    empty = Reconstruction(
        objects={}, placements={}, links={}, table=None, articulated={}, background=None, cameras=fit.cameras,
        Ts_world_base=SE3.identity(0), joint_offsets=np.zeros(count), joint_offset_sigmas=np.full(count, np.inf),
        joint_plays=np.zeros(count), is_metric=False,
    )  # fmt: skip
    return empty, (finding,)


def _locate(
    observations: Observations, fit: FitData, config: ReconstructConfig, robot: Any, on_progress: OnProgress,
    *, needs_overlap: bool,
) -> tuple[Located, Located, tuple[Finding, ...]]:  # fmt: skip
    """Poses before and after calibration, and what is wrong with the log."""
    if robot is None:
        before = locate_as_given(observations)
    else:
        before = locate_by_robot(
            observations, fit.joints, robot, config.calibration, is_calibrated=False, on_progress=on_progress
        )
    table_height_m = config.calibration.table_height_m
    findings = look_over(observations, before, table_height_m=table_height_m, needs_overlap=needs_overlap)
    if has_errors(findings) and config.is_gate_strict:
        return before, before, findings
    after = before
    if robot is not None and config.is_calibrated:
        after = locate_by_robot(
            observations, fit.joints, robot, config.calibration, is_calibrated=True, on_progress=on_progress
        )
    return before, after, (*findings, *look_again(observations, after, table_height_m=table_height_m))


def _fit_object(
    observations: Observations,
    name: str,
    located: Located,
    config: ReconstructConfig,
    tools: _Tools,
    on_progress: OnProgress,
) -> tuple[FittedObject, Located, tuple[Finding, ...]]:
    """One object, the poses as its looks correct them, and what has to be said about it."""
    from gemel.stages.reconstruct.calibrated_rig import CalibratedRig
    from gemel.stages.reconstruct.object_fit import ObjectConfig, reconstruct_object
    from gemel.stages.reconstruct.rig import FreeRig, Rig

    views = object_views(
        observations, name, located.Ts_world_camera, located.intrinsics, list(located.robots),
        fixed_views=config.fixed_views, least=LEAST_VIEWS if tools.generator is None else 1,
    )  # fmt: skip
    views, of_depth = with_trusted_depth(views, name)
    device = "cuda" if tools.renderer.name == "cuda" else "cpu"
    rig: Rig
    if located.calibration is not None and config.is_refined:
        rows = views.fitted_rows
        rig = CalibratedRig(located.calibration, rows, located.intrinsics[rows], device=device)
    else:
        rig = FreeRig(views.fitted, np.zeros(3), rotation_sigma_rad=0.0, translation_sigma_m=0.0, device=device)
    object_config = ObjectConfig(
        voxel_count=config.voxels,
        face_count=config.faces,
        table_z=config.calibration.table_height_m if located.problem is not None else None,
        start=config.start,
        fit=_fit_config(config),
    )
    start = None
    if tools.generator is not None:
        start = generated_start(
            name, tools.generator, views.fitted, table_z=object_config.table_z, voxel_count=config.voxels,
            face_count=config.faces, rng=tools.rng,
        )  # fmt: skip
    mesh, info = reconstruct_object(
        views.fitted, rig, object_config, renderer=tools.renderer, rng=tools.rng,
        start=None if start is None else start.mesh, on_progress=lambda done, total: on_progress(done / total),
    )  # fmt: skip
    if isinstance(rig, CalibratedRig):
        located = _moved(observations, located, rig.theta())
    noted = () if start is None else start.findings(name, len(views.fitted))
    return FittedObject(mesh, views, info.gains, info.offsets, info.lights), located, (*of_depth, *noted)


def _scene(
    info: ReconstructInfo, config: ReconstructConfig, robot: Any, tools: _Tools, on_progress: OnProgress
) -> tuple[Scene, SceneInfo | None]:
    """What is round the objects."""
    return reconstruct_scene(
        info.observations,
        info.after,
        link_meshes(robot) if robot is not None else (),
        config.scene,
        table_height_m=config.calibration.table_height_m,
        objects={name: item.mesh for name, item in info.fitted.items()},
        used=np.unique(np.concatenate([item.views.fitted_rows for item in info.fitted.values()])),
        renderer=tools.renderer,
        rng=tools.rng,
        on_progress=on_progress,
    )


def _fit_config(config: ReconstructConfig) -> "FitConfig":
    """What the fit is told, with parts of it switched off where a comparison asks for it."""
    from gemel.stages.reconstruct.fit import FitConfig
    from gemel.stages.reconstruct.losses import LossWeights

    weights = LossWeights() if config.is_smooth else LossWeights(laplacian=0.0, edge=0.0, normal=0.0)
    thickness = FitConfig.normal_scale if config.is_flat else _ROUND
    return FitConfig(steps=config.steps, gaussian_count=config.gaussians, normal_scale=thickness, weights=weights)


def _moved(observations: Observations, located: Located, theta: np.ndarray) -> Located:
    """The same with the unknowns that a fit found."""
    assert located.problem is not None
    assert located.calibration is not None
    rig = located.problem.rig
    calibration = Calibration(theta, located.calibration.covariance, rig.jacobians(theta))
    return located_at(observations, located.problem, calibration, located.info)


def _assembled(fit: FitData, info: ReconstructInfo, scene: Scene) -> Reconstruction:
    located, fitted = info.after, info.fitted
    placements = {name: _placement(item.mesh) for name, item in fitted.items()}
    meshes = {
        name: replace(item.mesh, vertices=placements[name].inverse() @ item.mesh.vertices)
        for name, item in fitted.items()
    }
    offsets, sigmas, plays = joint_columns(fit.joints, located)
    bases = SE3.identity(0)
    if located.problem is not None and located.calibration is not None:
        bases = SE3.from_matrix(located.problem.rig.base_poses(located.calibration.theta))
    cameras = cameras_of(fit.cameras, info.observations.cameras, located)
    of_scene = None
    if info.scene is not None:
        of_scene = scene_response(cameras, info.scene.views.camera_names, info.scene.responses)
    return Reconstruction(
        objects=meshes,
        placements=placements,
        links=scene.links,
        table=scene.table,
        articulated={},
        background=scene.background,
        cameras=cameras,
        Ts_world_base=bases,
        joint_offsets=offsets,
        joint_offset_sigmas=sigmas,
        joint_plays=plays,
        is_metric=located.problem is not None,
        scene_response=of_scene,
        object_responses={name: object_response(cameras, item, of_scene) for name, item in fitted.items()},
    )


def _placement(mesh: SplatMesh) -> SE3:
    """The object's frame: origin in the middle of its bounding box, axes as the world's."""
    middle = 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))
    return SE3(SO3.identity(), middle)
