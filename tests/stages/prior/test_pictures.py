"""Pictures for a model, taken from the bundled sample with its true cameras: the axes are on the object."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gemel
from gemel.artifacts.capture import Capture
from gemel.artifacts.split import FitData, Split
from gemel.geometry import SE3, sample_surface
from gemel.pipeline import run_project
from gemel.project import open_project
from gemel.running import Run
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.stages.prior.vlm.views import object_pictures
from gemel.store.store import Store
from gemel.worlds.truth import read_truth
from stages.prior.made_objects import reconstruction, splatmesh
from test_pipeline import Quiet

SAMPLE = Path(gemel.__file__).parent / "samples" / "push_t"
TRUTH = Path(__file__).parents[2] / "data" / "push_t_truth"


@pytest.mark.slow
def test_every_camera_sees_the_object_where_the_picture_says(tmp_path: Path) -> None:
    """Fixed and carried cameras: nearly all of the T-block's surface projects to its orange."""
    truth = read_truth(TRUTH)
    (tmp_path / "twin.toml").write_text(f'[capture]\nsource = "{SAMPLE}"\n')
    project = open_project(tmp_path)
    results = run_project(project, Quiet(), last="split")
    store = Store.open(project.store_folder)
    run = Run(project, store, {result.name: result.address for result in results})
    capture = run.get("ingest", Capture)
    known = replace(
        reconstruction(meshes={"t_block": splatmesh(truth.vertices, truth.faces)}),
        placements={"t_block": truth.episodes[0].Ts_world_object[0]},
        cameras=truth.cameras,
        Ts_world_base=SE3.from_wxyz_xyz(np.stack([pose.wxyz_xyz for pose in truth.T_world_bases.values()])),
        joint_offsets=-truth.joint_offsets,
        joint_offset_sigmas=np.zeros_like(truth.joint_offsets),
        joint_plays=np.zeros_like(truth.joint_offsets),
    )
    assert capture.robot is not None
    pictures = object_pictures(
        "t_block", 5, known, fit=FitData.of(capture, run.get("split", Split)),
        frames=run.frames(capture, "prior", "key"), mask_of=lambda *_: np.ones((120, 160), dtype=bool),
        robot=compile_stored_robot(capture.robot, store),
    )  # fmt: skip
    store.close()
    assert len(pictures) == 5
    assert {picture.label.split()[0] for picture in pictures} == {"front", "side", "wrist"}
    points, _ = sample_surface(truth.vertices, truth.faces, 500, np.random.default_rng(0))
    for picture in pictures:
        x, y = picture.camera.project(picture.T_camera_object @ points).T.astype(int)
        seen = (x >= 0) & (x < 160) & (y >= 0) & (y < 120)
        red, green, blue = picture.image[y[seen], x[seen]].astype(int).T
        assert seen.mean() > 0.7, picture.label
        assert np.mean((red > 1.5 * green) & (green > blue)) > 0.75, picture.label
