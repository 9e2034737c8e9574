"""Robot links, table and background from the views that objects and calibration were made of.

Without a calibrated robot nothing says where a table is, and the scene stays empty.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.services.kinematics.link_meshes import LinkMesh
from gemel.services.render.renderer import Renderer
from gemel.services.render.spherical_harmonics import C0
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations
from gemel.stages.reconstruct.scene.backdrop import reconstruct_background
from gemel.stages.reconstruct.scene.bound import DILATION_PX2, bound_mesh
from gemel.stages.reconstruct.scene.config import SceneConfig
from gemel.stages.reconstruct.scene.links import LINK_SCALE, completed_colours, seen_links
from gemel.stages.reconstruct.scene.response import Responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews, scene_views
from gemel.stages.reconstruct.scene.table import reconstruct_table

_TABLE, _BACKGROUND = "table of the scene", "background of the scene"
"""Names of parts beside the links' names."""
_START_PART = 0.3
"""Part of the work that comes before the fit, on the progress bar."""

OnProgress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Scene:
    """What stands around the objects."""

    links: Mapping[str, SplatMesh] = field(default_factory=dict)
    """In their own frames."""
    table: SplatMesh | None = None
    """In the world."""
    background: Gaussians | None = None
    """In the world."""


@dataclass(frozen=True, eq=False)
class SceneInfo:
    """How well the scene, drawn with its objects, explains views that it was not fitted to."""

    views: SceneViews
    responses: Responses
    withheld_psnr_db: Float[np.ndarray, " withheld"]
    """Of the whole image, for each withheld view."""
    withheld_images: tuple[Float[np.ndarray, "_ _ 3"], ...]
    """What was drawn for them."""
    behind: Callable[[int, Float[np.ndarray, "4"], tuple[int, int]], Float32[np.ndarray, "h w 3"]]
    """Links, table and background without the objects, as view v with other intrinsics and (h, w) shows them."""

    def psnr_db(self, camera: str) -> float:
        """Median over the withheld views of a camera."""
        is_own = self.views.camera[self.views.withheld] == self.views.camera_names.index(camera)
        return float(np.median(self.withheld_psnr_db[is_own])) if is_own.any() else float("nan")


def reconstruct_scene(
    observations: Observations,
    located: Located,
    link_meshes: Sequence[LinkMesh],
    config: SceneConfig,
    *,
    table_height_m: float,
    objects: Mapping[str, SplatMesh],
    used: Int[np.ndarray, " u"],
    renderer: Renderer,
    rng: np.random.Generator,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Scene, SceneInfo | None]:
    """The scene round `objects` (in the world); `used` are the observations that the objects were fitted to."""
    if located.problem is None:
        return Scene(), None
    names = located.problem.rig.tree.links
    return scene_from_views(
        scene_views(observations, located, used),
        {names[mesh.link]: mesh for mesh in link_meshes},
        config,
        table_height_m=table_height_m,
        objects=objects,
        renderer=renderer,
        rng=rng,
        on_progress=on_progress,
    )


def scene_from_views(
    views: SceneViews,
    link_meshes: Mapping[str, LinkMesh],
    config: SceneConfig,
    *,
    table_height_m: float,
    objects: Mapping[str, SplatMesh],
    renderer: Renderer,
    rng: np.random.Generator,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Scene, SceneInfo]:
    """The scene that views with known poses show."""
    table = reconstruct_table(views, table_height_m, config, rng)
    responses = table.responses if table is not None else Responses.alike(len(views.camera_names))
    seen = seen_links(views, list(link_meshes.values()), responses, config)
    links = {
        name: bound_mesh(*link.surface[:2], colours, link.is_seen, LINK_SCALE)
        for name, link, colours in zip(link_meshes, seen, completed_colours(seen), strict=True)
    }
    table_mesh = table.mesh if table is not None else None
    scene = Scene(links, table_mesh, reconstruct_background(views, table_mesh, responses, config))
    on_progress(_START_PART)
    numbers = {name: mesh.link for name, mesh in link_meshes.items()}
    return _refined(
        scene, numbers, objects, views, responses, config, renderer=renderer, rng=rng,
        on_progress=lambda part: on_progress(_START_PART + (1.0 - _START_PART) * part),
    )  # fmt: skip


def _is_measured(scene: Scene) -> Bool[np.ndarray, " n"]:
    """Which Gaussians of links, table and background were seen; the fit must not paint what is invented."""
    meshes = [*scene.links.values(), *([scene.table] if scene.table is not None else [])]
    flags = [mesh.is_seen[mesh.faces[mesh.face_from_gaussian]].all(axis=1) for mesh in meshes]
    if scene.background is not None:
        flags.append(scene.background.extras["invented"][:, 0] < 0.5)
    return np.concatenate([*flags, np.zeros(0, dtype=bool)])


def _refined(
    scene: Scene,
    link_numbers: Mapping[str, int],
    objects: Mapping[str, SplatMesh],
    views: SceneViews,
    responses: Responses,
    config: SceneConfig,
    *,
    renderer: Renderer,
    rng: np.random.Generator,
    on_progress: OnProgress,
) -> tuple[Scene, SceneInfo]:
    """The scene with fitted colours, judged on withheld views."""
    import torch

    from gemel.services.render.cloud import STILL, Cloud, part_of_gaussians, part_of_mesh
    from gemel.stages.reconstruct.scene.colour_fit import drawn, fit_colours

    device = "cuda" if renderer.name == "cuda" else "cpu"
    parts = {name: part_of_mesh(mesh, link_numbers[name], device) for name, mesh in scene.links.items()}
    if scene.table is not None:
        parts[_TABLE] = part_of_mesh(scene.table, STILL, device)
    if scene.background is not None:
        parts[_BACKGROUND] = part_of_gaussians(scene.background, device)
    fixed = [part_of_mesh(mesh, STILL, device) for mesh in objects.values()]
    cloud = Cloud([*parts.values(), *fixed], dilation_px2=DILATION_PX2)
    is_free = torch.zeros(len(cloud.colours), dtype=torch.bool, device=device)
    measured = torch.as_tensor(_is_measured(scene), device=device)
    is_free[: len(measured)] = measured
    colours, responses = fit_colours(
        cloud,
        views,
        is_free,
        responses,
        config.steps,
        renderer=renderer,
        rng=rng,
        on_progress=on_progress,
    )
    images = tuple(drawn(cloud, views, int(v), colours, responses, renderer=renderer) for v in views.withheld)
    psnr = np.array([_psnr_db(image, views.images[v]) for image, v in zip(images, views.withheld, strict=True)])
    around = Cloud(list(parts.values()), dilation_px2=DILATION_PX2)

    def behind(v: int, intrinsics: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        with torch.no_grad():
            own = colours[: len(around.colours)]
            poses = views.poses
            colour = around.draw(
                poses.Ts_world_link[v], poses.Ts_camera_world[v], intrinsics, shape, own, renderer=renderer
            )
        return responses.seen_by(int(views.camera[v]), colour.cpu().numpy())

    pieces = np.split(colours.cpu().numpy(), np.cumsum([len(part.means) for part in parts.values()]))
    sh = {name: ((piece - 0.5) / C0)[:, None] for name, piece in zip(parts, pieces, strict=False)}
    refined = Scene(
        {name: replace(mesh, sh=sh[name]) for name, mesh in scene.links.items()},
        replace(scene.table, sh=sh[_TABLE]) if scene.table is not None else None,
        replace(scene.background, sh=sh[_BACKGROUND]) if scene.background is not None else None,
    )
    return refined, SceneInfo(views, responses, psnr, images, behind)


def _psnr_db(drawn: Float[np.ndarray, "h w 3"], real: Float[np.ndarray, "h w 3"]) -> float:
    """Of whole images."""
    import torch

    from gemel.services.render.similarity import psnr_db

    return psnr_db(torch.tensor(drawn), torch.tensor(real), torch.ones(drawn.shape[:2]))
