"""A twin as its cameras see it: background, table, robot and objects in one pass, wherever they are now.

Each camera makes its own colours of what it sees (`ColourResponse`); objects take their shade along
(`contact_shadow.py`). This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - tensors that the renderer draws
from jaxtyping import Float, Float32, Int
from torch import Tensor  # noqa: TID253

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.reconstruction import Reconstruction
from gemel.errors import ConfigError, choices_text
from gemel.services.render.cloud import STILL, Part, part_of_gaussians, part_of_mesh
from gemel.services.render.contact_shadow import ContactShadow, ShadowCaster
from gemel.services.render.lens import Lens
from gemel.services.render.renderer import Renderer, Rendering, RenderRequest
from gemel.services.render.shadow_fit import fit_shadow, kept_light
from gemel.services.render.spherical_harmonics import C0

KINDS = ("nothing", "background", "table", "robot")
"""What ids 0 to 3 stand for; objects follow in the order of the reconstruction."""
_SOLID = 0.5
"""Coverage from which on a pixel shows something."""

Pose = Float[np.ndarray, "4 4"]


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """A camera of the twin where it is now."""

    camera: str
    T_camera_world: Pose
    gain: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Multiplies the image, channel by channel: more or other light than in the log."""


@dataclass(frozen=True, eq=False)
class TwinImage:
    """What one camera sees."""

    colour: Float32[np.ndarray, "h w 3"]
    """RGB 0 to 1."""
    depth_m: Float32[np.ndarray, "h w"]
    """Along z of the camera, zero where nothing is [m]."""
    ids: Int[np.ndarray, "h w"] | None = None
    """Index into `TwinView.names` of what covers most of each pixel, where asked for."""


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
        counts = torch.tensor([len(part.means) for part in self._parts])
        self._kind = torch.repeat_interleave(torch.tensor(kinds), counts).to(self._device)
        self._colours = torch.cat([part.colours for part in self._parts])
        self._opacities = torch.cat([part.opacities for part in self._parts])
        meshes = [*seen.objects.values(), *seen.links.values(), *([seen.table] if seen.table is not None else [])]
        self._dilation_px2 = meshes[0].dilation_px2 if meshes else seen.background.dilation_px2  # type: ignore[union-attr]

    def _take_out_shadows(self, seen: Reconstruction) -> None:
        self._casters: dict[str, ShadowCaster] = {}
        if seen.table is None or not seen.objects:
            return
        is_table = self._kind == 2
        p = torch.cat([part.means for part in self._parts])[is_table]
        height = float(p[:, 2].mean())
        self._casters = {name: ShadowCaster(mesh, height, self._device) for name, mesh in seen.objects.items()}
        is_seen = seen.table.is_seen[seen.table.faces[seen.table.face_from_gaussian]].all(axis=1)
        self._p_table = p[:, :2].contiguous()
        self.shadow, clean = fit_shadow(self._casters, seen.placements, self._p_table, self._colours[is_table], is_seen)
        self._colours[is_table] = clean

    def viewpoint(self, camera: str, Ts_world_link: Float[np.ndarray, "link 4 4"]) -> Viewpoint:
        """A camera where its mounting puts it."""
        found = self.camera(camera)
        if found.T_parent_camera is None:
            raise ConfigError(
                f"Camera {camera!r} has no mounting pose of its own.", remedy="give its pose in the world to `draw`"
            )
        T = found.T_parent_camera.as_matrix()
        if found.parent != WORLD:
            T = Ts_world_link[self._link(found.parent)] @ T
        return Viewpoint(camera, np.asarray(np.linalg.inv(T)))

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
        """What each camera sees, through its lens unless told otherwise; objects without a pose are left out."""
        with torch.no_grad():
            means, covariances, opacities = self._posed(Ts_world_link, Ts_world_object)
            plain = self._shaded(Ts_world_object)
            return [
                self._drawn(view, means, covariances, opacities, plain, is_bent=is_bent, has_ids=has_ids)
                for view in viewpoints
            ]

    def _posed(self, Ts_world_link: np.ndarray, Ts_world_object: Mapping[str, Pose]) -> tuple[Tensor, Tensor, Tensor]:
        """Means, covariances and opacities in the world."""
        objects = [Ts_world_object.get(name, np.eye(4)) for name in self.objects]
        frames = torch.as_tensor(
            np.concatenate([Ts_world_link.reshape(-1, 4, 4), np.reshape(objects, (-1, 4, 4))]),
            dtype=torch.float32, device=self._device,
        )  # fmt: skip
        means, covariances = [], []
        for part in self._parts:
            if part.link == STILL:
                means.append(part.means)
                covariances.append(part.covariances)
            else:
                R, t = frames[part.link, :3, :3], frames[part.link, :3, 3]
                means.append(part.means @ R.T + t)
                covariances.append(R @ part.covariances @ R.T)
        opacities = self._opacities
        for index, name in enumerate(self.objects):
            if name not in Ts_world_object:
                opacities = torch.where(self._kind == len(KINDS) + index, 0.0, opacities)
        return torch.cat(means), torch.cat(covariances), opacities

    def _shaded(self, Ts_world_object: Mapping[str, Pose]) -> Tensor:
        """Colours as the first camera sees them, the table's under the objects' shade."""
        if not self.shadow.strength:
            return self._colours
        colours = self._colours.clone()
        kept = kept_light(self._casters, Ts_world_object, self.shadow, self._p_table)
        colours[self._kind == 2] *= kept[:, None]
        return colours

    def _drawn(
        self, view: Viewpoint, means: Tensor, covariances: Tensor, opacities: Tensor, plain: Tensor, *,
        is_bent: bool, has_ids: bool,
    ) -> TwinImage:  # fmt: skip
        self.camera(view.camera)
        lens, T = self._lenses[view.camera], torch.as_tensor(view.T_camera_world, dtype=torch.float32)
        one_hot = torch.nn.functional.one_hot(self._kind, len(self.names)).float() if has_ids else None
        images = self._renderer.render(
            RenderRequest(
                means=means,
                covariances=covariances,
                opacities=opacities,
                sh=((self._seen_by(view, means, plain) - 0.5) / C0)[:, None],
                extras=one_hot,
                Ts_camera_world=T.to(self._device)[None],
                intrinsics=torch.as_tensor(lens.intrinsics[None], dtype=torch.float32, device=self._device),
                width=lens.shape[1],
                height=lens.shape[0],
                dilation_px2=self._dilation_px2,
            )
        )
        return _image(images, lens, view.gain, is_bent=is_bent, has_ids=has_ids)

    def _seen_by(self, view: Viewpoint, means: Tensor, plain: Tensor) -> Tensor:
        """What a camera makes of the colours of all Gaussians."""
        row = self._cameras[view.camera][0]
        colours = plain.clone()
        scene = self._seen.scene_response
        if scene is not None:
            is_scene = self._kind < len(KINDS)
            colours[is_scene] = plain[is_scene] * self._tensor(scene.gains[row]) + self._tensor(scene.offsets[row])
        T = self._tensor(view.T_camera_world)
        for index, name in enumerate(self.objects):
            response = self._seen.object_responses.get(name)
            if response is not None:
                own = self._kind == len(KINDS) + index
                p = means[own] @ T[:3, :3].T + T[:3, 3]
                basis = torch.cat([torch.ones_like(p[:, :1]), p[:, :2] / p[:, 2:].clamp(min=0.05)], dim=1)
                light = torch.exp(basis @ self._tensor(response.lights[row]))[:, None]
                made = plain[own] * self._tensor(response.gains[row]) + self._tensor(response.offsets[row])
                colours[own] = light * made
        return colours

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.tensor(np.array(values), dtype=torch.float32, device=self._device)  # stored arrays are read-only

    def _link(self, name: str) -> int:
        if name not in self._links:
            raise ConfigError(f"Link {choices_text(name, self._links)}", remedy="give the poses of all links")
        return self._links.index(name)


def _image(
    images: Rendering, lens: Lens, gain: tuple[float, float, float], *, is_bent: bool, has_ids: bool
) -> TwinImage:
    """Tensors as an image, bent as the lens does."""
    colour, depth = images.colour[0].cpu().numpy(), images.depth[0].cpu().numpy()
    ids = None
    if has_ids:
        shares = images.extras[0].cpu().numpy()
        ids = np.where(images.alpha[0].cpu().numpy() > _SOLID, shares.argmax(axis=-1), 0)
    if is_bent and lens.places is not None:
        colour, depth = lens.bend(colour), lens.bend(depth[..., None], is_smooth=False)[..., 0]
        ids = None if ids is None else lens.bend(ids[..., None].astype(np.float32), is_smooth=False)[..., 0].astype(int)
    return TwinImage(np.clip(colour * np.asarray(gain, np.float32), 0.0, 1.0), depth, ids)
