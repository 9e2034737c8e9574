"""A twin as its cameras see it: background, table, robot and objects in one pass, wherever they are now.

Each camera makes its own colours of what it sees (`ColourResponse`); objects take their shade along
(`contact_shadow.py`). This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - tensors that the renderer draws
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.reconstruction import Reconstruction
from gemel.errors import ConfigError, choices_text
from gemel.services.render.cloud import STILL, Part, part_of_gaussians, part_of_mesh, posed
from gemel.services.render.contact_shadow import ContactShadow, ShadowCaster
from gemel.services.render.lens import Lens
from gemel.services.render.owners import owner_channels
from gemel.services.render.renderer import Renderer, Rendering
from gemel.services.render.scene_batch import SceneBatch, render_scenes
from gemel.services.render.shadow_fit import fit_shadow, kept_light
from gemel.services.render.torch_threads import one_torch_thread
from gemel.services.render.twin_image import Pose, SceneImages, TwinImage, Viewpoint, as_image, through

KINDS = ("nothing", "background", "table", "robot")
"""What ids 0 to 3 stand for; objects follow in the order of the reconstruction."""
_GAUSSIANS_ON_GPU = 6_000_000
"""Drawn together: some 1.2 GB, 256 scenes of 22,000 Gaussians."""


@dataclass(frozen=True, eq=False)
class _Scenes:
    """All Gaussians of b scenes in the world."""

    means: Tensor
    """(b, n, 3) [m]."""
    covariances: Tensor
    """(b, n, 3, 3) [m^2]."""
    opacities: Tensor
    """(b, n)."""
    colours: Tensor
    """As the first camera sees them, (b, n, 3)."""


class TwinView:
    """A reconstruction, ready to be drawn with its links and objects anywhere."""

    def __init__(
        self, reconstruction: Reconstruction, links: Sequence[str], *, renderer: Renderer, has_shadows: bool = True
    ) -> None:
        """`links` names the rows of the link poses that `draw` is given."""
        self.names = (*KINDS, *reconstruction.objects)
        self.objects = tuple(reconstruction.objects)
        self.shadow = ContactShadow()
        self._renderer = renderer
        self._device = "cuda" if renderer.name == "cuda" else "cpu"
        self._cameras = {camera.name: (row, camera) for row, camera in enumerate(reconstruction.cameras)}
        self._lenses = {c.name: Lens.of(c) for c in reconstruction.cameras if c.model is not None}
        self._links = tuple(links)
        self._seen = reconstruction
        self._load(reconstruction)
        if has_shadows:
            self._take_out_shadows(reconstruction)

    def _load(self, seen: Reconstruction) -> None:
        links = [part_of_mesh(mesh, self._link(name), self._device) for name, mesh in seen.links.items()]
        first = len(self._links)
        objects = [part_of_mesh(mesh, first + i, self._device) for i, mesh in enumerate(seen.objects.values())]
        table = [part_of_mesh(seen.table, STILL, self._device)] if seen.table is not None else []
        background = [part_of_gaussians(seen.background, self._device)] if seen.background is not None else []
        self._parts: list[Part] = [*objects, *links, *table, *background]
        if not self._parts:
            raise ConfigError("The twin has nothing to draw.", remedy="reconstruct objects or a scene first")
        kinds = [*range(len(KINDS), len(self.names)), *[3] * len(links), *[2] * len(table), *[1] * len(background)]
        counts = [len(part.means) for part in self._parts]
        self._kind = torch.repeat_interleave(torch.tensor(kinds), torch.tensor(counts)).to(self._device)
        ends = np.cumsum([0, *counts])
        self._of_object = {name: slice(*ends[i : i + 2]) for i, name in enumerate(self.objects)}
        self._of_scene = slice(ends[len(objects)], ends[-1])
        before = len(objects) + len(links)
        self._of_table = slice(ends[before], ends[before + len(table)])
        self._colours = torch.cat([part.colours for part in self._parts])
        self._opacities = torch.cat([part.opacities for part in self._parts])
        meshes = [*seen.objects.values(), *seen.links.values(), *([seen.table] if seen.table is not None else [])]
        self._dilation_px2 = meshes[0].dilation_px2 if meshes else seen.background.dilation_px2  # type: ignore[union-attr]

    def _take_out_shadows(self, seen: Reconstruction) -> None:
        self._casters: dict[str, ShadowCaster] = {}
        if seen.table is None or not seen.objects:
            return
        p = torch.cat([part.means for part in self._parts])[self._of_table]
        height = float(p[:, 2].mean())
        self._casters = {name: ShadowCaster(mesh, height, self._device) for name, mesh in seen.objects.items()}
        is_seen = seen.table.is_seen[seen.table.faces[seen.table.face_from_gaussian]].all(axis=1)
        self._p_table = p[:, :2].contiguous()
        bare = None if seen.bare_table is None else self._tensor(seen.bare_table)
        self.shadow, clean = fit_shadow(
            self._casters, seen.placements, self._p_table, self._colours[self._of_table], is_seen, bare=bare
        )
        self._colours[self._of_table] = clean

    @property
    def table_colours(self) -> Tensor:
        """Colours of the table's Gaussians as the first camera sees them without any shade, 0 to 1, (n, 3)."""
        return self._colours[self._of_table].clone()

    def paint_table(self, colours: Tensor) -> None:
        """Give the table's Gaussians other colours (n, 3)."""
        self._colours[self._of_table] = colours

    def viewpoint(self, camera: str, Ts_world_link: Float[np.ndarray, "link 4 4"]) -> Viewpoint:
        """A camera where its mounting puts it."""
        return Viewpoint(camera, self.Ts_camera_world(camera, Ts_world_link))

    def Ts_camera_world(
        self, camera: str, Ts_world_link: Float[np.ndarray, "*b link 4 4"]
    ) -> Float[np.ndarray, "*b 4 4"]:
        """Where a camera's mounting puts it."""
        found = self.camera(camera)
        if found.T_parent_camera is None:
            raise ConfigError(
                f"Camera {camera!r} has no mounting pose of its own.", remedy="give its pose in the world to `draw`"
            )
        T = found.T_parent_camera.as_matrix()
        if found.parent != WORLD:
            T = Ts_world_link[..., self._link(found.parent), :, :] @ T
        return np.broadcast_to(np.linalg.inv(T), (*Ts_world_link.shape[:-3], 4, 4))

    def camera(self, name: str) -> Camera:
        """The camera of that name."""
        if name not in self._lenses:
            raise ConfigError(f"Camera {choices_text(name, tuple(self._lenses))}", remedy="use one of the choices")
        return self._cameras[name][1]

    def draw(
        self,
        Ts_world_link: Float[np.ndarray, "link 4 4"],
        Ts_world_object: Mapping[str, Pose],
        viewpoints: Sequence[Viewpoint],
        *,
        is_bent: bool = True,
        has_ids: bool = False,
    ) -> list[TwinImage]:
        """What each camera sees, through its lens unless told otherwise; objects without a pose are left out.

        `has_ids` asks for ids and depth, which take some more time.
        """
        with torch.no_grad(), one_torch_thread():
            scene = self._posed(Ts_world_link[None], {name: T[None] for name, T in Ts_world_object.items()})
            found = []
            for view in viewpoints:
                images = self._drawn(scene, view.camera, view.T_camera_world[None], has_ids=has_ids)
                lens = self._lenses[view.camera] if is_bent else None
                found.append(as_image(through(lens, images, has_ids=has_ids), view.gain))
            return found

    def draw_scenes(
        self,
        Ts_world_link: Float[np.ndarray, "b link 4 4"],
        Ts_world_object: Mapping[str, Float[np.ndarray, "b 4 4"]],
        camera: str,
        Ts_camera_world: Float[np.ndarray, "b 4 4"],
        *,
        has_ids: bool = False,
    ) -> SceneImages:
        """What one camera sees in many scenes; `scenes_at_once` of them fit into memory. `has_ids` as in `draw`."""
        with torch.no_grad(), one_torch_thread():
            scenes = self._posed(Ts_world_link, Ts_world_object)
            images = self._drawn(scenes, camera, Ts_camera_world, has_ids=has_ids)
            return through(self._lenses[camera], images, has_ids=has_ids)

    @property
    def scenes_at_once(self) -> int:
        """How many scenes are best drawn together: a GPU is kept busy, a processor's caches are not exceeded."""
        return max(1, _GAUSSIANS_ON_GPU // len(self._colours)) if self._device == "cuda" else 1

    def _posed(self, Ts_world_link: np.ndarray, Ts_world_object: Mapping[str, np.ndarray]) -> _Scenes:
        scenes = len(Ts_world_link)
        still = np.broadcast_to(np.eye(4), (scenes, 4, 4))
        objects = [Ts_world_object.get(name, still)[:, None] for name in self.objects]
        frames = np.concatenate([Ts_world_link, *objects], axis=1)
        means, covariances = posed(self._parts, self._tensor(frames))
        opacities = self._opacities.clone()
        for name in self.objects:
            if name not in Ts_world_object:
                opacities[self._of_object[name]] = 0.0
        return _Scenes(means, covariances, opacities.expand(scenes, -1), self._shaded(Ts_world_object, scenes))

    def _shaded(self, Ts_world_object: Mapping[str, np.ndarray], scenes: int) -> Tensor:
        """Colours as the first camera sees them, the table's under the objects' shade, (b, n, 3)."""
        colours = self._colours.repeat(scenes, 1, 1)
        if self.shadow.strength:
            colours[:, self._of_table] *= kept_light(self._casters, Ts_world_object, self.shadow, self._p_table)[
                ..., None
            ]
        return colours

    def _drawn(self, scenes: _Scenes, camera: str, Ts_camera_world: np.ndarray, *, has_ids: bool = False) -> Rendering:
        """What one camera sees in all scenes, before its lens."""
        self.camera(camera)
        lens, Ts = self._lenses[camera], self._tensor(Ts_camera_world)
        depths = scenes.means @ Ts[:, 2, :3, None] + Ts[:, 2, 3, None, None] if has_ids else None  # (b, n, 1)
        return render_scenes(
            self._renderer,
            SceneBatch(
                means=scenes.means,
                covariances=scenes.covariances,
                opacities=scenes.opacities,
                colours=self._seen_by(self._cameras[camera][0], Ts, scenes),
                extras=None if depths is None else owner_channels(self._kind, len(self.names) - 1, depths[..., 0]),
                Ts_camera_world=Ts,
                intrinsics=self._tensor(lens.intrinsics),
                width=lens.shape[1],
                height=lens.shape[0],
                dilation_px2=self._dilation_px2,
            ),
        )

    def _seen_by(self, row: int, Ts_camera_world: Tensor, scenes: _Scenes) -> Tensor:
        """What a camera makes of the colours of all Gaussians, (b, n, 3)."""
        colours = scenes.colours.clone()
        scene = self._seen.scene_response
        if scene is not None:
            colours[:, self._of_scene] *= self._tensor(scene.gains[row])
            colours[:, self._of_scene] += self._tensor(scene.offsets[row])
        for name, own in self._of_object.items():
            response = self._seen.object_responses.get(name)
            if response is not None:
                R, t = Ts_camera_world[:, :3, :3], Ts_camera_world[:, None, :3, 3]
                p = scenes.means[:, own] @ R.mT + t
                basis = torch.cat([torch.ones_like(p[..., :1]), p[..., :2] / p[..., 2:].clamp(min=0.05)], dim=-1)
                light = torch.exp(basis @ self._tensor(response.lights[row]))[..., None]
                made = colours[:, own] * self._tensor(response.gains[row]) + self._tensor(response.offsets[row])
                colours[:, own] = light * made
        return colours

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.tensor(np.array(values), dtype=torch.float32, device=self._device)  # stored arrays are read-only

    def _link(self, name: str) -> int:
        if name not in self._links:
            raise ConfigError(f"Link {choices_text(name, self._links)}", remedy="give the poses of all links")
        return self._links.index(name)
