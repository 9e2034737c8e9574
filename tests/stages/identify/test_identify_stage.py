"""The stage on a made twin: a pusher on slides drives the T-block; parameters of the truth are found again."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.track import Track
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, SourceError
from gemel.geometry import SE3
from gemel.services.inference import flat_belief
from gemel.services.sim.compile import compile_twin
from gemel.services.sim.native import SimulatorNative
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.segments import find_segments
from gemel.stages.identify.stage import identify, twin_problem
from gemel.store.store import Store
from services.sim.made_pusher import ROBOT, pusher_twin

COM = "object/t_block/com_y"
_STROKES = ((0.07, 1.0), (-0.06, -0.6), (0.02, 0.5))
"""Where along the bar the tip pushes [m], and how it drifts sideways."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store") / "store")


@pytest.fixture(scope="module")
def twin(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Twin:
    prior = flat_belief((Parameter(COM, "m", -0.035, 0.075, "linear", ValueSource.RANDOMISED),))
    return pusher_twin(store, tmp_path_factory.mktemp("robot"), prior)


def _recorded(
    twin: Twin, store: Store, com_y: float, others: Mapping[str, float] | None = None
) -> tuple[list[Track], dict[str, Episode]]:
    """Pushes of the twin itself with a known centre of mass, tracked with noise."""
    scene = compile_twin(twin, store, {COM: com_y, **(others or {})})
    simulator = SimulatorNative(scene.model, 1, threads=1)
    rng, sd = np.random.default_rng(0), np.array([6e-4] * 3 + [5e-3] * 3)
    tracks, episodes = [], {}
    for number, (x, drift) in enumerate(_STROKES):
        times = np.arange(16) * 0.1
        way = np.clip(times - 0.3, 0.0, 0.8)
        joints = np.stack([x + 0.03 * drift * way, 0.13 - 0.12 * way], axis=1)
        simulator.reset(scene.qpos(joints[:1]))
        rollout = simulator.rollout(joints[None, 1:], every=round(0.1 / simulator.timestep_s), is_ramp=True)
        states = np.concatenate([scene.qpos(joints[:1])[None], rollout.qpos], axis=1)[0]
        true = simulator.body_poses("t_block", states)
        columns = [scene.model.joint(name).qposadr[0] for name in twin.joints]
        covariance = np.einsum("tij,j,tkj->tik", true.adjoint(), sd**2, true.adjoint())
        noisy = true @ SE3.exp(sd * rng.standard_normal((16, 6)))
        name = str(number)
        tracks.append(Track(name, "t_block", times, noisy, covariance, np.zeros(16, bool)))
        episodes[name] = Episode(
            name, EpisodeKind.TASK, Domain.STAND_IN, "push", times, states[:, columns], np.zeros((16, 0))
        )
    return tracks, episodes


@pytest.mark.slow
def test_centre_of_mass_is_found_and_ranges_cover(twin: Twin, store: Store) -> None:
    """From the twin's own pushes, the truth lies in the interval, which is far narrower than the prior."""
    truth = 0.052
    tracks, episodes = _recorded(twin, store, truth)
    config = IdentifyConfig(ensemble=24, kalman_steps=2, refinements=2, draws=400, push_worth=3.0, generations=8)
    posterior, info = identify(
        twin,
        tracks,
        episodes,
        config,
        blobs=store,
        rng=np.random.default_rng(1),
        validation=frozenset({"2"}),
        threads=1,
    )
    assert info.check is not None
    (found,) = info.check.ranges
    assert found.low < truth < found.high
    assert found.high - found.low < 0.05
    assert found.label is ValueSource.INFERRED
    assert posterior.parameters[0].episodes == ("0", "1")
    assert info.check.coverage > 0.8


def test_an_arm_that_gave_way_does_not_do_so_again(store: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a soft arm logged under load leads a stiff one: the truth explains its pushes, and so does any mass.

    The tip yields by 3 mm. Pieces are short, so that most of them start in the middle of a push.
    """
    yielding = ROBOT.replace("100000", "500").replace("4000", "60").replace('mass="10"', 'mass="0.5"')
    truth = {COM: 0.045, "object/t_block/mass": 0.34, "contact/t_block-table/friction": 0.45}
    ranges = {COM: (-0.035, 0.075), "object/t_block/mass": (0.05, 4.0), "contact/t_block-table/friction": (0.15, 1.2)}
    prior = flat_belief(tuple(Parameter(n, "", *r, "linear", ValueSource.RANDOMISED) for n, r in ranges.items()))
    soft = pusher_twin(store, tmp_path_factory.mktemp("robot"), prior, yielding)
    tracks, episodes = _recorded(soft, store, truth[COM], truth)
    problem = twin_problem(
        soft,
        tracks,
        episodes,
        IdentifyConfig(longest_s=0.4, frame_m=0.0, frame_rad=0.0, frame_s=0.0),
        blobs=store,
        threads=1,
    )
    assert problem is not None
    assert sum(segment.velocity.any() for segment in problem.segments) >= 3
    draws = np.tile(list(truth.values()), (3, 1))
    draws[1:, 1] = [0.1, 3.0]
    missed_m, *others_m = problem.predict(draws).reshape(3, -1, 6)[..., :2]
    assert np.sqrt(np.mean(missed_m**2)) < 1e-3  # the track's own error is 0.6 mm, at both ends
    assert max(np.median(np.abs(other_m - missed_m)) for other_m in others_m) < 2e-4


def test_unknown_parameter_lists_the_closest(twin: Twin, store: Store) -> None:
    """A parameter that the scene does not have is named with those that are meant."""
    tracks, episodes = _recorded(twin, store, 0.03)
    wrong = flat_belief((Parameter("robot/px/dampin", "", 0.1, 1.0, "linear", ValueSource.RANDOMISED),))
    with pytest.raises(ConfigError, match="robot/px/damping"):
        identify(
            replace(twin, belief=wrong), tracks, episodes, IdentifyConfig(), blobs=store, rng=np.random.default_rng(2)
        )


def test_gaps_and_lost_frames(twin: Twin, store: Store) -> None:
    """Pieces never reach over a gap; a track that is almost all lost is refused with the remedy."""
    tracks, _ = _recorded(twin, store, 0.03)
    track = tracks[0]
    whole = find_segments(track, longest_s=1.0, model_error=0.03)
    is_lost = np.zeros(16, dtype=bool)
    is_lost[5:10] = True
    pieces = find_segments(replace(track, is_lost=is_lost), longest_s=1.0, model_error=0.03)
    assert whole
    assert all(np.diff(np.concatenate([[s.start_s], s.times_s])).max() < 0.15 for s in pieces)
    with pytest.raises(SourceError, match="frames in which it is seen"):
        find_segments(replace(track, is_lost=np.arange(16) > 1), longest_s=1.0, model_error=0.03)


def test_nothing_moves(twin: Twin, store: Store, tmp_path: Path) -> None:
    """An object at rest: the prior comes back with a finding."""
    del tmp_path
    tracks, episodes = _recorded(twin, store, 0.03)
    still = [replace(t, Ts_world_object=t.Ts_world_object[np.zeros(16, int)]) for t in tracks]
    posterior, info = identify(
        twin, still, episodes, IdentifyConfig(), blobs=store, rng=np.random.default_rng(3)
    )  # fmt: skip
    assert posterior is twin.belief
    assert info.findings[0].code == "nothing-moves"
