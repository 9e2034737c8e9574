"""What trials say of the robot's drives: how late commands take effect, and whether servos trail what they are told.

The lag is the shift in time at which commanded and logged joint positions agree best; pieces of a second of all trials,
drawn with replacement, say how sure it is. A lag has two explanations: servos that feed the target's speed forward and
are told late, or servos that trail as their gains make them and are told less late. The one that follows the trials
better in simulation is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.artifacts.blob import Blobs
from gemel.artifacts.episode import Episode
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.twin import Twin
from gemel.services.sim.commanded import ActionReader
from gemel.services.sim.compile import CompileConfig, CompiledTwin, compile_twin
from gemel.services.sim.drives import is_drive_parameter
from gemel.services.sim.joint_path import JointPath, steps_of_tick
from gemel.services.sim.led_servos import feed_forward
from gemel.services.sim.native import SimulatorNative

_LONGEST_S, _STEP_S = 0.4, 0.005
_PIECE_S = 1.0
"""Errors within a second are not independent of each other."""
_EXPLAINED = 0.5
"""A lag that does not halve the squared error against the worst shift is none."""
_STILL = 1e-3
"""A joint that is asked to move less than this stands still [rad or m]."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What was asked of the joints, and what they did."""

    episode: Episode
    commanded: JointPath


def with_drives(
    twin: Twin, episodes: Sequence[Episode], reader: ActionReader, *, blobs: Blobs, rng: np.random.Generator
) -> tuple[Belief, tuple[Finding, ...]]:
    """The twin's belief with `robot/JOINT/delay` and `lead` of all joints that commands move, as trials show them.

    Unchanged where it speaks of drives already, or where nothing can be read from the actions.
    """
    paths = [(episode, reader.path(episode)) for episode in episodes]
    trials = [Trial(episode, path) for episode, path in paths if path is not None]
    if not trials or any(is_drive_parameter(name) for name in twin.belief.names):
        return twin.belief, ()
    lags_s = _lags_s(trials, len(twin.belief.samples), rng)
    if lags_s is None:
        return twin.belief, (_untold(),)
    scene = _robot_alone(twin, blobs)
    leads_s = {name.split("/")[1]: lead_s for name, lead_s in feed_forward(scene.model).items()}
    leads_s = {joint: lead_s for joint, lead_s in leads_s.items() if joint in twin.joints}
    is_fed_forward = _is_fed_forward(scene, trials, float(lags_s.mean()), leads_s)
    columns: dict[str, Float[np.ndarray, " sample"]] = {}
    for joint, lead_s in leads_s.items():
        delay_s, lead = _drive(lags_s, lead_s, is_fed_forward=is_fed_forward)
        columns |= {f"robot/{joint}/delay": delay_s, f"robot/{joint}/lead": lead}
    return _extended(twin.belief, columns, trials), (_told(lags_s, len(trials), is_fed_forward=is_fed_forward),)


def _lags_s(trials: Sequence[Trial], count: int, rng: np.random.Generator) -> Float[np.ndarray, " sample"] | None:
    """Lags [s] from so many redrawn sets of pieces; None where no shift explains the motion."""
    shifts_s = np.arange(0.0, _LONGEST_S + _STEP_S / 2, _STEP_S)
    squares = np.concatenate([_squares(trial, shifts_s) for trial in trials])  # (piece, shift)
    total = squares.sum(axis=0)
    best = int(np.argmin(total))
    if best == len(shifts_s) - 1 or total[best] > _EXPLAINED * total.max():
        return None
    drawn = rng.multinomial(len(squares), np.full(len(squares), 1.0 / len(squares)), size=count) @ squares
    return np.array([_lowest(row) for row in drawn]) * _STEP_S


def _squares(trial: Trial, shifts_s: Float[np.ndarray, " shift"]) -> Float[np.ndarray, "piece shift"]:
    """Squared errors of each piece of a trial under each shift."""
    times_s, positions, asked = trial.episode.times_s, trial.episode.joint_positions, trial.commanded
    is_asked = np.ptp(asked.positions, axis=0) > _STILL  # other joints tell nothing of lags
    misses = [(asked.at(times_s - shift_s) - positions)[:, is_asked] for shift_s in shifts_s]
    errors = np.stack([np.sum(miss**2, axis=1) for miss in misses], axis=1)
    piece = ((times_s - times_s[0]) / _PIECE_S).astype(int)
    found = np.zeros((int(piece[-1]) + 1, len(shifts_s)))
    np.add.at(found, piece, errors)
    return found


def _lowest(values: Float[np.ndarray, " shift"]) -> float:
    """Where the parabola through the least value and its neighbours is lowest, in steps."""
    at = int(np.argmin(values))
    if at in (0, len(values) - 1):
        return float(at)
    before, here, after = values[at - 1 : at + 2].tolist()
    bend = before - 2.0 * here + after
    return at + (0.5 * (before - after) / bend if bend > 0.0 else 0.0)


def _drive(
    lags_s: Float[np.ndarray, " n"], lead_s: float, *, is_fed_forward: bool
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Delay and lead [s] that make a servo, which trails by `lead_s` if nothing is done, follow so late."""
    if is_fed_forward:
        return lags_s, np.full_like(lags_s, lead_s)
    return np.maximum(lags_s - lead_s, 0.0), np.maximum(lead_s - lags_s, 0.0)


def _is_fed_forward(scene: CompiledTwin, trials: Sequence[Trial], lag_s: float, leads_s: dict[str, float]) -> bool:
    """Which of the two explanations of a lag follows the trials better."""
    simulator = SimulatorNative(scene.model, 2)
    names, values = [], []
    for joint, lead_s in leads_s.items():
        drives = [_drive(np.array([lag_s]), lead_s, is_fed_forward=fed) for fed in (True, False)]
        names += [f"robot/{joint}/delay", f"robot/{joint}/lead"]
        values += list(np.array(drives)[:, :, 0].T)
    if not names:
        return True
    simulator.set_parameters(names, np.stack(values, axis=1))
    forward, plain = np.sum([_misses(simulator, scene, trial) for trial in trials], axis=0)
    return bool(forward <= plain)


def _misses(simulator: SimulatorNative, scene: CompiledTwin, trial: Trial) -> Float[np.ndarray, " sim"]:
    """Summed squared errors of the simulated joints over a trial."""
    logged_s, logged = trial.episode.times_s, trial.episode.joint_positions
    every = steps_of_tick(simulator.timestep_s)
    tick_s = every * simulator.timestep_s
    times_s = logged_s[0] + tick_s * np.arange(int(np.ceil((logged_s[-1] - logged_s[0]) / tick_s)) + 2)
    commands = scene.commands(trial.commanded.at(times_s))
    simulator.reset(np.repeat(scene.qpos(logged[:1]), simulator.count, axis=0), commands=commands[:1])
    qpos = simulator.rollout(commands[None, 1:], every=every, is_ramp=True).qpos
    found = np.zeros(simulator.count)
    for column, name in enumerate(scene.joints):
        if name:
            at = int(scene.model.joint(name).qposadr[0])
            paths = [np.interp(logged_s, times_s[1:], one[:, at]) for one in qpos]
            found += np.sum((np.array(paths) - logged[:, column]) ** 2, axis=1)
    return found


def _robot_alone(twin: Twin, blobs: Blobs) -> CompiledTwin:
    """The scene without objects: what they do to the arm is little, and where they are is not asked here."""
    return compile_twin(replace(twin, colliders={}), blobs, {}, CompileConfig(has_force_sensors=False))


def _extended(belief: Belief, columns: dict[str, np.ndarray], trials: Sequence[Trial]) -> Belief:
    episodes = tuple(trial.episode.id for trial in trials)
    added = tuple(Parameter(name, "s", 0.0, _LONGEST_S, "linear", ValueSource.INFERRED, episodes) for name in columns)
    samples = np.concatenate([belief.samples, np.stack(list(columns.values()), axis=1)], axis=1) if columns else None
    return belief if samples is None else replace(belief, parameters=(*belief.parameters, *added), samples=samples)


def _told(lags_s: Float[np.ndarray, " sample"], trials: int, *, is_fed_forward: bool) -> Finding:
    low, middle, high = 1e3 * np.quantile(lags_s, [0.05, 0.5, 0.95])
    how = "feed the target's speed forward" if is_fed_forward else "trail their targets as their gains make them"
    return Finding(
        "command-lag", Severity.NOTE,
        f"Commands take effect {middle:.0f} ms late ({low:.0f} to {high:.0f}) in {trials} trials; servos that {how} "
        "follow them best.",
        "nothing: the twin's drives have this delay", value=float(middle),
    )  # fmt: skip


def _untold() -> Finding:
    return Finding(
        "command-lag", Severity.WARNING,
        f"No shift up to {_LONGEST_S:g} s makes recorded actions agree with the joints, so nobody knows how late they "
        "take effect.",
        "check what the actions are ([evaluate] actions), and the clocks of commands and joints",
    )  # fmt: skip
