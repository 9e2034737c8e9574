"""`gemel evaluate DIR --policy FILE --robot ROBOT`: a policy in closed loop on a stand-in arm or in the twin.

Success, errors and times go to the screen and to `result.json`, what happened to `episodes.npz`, pictures beside them.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.episode import Episode
from gemel.commands.policy_robot import Opened, open_robot
from gemel.errors import ConfigError, choices_text
from gemel.services.formats.target_folder import check_target_folder
from gemel.services.policy import run_episode
from gemel.services.policy.conditioned import ConditionedPolicy, Controller, PushController
from gemel.services.policy.estimator import Estimator, Fixed, Prior
from gemel.services.policy.outcome import TOLERANCES, measured, tolerance_words, yaw_of
from gemel.services.policy.site import site_of
from gemel.services.tasks import get_task

MPC = "mpc"
"""Instead of a file: plan strokes."""
KNOWN = "known"
"""The variant that tells the truth."""
_MPC_VARIANTS = ("fused", "prior_only", KNOWN)
_SECONDS = "seconds to "
_PICTURES = ("paths-[0-9].png", "belief-*.png")
"""What earlier runs may have left in a folder."""


@dataclass(frozen=True)
class PolicyRun:
    """What is asked for."""

    folder: Path
    policy: Path
    robot: str
    episodes: int
    variant: str
    """Empty means `fused` for a policy that is told parameters."""
    prior: tuple[float, float] | None
    """Mean and standard deviation of the first parameter that the policy is told."""
    out: Path | None
    record: Path | None = None
    """New folder for the episodes as a dataset."""


def evaluate_policy(asked: PolicyRun) -> int:
    """Run all episodes, print, write."""
    from gemel.commands.screen import console, print_table, progress_bar

    if asked.episodes < 1:
        raise ConfigError(f"--episodes is {asked.episodes}.", remedy="ask for at least one")
    out = asked.out or asked.folder / "policy_runs" / f"{asked.policy.stem}-{asked.robot.replace(':', '-')}"
    check_target_folder(out)
    controller, opened = _trained(asked) if str(asked.policy) != MPC else _planned(asked)
    policy, estimator = ConditionedPolicy(controller, opened.tip), controller.estimator
    with progress_bar("episodes") as on_progress:
        episodes, told = _run_all(asked, policy, opened, on_progress)
    result = _result(asked, episodes, opened)
    _write(out, episodes, told, estimator, opened, result)
    print_table(f"{policy.specification.name} on {asked.robot}", ("figure", "value"), table_rows(result))
    console().print(f"Wrote {out}")
    if asked.record is not None:
        console().print(f"Wrote {asked.record}")
    return 0


def table_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What `result.json` says, for people: tolerances in words instead of their names."""
    rows = [
        (
            tolerance_words(name),
            f"{100.0 * f['rate']:.0f} % of {f['n']}, 95 %: {100.0 * f['low']:.0f} to {100.0 * f['high']:.0f}",
        )
        for name, f in result["success"].items()
    ]
    words = {_SECONDS + name: f"seconds until {tolerance_words(name)}" for name in TOLERANCES}
    return [*rows, *((words.get(name, name), f"{value:.3g}") for name, value in result["means"].items())]


def _run_all(
    asked: PolicyRun, policy: ConditionedPolicy, opened: Opened, on_progress: Callable[[float], None]
) -> tuple[list[Episode], list[Float[np.ndarray, "t 2 p"]]]:
    """All episodes and what the policy was told in them; recorded as they come where that was asked for."""
    from gemel.services.formats.lerobot_recorder import Recorder
    from gemel.services.policy.watched_robot import WatchedRobot

    robot, task, episodes, told = WatchedRobot(opened.robot), opened.task, [], []
    with ExitStack() as stack:
        recorder = None
        if asked.record is not None:
            fps = 1.0 / task.control_period_s
            recorder = stack.enter_context(Recorder(asked.record, opened.notes(), fps=fps))
        for number in range(asked.episodes):
            condition = opened.conditions(number)
            episodes.append(run_episode(robot, policy, task, initial_condition=condition, episode_id=str(number)))
            told.append(_stacked(policy.told))
            if recorder is not None:
                recorder.add(episodes[-1], robot.frames)
            on_progress((number + 1) / asked.episodes)
    return episodes, told


def _trained(asked: PolicyRun) -> tuple[Controller, Opened]:
    """A network from a file."""
    from gemel.services.policy.checkpoint import load_network

    network = load_network(asked.policy, "policy")
    opened = _opened(asked, str(network.meta["task"]))
    return PushController(network, opened.task, _estimator(asked, network, opened)), opened


def _planned(asked: PolicyRun) -> tuple[Controller, Opened]:
    """Strokes that are imagined with what the filter believes."""
    from gemel.runtime.adapt.make import make_estimator
    from gemel.services.policy.mpc import StrokeControl

    if asked.variant and asked.variant not in _MPC_VARIANTS:
        raise ConfigError(f"Variant {choices_text(asked.variant, _MPC_VARIANTS)}", remedy="use one of the choices")
    opened = _opened(asked, "push-t")
    if asked.variant == KNOWN:
        return StrokeControl(opened.task, _truth(asked, tuple(opened.task.parameter_ranges), opened)), opened
    first, ends = next(iter(opened.task.parameter_ranges.items()))
    priors = [Prior(first, *asked.prior, *ends)] if asked.prior is not None else []
    estimator = make_estimator(asked.variant or "fused", opened.task, priors)
    return StrokeControl(opened.task, estimator), opened


def _opened(asked: PolicyRun, task_name: str) -> Opened:
    return open_robot(asked.robot, asked.folder, task_name, is_seen=asked.record is not None)


def _estimator(asked: PolicyRun, network: Any, opened: Opened) -> Estimator | None:
    """What tells the policy about physics."""
    from gemel.runtime.adapt.make import make_estimator

    names = network.conditioned_on
    if not names:
        if asked.variant:
            raise ConfigError(
                f"{asked.policy} is told nothing of physics, so it has no use for variant {asked.variant!r}.",
                remedy="leave --variant out, or give a noise_trained or privileged policy",
            )
        return None
    if asked.variant == KNOWN:
        return _truth(asked, names, opened)
    priors = []
    if asked.prior is not None:
        low, high = opened.task.parameter_ranges.get(names[0], network.ranges[0])
        priors = [Prior(names[0], *asked.prior, low, high)]
    encoders = asked.policy.parent / f"encoders-{network.meta['seed']}.safetensors"
    return make_estimator(
        asked.variant or "fused", get_task(opened.task.name), priors, encoders=encoders if encoders.exists() else None
    )


def _truth(asked: PolicyRun, names: tuple[str, ...], opened: Opened) -> Fixed:
    """The true values of parameters, where a stand-in has them."""
    missing = [name for name in names if name not in opened.truth]
    if missing:
        raise ConfigError(f"Nobody knows {', '.join(missing)} of {asked.robot}.", remedy="use another variant")
    return Fixed(names, np.array([opened.truth[name] for name in names]), np.zeros(len(names)))


def _stacked(told: list[tuple[np.ndarray, np.ndarray]]) -> Float[np.ndarray, "t 2 p"]:
    return np.array([np.stack(pair) for pair in told]) if told else np.zeros((0, 2, 0))


def _result(asked: PolicyRun, episodes: list[Episode], opened: Opened) -> dict[str, Any]:
    """Success within both tolerances with Wilson intervals, and means."""
    from gemel.services.stats import wilson_interval

    name, task = opened.task.objects[0], opened.task
    series = [measured(task, e.times_s, e.object_poses[name], site_of(opened.robot)) for e in episodes]
    errors = np.array([[s["object/position_error"], s["object/yaw_error"]] for s in series])
    success, seconds = {}, {}
    for tolerance, (metres, degrees) in TOLERANCES.items():
        inside = (errors[:, 0] <= metres) & (errors[:, 1] <= np.radians(degrees))
        good = int(inside[:, -1].sum())
        low, high = wilson_interval(good, len(inside))
        success[tolerance] = {"n": len(inside), "rate": good / len(inside), "low": low, "high": high}
        outside_last = inside.shape[1] - 1 - np.argmax(~inside[:, ::-1], axis=1)
        since = np.where(inside.all(axis=1), 0, outside_last + 1)[inside[:, -1]]
        seconds[_SECONDS + tolerance] = float(np.mean(since + 1) * task.control_period_s) if good else float("nan")
    means = {
        "position error cm": float(100.0 * errors[:, 0, -1].mean()),
        "yaw error deg": float(np.degrees(errors[:, 1, -1]).mean()),
        **{name: value for name, value in seconds.items() if np.isfinite(value)},
    }
    return {
        "policy": asked.policy.name,
        "robot": asked.robot,
        "variant": asked.variant,
        "success": success,
        "means": means,
    }


def _write(
    out: Path, episodes: list[Episode], told: list[np.ndarray], estimator: Estimator | None, opened: Opened,
    result: dict[str, Any],
) -> None:  # fmt: skip
    from gemel.commands.screen import write_json
    from gemel.outputs.pictures.write import write_pictures

    name = opened.task.objects[0]
    objects = np.stack([_planar(e, name) for e in episodes])
    tips = np.stack([np.concatenate([opened.tip(q[None]) for q in e.joint_positions]) for e in episodes])
    for old in (path for pattern in _PICTURES for path in out.glob(pattern)):
        old.unlink()  # a shorter run would leave some of them beside results that they do not show
    write_pictures(out, _pictures(objects, tips, told, estimator, opened))
    np.savez_compressed(
        out / "episodes.npz", times_s=episodes[0].times_s, object_xyyaw=objects, tip_xy=tips,
        actions=np.stack([e.actions for e in episodes]), joints=np.stack([e.joint_positions for e in episodes]),
        belief=np.stack(told), parameters=np.array(estimator.names if estimator is not None else (), dtype=np.str_),
    )  # fmt: skip
    write_json(result, out / "result.json")


def _planar(episode: Episode, name: str) -> Float[np.ndarray, "t 3"]:
    poses = episode.object_poses[name]
    return np.column_stack([poses.translation[:, :2], yaw_of(poses)])


def _pictures(
    objects: np.ndarray, tips: np.ndarray, told: list[np.ndarray], estimator: Estimator | None, opened: Opened
) -> dict[str, Any]:
    """The paths of up to four episodes from above, and what was believed in the first."""
    from gemel.outputs.pictures.belief_chart import belief_chart
    from gemel.outputs.pictures.push_sheet import push_sheet
    from gemel.services.tasks import get_object

    goal = np.array([opened.task.goal[f"object/{part}"] for part in ("x", "y", "yaw")])
    shape, period_s = get_object(opened.task.objects[0]).collision, opened.task.control_period_s
    pictures: dict[str, Any] = {
        f"paths-{k}": push_sheet(np.concatenate([objects[k], tips[k]], axis=1), goal, shape, period_s=period_s)
        for k in range(min(4, len(objects)))
    }
    if estimator is None or not told[0].size:
        return pictures
    times_s = period_s * np.arange(len(told[0]))
    for column, name in enumerate(estimator.names):
        scale, unit = (100.0, "cm") if "/com_" in name else (1.0, "kg" if name.endswith("/mass") else "")
        pictures[f"belief-{name.replace('/', '-')}"] = belief_chart(
            name.replace("/", " "), times_s, told[0][:, 0, column], told[0][:, 1, column], opened.truth.get(name),
            scale=scale, unit=unit,
        )  # fmt: skip
    return pictures
