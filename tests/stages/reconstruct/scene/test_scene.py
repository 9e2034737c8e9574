"""Links, table and background against a scene whose every colour is known."""

from functools import lru_cache

import numpy as np
import pytest

from gemel.services.render.cloud import STILL, Cloud, part_of_gaussians, part_of_mesh
from gemel.services.render.renderer import make_renderer
from gemel.services.render.similarity import psnr_db
from gemel.services.render.spherical_harmonics import C0
from gemel.stages.reconstruct.scene.config import SceneConfig
from gemel.stages.reconstruct.scene.scene import Scene, SceneInfo, scene_from_views
from gemel.stages.reconstruct.scene.table import reconstruct_table
from stages.reconstruct.scene import made_room as made

CONFIG = SceneConfig(
    link_edge_m=0.02, link_gaussians=600, table_gaussians=4000, table_edge_m=0.01, background_gaussians=800, steps=60
)


@lru_cache(maxsize=1)
def made_scene() -> tuple[Scene, SceneInfo]:
    return scene_from_views(
        made.made_views(),
        made.links(),
        CONFIG,
        table_height_m=0.0,
        objects={},
        renderer=make_renderer("cpu"),
        rng=np.random.default_rng(0),
    )


def _places(scene: Scene) -> np.ndarray:
    assert scene.table is not None
    return scene.table.vertices[scene.table.faces].mean(axis=1)


def _is_face_seen(mesh) -> np.ndarray:
    return mesh.is_seen[mesh.faces].all(axis=1)


def test_the_mosaic_is_the_table_s_texture():
    """Where views saw the table free, its colour is the texture's, though the arm passed over it and cameras differ."""
    table = reconstruct_table(made.made_views(), 0.0, CONFIG, np.random.default_rng(0))
    assert table is not None
    places = table.mesh.vertices[table.mesh.faces].mean(axis=1)
    is_inner = (np.abs(places[:, :2]) < 0.3).all(axis=1) & _is_face_seen(table.mesh)
    assert is_inner.sum() > 500
    error = 0.5 + C0 * table.mesh.sh[is_inner, 0] - made.texture(places[is_inner, 0], places[is_inner, 1])
    assert np.median(np.abs(error)) < 0.015
    assert np.quantile(np.abs(error), 0.95) < 0.06


def test_what_an_object_hides_is_invented():
    """Table under an object and under the post is marked as not seen, and filled with colours of a table."""
    scene, _ = made_scene()
    assert scene.table is not None
    xy = scene.table.vertices[:, :2]
    is_under = (np.abs(xy - np.array(made.OBJECT_MIDDLE)) < made.OBJECT_HALF_M - 0.005).all(axis=1)
    is_under |= (np.abs(xy - np.array([-0.18, 0.0])) < 0.02).all(axis=1)
    assert is_under.sum() > 10
    assert not scene.table.is_seen[is_under].any()
    faces = is_under[scene.table.faces].all(axis=1)
    colours, places = 0.5 + C0 * scene.table.sh[faces, 0], _places(scene)[faces]
    assert np.abs(colours - made.texture(places[:, 0], places[:, 1])).mean() < 0.15


def test_colours_of_cameras_are_told_apart():
    """The moving camera's gains are found without knowing the scene."""
    _, info = made_scene()
    np.testing.assert_allclose(
        info.responses.gains[1] * 0.45 + info.responses.offsets[1], 0.45 * np.array(made.GAINS[1]), atol=0.02
    )
    np.testing.assert_array_equal(info.responses.gains[0], 1.0)


def test_links_have_the_colours_that_were_seen():
    """Seen faces take the images' colours, not the model's; faces that nobody saw follow their material's light."""
    scene, _ = made_scene()
    for name, colour in (("post", made.BASE_COLOUR), ("bar", made.ARM_COLOUR)):
        mesh = scene.links[name]
        found = 0.5 + C0 * mesh.sh[:, 0]
        assert np.abs(np.median(found[_is_face_seen(mesh)], axis=0) - colour).max() < 0.06, name
        assert np.abs(np.median(found[~_is_face_seen(mesh)], axis=0) - colour).max() < 0.15, name


def test_the_underside_of_a_link_is_not_seen():
    """No camera looks from below: what faces down is invented, what faces up is seen."""
    mesh = made_scene()[0].links["bar"]
    is_low = np.abs(mesh.vertices[:, 2] + 0.015) < 1e-9
    is_rim = (np.abs(mesh.vertices[:, 1]) > 0.0199) | (np.abs(mesh.vertices[:, 0] - 0.13) > 0.1199)
    assert not mesh.is_seen[is_low & ~is_rim].any()
    is_top = np.abs(mesh.vertices[:, 2] - 0.015) < 1e-9
    assert mesh.is_seen[is_top & (mesh.vertices[:, 0] > 0.06)].all()


def test_withheld_views_are_explained():
    """Everything drawn together shows what withheld views show."""
    _, info = made_scene()
    assert info.psnr_db("fixed") > 26.0
    assert info.psnr_db("moving") > 26.0
    assert len(info.withheld_images) == len(info.withheld_psnr_db) == 3


@pytest.mark.parametrize("angle_rad", [-0.7, 0.4])
def test_links_move_rigidly_to_poses_that_no_view_shows(angle_rad: float):
    """The scene drawn with the arm at a new angle is the ray-cast image at that angle."""
    scene, _ = made_scene()
    views = made.turned(made.made_views(), 0, angle_rad)
    truth = made.draw(
        views.poses.Ts_camera_world[0], views.poses.intrinsics[0], made.link_poses(angle_rad), made.GAINS[0]
    )
    assert scene.table is not None
    assert scene.background is not None
    parts = [part_of_mesh(scene.links[name], mesh.link, "cpu") for name, mesh in made.links().items()]
    still = [part_of_mesh(scene.table, STILL, "cpu"), part_of_gaussians(scene.background, "cpu")]
    cloud = Cloud([*parts, *still], dilation_px2=scene.table.dilation_px2)
    poses = views.poses
    picture = cloud.draw(
        poses.Ts_world_link[0], poses.Ts_camera_world[0], poses.intrinsics[0], views.images[0].shape[:2],
        cloud.colours, renderer=make_renderer("cpu"),
    ).numpy()  # fmt: skip
    import torch

    is_judged = ~views.taken[0]  # the object was not given
    assert psnr_db(torch.tensor(picture), torch.tensor(truth.image), torch.tensor(is_judged)) > 25.0
    is_arm = np.isfinite(truth.depth) & is_judged
    assert np.abs(picture - truth.image)[is_arm].mean() < 0.08


def test_the_background_is_bounded_and_says_what_is_invented():
    """Budgets hold; directions that some view saw are measured, the closing shell is invented."""
    scene, _ = made_scene()
    assert scene.background is not None
    assert len(scene.background) <= CONFIG.background_gaussians
    invented = scene.background.extras["invented"][:, 0]
    assert set(np.unique(invented)) == {0.0, 1.0}
    assert scene.table is not None
    assert len(scene.table.faces) <= CONFIG.table_gaussians
    assert all(len(mesh.faces) <= CONFIG.link_gaussians for mesh in scene.links.values())


def test_the_same_seed_gives_the_same_scene():
    """Equal inputs give equal bytes."""
    first, second = (reconstruct_table(made.made_views(), 0.0, CONFIG, np.random.default_rng(3)) for _ in range(2))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.mesh.sh, second.mesh.sh)
