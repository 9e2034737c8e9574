"""A twin as its cameras see it: places, ids, depth, colours, shade."""

from dataclasses import replace

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.artifacts.camera import Camera
from gemel.artifacts.reconstruction import ColourResponse
from gemel.benchmarks.rollout_scene import nominal_looks
from gemel.errors import ConfigError
from gemel.geometry import SE3, OpenCV, Pinhole
from gemel.services.render.lens import Lens
from gemel.services.render.mesh_raster import silhouette
from gemel.services.render.renderer import make_renderer, usable_backends
from gemel.services.render.twin_image import Viewpoint
from gemel.services.render.twin_view import KINDS, TwinView

LOOKS = nominal_looks()
BLOCK = LOOKS.placements["t_block"].as_matrix()
LINKS = np.tile(np.eye(4), (1, 1, 1))
LINKS[0, :3, 3] = [0.4, 0.3, 0.08]


@pytest.fixture(scope="module")
def view() -> TwinView:
    return TwinView(LOOKS, ("pusher",), renderer=make_renderer("cpu"))


def test_ids_and_depth_say_where_things_are(view: TwinView) -> None:
    """The block covers the pixels of its silhouette, at its distance; it moves with its pose and can be left out."""
    point = view.viewpoint("front", LINKS)
    camera = LOOKS.cameras[0].model
    assert isinstance(camera, Pinhole)
    for shift in (0.0, 0.12):
        pose = BLOCK.copy()
        pose[1, 3] += shift
        (image,) = view.draw(LINKS, {"t_block": pose}, [point], has_ids=True)
        assert image.ids is not None
        assert image.depth_m is not None
        mesh, T = LOOKS.objects["t_block"], point.T_camera_world @ pose
        p_camera = mesh.vertices @ T[:3, :3].T + T[:3, 3]
        true = silhouette(p_camera, mesh.faces, np.array([camera.fx, camera.fy, camera.cx, camera.cy]), 160, 120)
        drawn = image.ids == len(KINDS)
        assert np.sum(true & drawn) / np.sum(true | drawn) > 0.85
        assert p_camera[:, 2].min() - 0.01 < np.median(image.depth_m[true & drawn]) < p_camera[:, 2].max() + 0.01
        assert {2, 3} <= set(np.unique(image.ids))
    (without,) = view.draw(LINKS, {}, [point], has_ids=True)
    assert without.ids is not None
    assert not np.any(without.ids == len(KINDS))


def test_each_camera_makes_its_own_colours() -> None:
    """Gains and offsets of scene and object act on their own pixels and on nothing else."""
    own = ColourResponse(np.array([[0.5, 1.0, 1.0]]), np.array([[0.0, 0.0, 0.2]]), np.zeros((1, 3)))
    lit = ColourResponse(np.ones((1, 3)), np.zeros((1, 3)), np.array([[np.log(0.5), 0.0, 0.0]]))
    changed = replace(LOOKS, scene_response=own, object_responses={"t_block": lit})
    images = []
    for looks in (LOOKS, changed):
        view = TwinView(looks, ("pusher",), renderer=make_renderer("cpu"), has_shadows=False)
        images += view.draw(LINKS, {"t_block": BLOCK}, [view.viewpoint("front", LINKS)], has_ids=True)
    plain, seen = images
    assert plain.ids is not None
    table, block = plain.ids == 2, plain.ids == len(KINDS)
    change = seen.colour[table].mean(axis=0) - plain.colour[table].mean(axis=0) * [0.5, 1.0, 1.0]
    np.testing.assert_allclose(change, [0.0, 0.0, 0.2], atol=0.02)
    assert seen.colour[block].mean() == pytest.approx(0.5 * plain.colour[block].mean(), rel=0.05)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_many_scenes_are_drawn_as_each_alone(backend: str, view: TwinView) -> None:
    """Blocks that lie, are lifted and are tilted, links and cameras elsewhere: colours as in a drawing of one scene."""
    if usable_backends()[backend]:
        pytest.skip(usable_backends()[backend])
    many = TwinView(LOOKS, ("pusher",), renderer=make_renderer(backend))
    tilt = SE3.exp(np.array([0.0, 0.0, 0.02, 0.5, 0.3, 0.1])).as_matrix()
    lift = SE3.exp(np.array([0.05, -0.08, 0.03, 0.0, 0.0, 0.7])).as_matrix()
    blocks = np.stack([BLOCK, BLOCK @ tilt, BLOCK @ lift, BLOCK @ SE3.exp(np.array([0.1, 0, 0, 0, 0, -1])).as_matrix()])
    links = np.stack([LINKS @ SE3.exp(np.array([0.01 * k, 0.0, 0.0, 0.1 * k, 0.0, 0.0])).as_matrix() for k in range(4)])
    cameras = many.Ts_camera_world("front", links).copy()
    cameras[:, 0, 3] += [0.0, 0.02, -0.02, 0.01]
    together = many.draw_scenes(links, {"t_block": blocks}, "front", cameras).colour.cpu().numpy()
    for k in range(4):
        (alone,) = view.draw(links[k], {"t_block": blocks[k]}, [Viewpoint("front", cameras[k])])
        np.testing.assert_allclose(np.clip(together[k], 0.0, 1.0), alone.colour, atol=2e-3 if backend == "cuda" else 0)


def test_an_unknown_camera_or_link_is_refused(view: TwinView) -> None:
    with pytest.raises(ConfigError, match="front"):
        view.camera("frnt")
    with pytest.raises(ConfigError, match="Link"):
        TwinView(LOOKS, ("other",), renderer=make_renderer("cpu"))


def test_a_bent_image_straightens_to_what_was_drawn() -> None:
    """Lens.bend, then the camera's own undistortion, gives the pinhole image back."""
    model = OpenCV(160, 120, 150.0, 150.0, 80.0, 60.0, k1=-0.2, k2=0.05)
    lens = Lens.of(Camera("fish", 160, 120, model))
    height, width = lens.shape
    y, x = np.mgrid[:height, :width]
    direction = np.stack([(x + 0.5 - lens.intrinsics[2]) / 150.0, (y + 0.5 - lens.intrinsics[3]) / 150.0], axis=-1)
    smooth = (0.5 + 0.3 * np.sin(4.0 * direction)).astype(np.float32)
    bent = lens.bend(torch.tensor(np.concatenate([smooth, smooth[..., :1]], axis=-1))[None])[0].numpy()
    assert bent.shape == (120, 160, 3)
    straight, is_known = model.undistort(bent)
    y, x = np.mgrid[:120, :160]
    wanted = 0.5 + 0.3 * np.sin(4.0 * np.stack([(x + 0.5 - 80.0) / 150.0, (y + 0.5 - 60.0) / 150.0], axis=-1))
    inner = is_known[5:-5, 5:-5]
    assert np.abs(straight[5:-5, 5:-5, :2] - wanted[5:-5, 5:-5])[inner].max() < 0.01
    plain = Lens.of(Camera("plain", 160, 120, Pinhole(160, 120, 150.0, 150.0, 80.0, 60.0)))
    assert plain.places is None


def test_a_lens_darkens_nothing_that_was_drawn() -> None:
    """Ones stay ones: everywhere for mild lenses, and wherever the pinhole image reaches for strong ones."""
    rng, width, height = np.random.default_rng(0), 160, 120
    for _ in range(60):
        fx, fy, cx, cy, k1 = rng.uniform([100.0, 100.0, 74.0, 54.0, -0.2], [200.0, 200.0, 86.0, 66.0, 0.1])
        mild = OpenCV(width, height, fx, fy, cx, cy, k1=k1)
        strong = OpenCV(width, height, 0.5 * fx, 0.5 * fy, cx, cy, k1=-0.3, k2=0.03)
        for model in (mild, strong):
            lens = Lens.of(Camera("made", width, height, model))
            assert lens.places is not None
            bent = lens.bend(torch.ones(1, *lens.shape, 1))[0, ..., 0].numpy()
            ends = np.array(lens.shape)[:, None, None] - 1.0
            is_covered = ((lens.places >= 0.0) & (lens.places <= ends)).all(axis=0)
            assert is_covered.all() or model is strong
            np.testing.assert_allclose(bent[is_covered], 1.0, atol=1e-4)
