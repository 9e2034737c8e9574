"""Depth of a twin's images: that of what a pixel shows, whatever lies behind it, through any lens, in many scenes."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.reconstruction import Reconstruction
from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.geometry import SE3, OpenCV, Pinhole, pixel_centres
from gemel.services.render.mesh_raster import rasterise
from gemel.services.render.renderer import make_renderer, usable_backends
from gemel.services.render.twin_view import KINDS, TwinView

PINHOLE = Pinhole(160, 120, 184.0, 184.0, 80.0, 60.0)
BENT = OpenCV(160, 120, 184.0, 184.0, 80.0, 60.0, k1=-0.25, k2=0.05)
LINKS = np.tile(np.eye(4), (1, 1, 1))
LINKS[0, :3, 3] = [0.4, 0.3, 0.08]
TABLE, ROBOT, BLOCK = 2, 3, len(KINDS)


def looks(model: Pinhole | OpenCV) -> Reconstruction:
    """The nominal scene with splats that hide 80 % of what is behind them, inside a shell of two metres."""
    nominal = nominal_looks()
    rng = np.random.default_rng(0)
    outwards = rng.normal(size=(4000, 3))
    shell = Gaussians(
        means=(2.0 * outwards / np.linalg.norm(outwards, axis=1, keepdims=True)).astype(np.float32),
        rotations=np.tile([1.0, 0.0, 0.0, 0.0], (4000, 1)).astype(np.float32),
        scales=np.full((4000, 3), 0.08, dtype=np.float32),
        opacities=np.full(4000, 0.9, dtype=np.float32),
        sh=np.zeros((4000, 1, 3), dtype=np.float32),
        dilation_px2=0.1,
    )
    (camera,) = nominal.cameras
    table = nominal.table
    assert table is not None
    thin = replace(table, opacity=np.full_like(table.opacity, 0.6))
    return replace(nominal, background=shell, table=thin, cameras=(replace(camera, model=model),))


def truth(scene: Reconstruction, kind: int, pose: np.ndarray, T_camera_world: np.ndarray) -> np.ndarray:
    """Depth of the surface of one kind alone at each pixel of the camera, infinite where it is not seen, (h, w)."""
    model = scene.cameras[0].model
    assert isinstance(model, Pinhole | OpenCV)
    if kind == TABLE:
        T = np.linalg.inv(T_camera_world)
        rays = model.unproject(pixel_centres(160, 120))
        rays = rays / rays[..., 2:]
        return np.asarray(-T[2, 3] / (rays @ T[:3, :3].T)[..., 2])
    assert isinstance(model, Pinhole)
    mesh, T = {ROBOT: scene.links["pusher"], BLOCK: scene.objects["t_block"]}[kind], T_camera_world @ pose
    return rasterise(mesh.vertices @ T[:3, :3].T + T[:3, 3], mesh.faces, (184.0, 184.0, 80.0, 60.0), 160, 120)[0]


@pytest.mark.parametrize("model", [PINHOLE, BENT], ids=["pinhole", "bent"])
def test_a_shell_behind_the_table_does_not_push_it_away(model: Pinhole | OpenCV) -> None:
    """Table pixels have the depth of the table's plane along the camera's axis, with and without a lens."""
    scene = looks(model)
    view = TwinView(scene, ("pusher",), renderer=make_renderer("cpu"), has_shadows=False)
    point = view.viewpoint("front", LINKS)
    (image,) = view.draw(LINKS, {"t_block": scene.placements["t_block"].as_matrix()}, [point], has_ids=True)
    assert image.depth_m is not None
    error = image.depth_m - truth(scene, TABLE, np.eye(4), point.T_camera_world)
    on_table = np.abs(error[image.ids == TABLE])
    assert len(on_table) > 5000
    assert np.median(on_table) < 0.006
    assert np.percentile(on_table, 90) < 0.02


@pytest.mark.parametrize("kind", [ROBOT, BLOCK], ids=["robot", "object"])
def test_what_stands_before_the_table_has_its_own_depth(kind: int) -> None:
    """Up to their edges, pixels of a link and of an object are on it: nothing between it and the table behind."""
    scene = looks(PINHOLE)
    view = TwinView(scene, ("pusher",), renderer=make_renderer("cpu"), has_shadows=False)
    point = view.viewpoint("front", LINKS)
    lifted = scene.placements["t_block"].as_matrix()
    lifted[2, 3] += 0.15
    (image,) = view.draw(LINKS, {"t_block": lifted}, [point], has_ids=True)
    depth = truth(scene, kind, lifted if kind == BLOCK else LINKS[0], point.T_camera_world)
    assert image.depth_m is not None
    error = np.abs(image.depth_m - depth)[(image.ids == kind) & np.isfinite(depth)]
    assert len(error) > 100
    assert np.median(error) < (0.012 if kind == ROBOT else 0.006)  # the rod is three pixels wide and 20 mm thick
    assert np.percentile(error, 99) < 0.03


def test_edges_through_a_lens_are_not_between_two_things() -> None:
    """Each pixel beside an object's edge is as near as the object or as far as the table, and its id says which."""
    scene = looks(BENT)
    view = TwinView(scene, ("pusher",), renderer=make_renderer("cpu"), has_shadows=False)
    point = view.viewpoint("front", LINKS)
    lifted = scene.placements["t_block"].as_matrix()
    lifted[2, 3] += 0.25
    (image,) = view.draw(LINKS, {"t_block": lifted}, [point], has_ids=True)
    assert image.depth_m is not None
    T = point.T_camera_world @ lifted
    z = scene.objects["t_block"].vertices @ T[2, :3] + T[2, 3]
    on_block = image.depth_m[image.ids == BLOCK]
    assert z.min() - 0.01 < on_block.min() <= on_block.max() < z.max() + 0.01
    table = truth(scene, TABLE, np.eye(4), point.T_camera_world)
    assert np.abs(image.depth_m - table)[image.ids == TABLE].max() < 0.1


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_many_scenes_have_the_depth_of_each_alone(backend: str) -> None:
    """Blocks and cameras elsewhere in each scene; without `has_ids`, nothing but colours is made."""
    if usable_backends()[backend]:
        pytest.skip(usable_backends()[backend])
    scene = looks(BENT)
    view = TwinView(scene, ("pusher",), renderer=make_renderer(backend), has_shadows=False)
    rest = scene.placements["t_block"].as_matrix()
    blocks = np.stack([rest @ SE3.exp(np.array([0.05 * k, 0.0, 0.04 * k, 0, 0, k])).as_matrix() for k in range(3)])
    links = np.repeat(LINKS[None], 3, axis=0)
    cameras = view.Ts_camera_world("front", links).copy()
    cameras[:, 2, 3] += [0.0, 0.1, 0.2]
    together = view.draw_scenes(links, {"t_block": blocks}, "front", cameras, has_ids=True)
    assert together.depth_m is not None
    assert together.ids is not None
    for k in range(3):
        alone = view.draw_scenes(links[k : k + 1], {"t_block": blocks[k : k + 1]}, "front", cameras[k : k + 1])
        assert alone.depth_m is None
        error = together.depth_m[k].cpu().numpy() - truth(scene, TABLE, np.eye(4), cameras[k])
        assert np.median(np.abs(error[together.ids[k].cpu().numpy() == TABLE])) < 0.008
