import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.held_out import HeldOutData
from gemel.artifacts.split import FitData, Role, Split
from gemel.errors import ConfigError, LeakageError
from gemel.stages.split.assign import draw_roles
from gemel.stages.split.config import SplitConfig
from gemel.stages.split.stage import split
from stages.made_captures import MadeEpisode, different_episodes, made_capture


def _split(episodes: list[MadeEpisode], seed: int = 0, **settings: object) -> Split:
    capture, frames = made_capture(episodes)
    return split(capture, SplitConfig(**settings), frames=frames, seed=seed)[0]  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_split_and_another_seed_another() -> None:
    """Roles are drawn, reproducibly."""
    episodes = different_episodes(20)
    assert _split(episodes, 3) == _split(episodes, 3)
    assert _split(episodes, 3).role_from_episode != _split(episodes, 4).role_from_episode


def test_every_episode_has_one_role_in_the_wanted_proportions() -> None:
    """Of twenty different episodes, twelve calibrate, four validate, four are held out."""
    result = _split(different_episodes(20))
    assert [len(result.episodes(role)) for role in Role] == [12, 4, 4]


def test_each_task_has_its_own_holdout() -> None:
    """Stratified by task: no task is only calibrated on."""
    episodes = [e for i, e in enumerate(different_episodes(24))]
    for i, episode in enumerate(episodes):
        episode.task = ("push", "lift", "turn")[i % 3]
    result = _split(episodes)
    tasks = {e.name: e.task for e in episodes}
    for role in Role:
        assert {tasks[e] for e in result.episodes(role)} == {"push", "lift", "turn"}


def test_scans_are_always_calibration() -> None:
    """Whatever the seed, an episode that only looks at the scene is never held out."""
    episodes = different_episodes(6)
    episodes.append(MadeEpisode("scan", start=3.0, scene=0.5, seed=99, kind=EpisodeKind.SCAN))
    for seed in range(10):
        assert _split(episodes, seed).role_from_episode["scan"] is Role.CALIBRATION


def test_an_exact_copy_shares_the_role_of_its_original() -> None:
    """A drawn split never puts a copy on the other side."""
    episodes = different_episodes(8)
    copy = MadeEpisode("copy", start=0.1 * 3, scene=3 / 9, seed=3)
    for seed in range(10):
        result = _split([*episodes, copy], seed)
        assert result.role_from_episode["copy"] is result.role_from_episode["3"]
        assert any(a.reason == "exact copy" for a in result.likenesses)


def test_a_copied_holdout_episode_under_another_name_among_calibration_is_refused() -> None:
    """Roles that are given by hand cannot hide a copy: the error names both episodes and the reason."""
    episodes = [*different_episodes(8), MadeEpisode("innocent", start=0.1 * 3, scene=3 / 9, seed=3)]
    with pytest.raises(LeakageError, match=r"'3' \(holdout\) and episode 'innocent' \(calibration\).*exact copy"):
        _split(episodes, holdout_episodes=("3",))


def test_a_trimmed_copy_is_found_by_its_rows() -> None:
    """A stretch cut out of a holdout episode is the same evidence."""
    episodes = different_episodes(8)
    trimmed = MadeEpisode("trimmed", start=5.0, scene=0.9, seed=50)
    trimmed.joints, trimmed.actions = episodes[3].joints[4:18], episodes[3].actions[4:18]
    with pytest.raises(LeakageError, match="shared rows"):
        _split([*episodes, trimmed], holdout_episodes=("3",))


def test_the_same_initial_state_counts_as_leakage() -> None:
    """Two trials from one start, seen by the camera as one start, cannot be on both sides."""
    twin = MadeEpisode("again", start=0.1 * 3, scene=3 / 9, seed=77)
    episodes = [*different_episodes(8), twin]
    with pytest.raises(LeakageError, match="same initial state"):
        _split(episodes, holdout_episodes=("3",))
    for seed in range(5):
        result = _split(episodes, seed)
        assert result.role_from_episode["again"] is result.role_from_episode["3"]


def test_the_same_robot_pose_with_another_scene_is_another_start() -> None:
    """Robots go home before every trial; only what the camera sees makes starts equal."""
    episodes = [MadeEpisode(str(i), start=0.0, scene=i / 8, seed=i) for i in range(8)]
    result = _split(episodes)
    assert result.likenesses == ()
    assert len(result.episodes(Role.HOLDOUT)) > 0


def test_same_starts_may_be_declared_independent_and_stay_on_record() -> None:
    """With same_start = separate the pairs are kept in the split as accepted, for the audit to show."""
    episodes = [MadeEpisode(str(i), start=0.0, scene=0.0, seed=i) for i in range(6)]
    together, separate = _split(episodes), _split(episodes, same_start="separate")
    assert len(together.episodes(Role.HOLDOUT)) == 0
    assert len(separate.episodes(Role.HOLDOUT)) > 0
    assert {a.reason for a in separate.accepted_likenesses} == {"same initial state"}


def test_by_object_keeps_each_object_on_one_side() -> None:
    """Episodes of one object share a role; without labels the error says how to give them."""
    episodes = different_episodes(12)
    for i, episode in enumerate(episodes):
        episode.object_name = ("mug", "ring", "cube", "bracket")[i % 4]
    result = _split(episodes, by="object")
    for name in ("mug", "ring", "cube", "bracket"):
        assert len({result.role_from_episode[e.name] for e in episodes if e.object_name == name}) == 1
    assert len(result.episodes(Role.HOLDOUT)) == 3
    with pytest.raises(ConfigError, match=r"no object label.*\n.*\[episodes.object\]"):
        _split(different_episodes(4), by="object")


def test_by_initial_condition_joins_near_starts() -> None:
    """Starts that differ by little are one condition for this split, and several for the plain one."""
    episodes = [MadeEpisode(str(i), start=0.012 * (i % 2) + 0.5 * (i // 2), seed=i) for i in range(12)]
    near = _split(episodes, by="initial-condition")
    assert len(set(near.group_from_episode.values())) == 6
    assert len(set(_split(episodes).group_from_episode.values())) == 12


def test_by_camera_path_joins_equal_paths() -> None:
    """Episodes whose cameras went the same way share a role."""
    episodes = [MadeEpisode(str(i), start=0.02 * i, scene=(i % 9) / 9, seed=1000, path=float(i % 4)) for i in range(12)]
    for i, episode in enumerate(episodes):
        episode.actions = np.random.default_rng(i).normal(size=episode.actions.shape)
    result = _split(episodes, by="camera-path", path_tolerance=0.2)
    groups = [result.group_from_episode[str(i)] for i in range(12)]
    assert [len({groups[i] for i in range(k, 12, 4)}) for k in range(4)] == [1, 1, 1, 1]
    assert len(set(groups)) == 4


def test_too_few_episodes_leave_no_holdout_and_a_finding() -> None:
    """One trial alone is calibrated on, and the split says that nothing can be claimed."""
    capture, frames = made_capture(different_episodes(1))
    result, info = split(capture, SplitConfig(), frames=frames, seed=0)
    assert result.episodes(Role.CALIBRATION) == ("0",)
    assert [f.code for f in info.findings] == ["no-holdout"]


@pytest.mark.parametrize(
    "settings",
    [{"validation": 0.6, "holdout": 0.4}, {"holdout": -0.1}, {"validation_episodes": ("1",)}],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    """Parts that leave nothing, or roles named by halves."""
    with pytest.raises(ConfigError):
        SplitConfig(**settings)  # type: ignore[arg-type]


def test_unknown_or_scanning_episodes_cannot_be_given_roles() -> None:
    """A wrong id lists the right ones; a scan is never held out."""
    with pytest.raises(ConfigError, match="'zz' is unknown"):
        _split(different_episodes(4), holdout_episodes=("zz",))
    episodes = [*different_episodes(3), MadeEpisode("s", start=9.0, seed=9, kind=EpisodeKind.SCAN)]
    with pytest.raises(ConfigError, match="scans are always calibration"):
        _split(episodes, holdout_episodes=("s",))


def test_fit_data_and_held_out_data_share_nothing() -> None:
    """Together they are the capture; apart they have no episode in common."""
    capture, frames = made_capture(different_episodes(10))
    result, _ = split(capture, SplitConfig(), frames=frames, seed=1)
    fit, held = FitData.of(capture, result), HeldOutData.of(capture, result)
    fitted = {e.id for e in (*fit.calibration, *fit.validation)}
    sealed = {e.id for e in held.episodes}
    assert fitted.isdisjoint(sealed)
    assert fitted | sealed == {e.id for e in capture.episodes}
    assert sealed


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=40),
    st.lists(st.sampled_from("abc"), min_size=40, max_size=40),
    st.integers(0, 2**32 - 1),
)
def test_drawing_never_tears_a_group_and_reaches_every_role(groups: list[int], tasks: list[str], seed: int) -> None:
    """For any grouping: one role per group, and with three groups or more of a task, every role occurs in it."""
    group = {str(i): g for i, g in enumerate(groups)}
    task_of_group = {g: tasks[g] for g in set(groups)}
    task = {str(i): task_of_group[g] for i, g in enumerate(groups)}
    parts = {Role.CALIBRATION: 0.6, Role.HOLDOUT: 0.2, Role.VALIDATION: 0.2}
    roles = draw_roles(group, task, parts, np.random.default_rng(seed))
    assert set(roles) == set(group)
    for number in set(groups):
        assert len({roles[e] for e, g in group.items() if g == number}) == 1
    for name in set(task.values()):
        members = {g for g, t in task_of_group.items() if t == name}
        if len(members) >= 3:
            assert {roles[e] for e in group if task[e] == name} == set(Role)


def test_given_roles_are_kept() -> None:
    """What twin.toml names is held out, the rest calibrates."""
    result = _split(different_episodes(6), holdout_episodes=("2", "4"), validation_episodes=("1",))
    assert (set(result.episodes(Role.HOLDOUT)), set(result.episodes(Role.VALIDATION))) == ({"2", "4"}, {"1"})
