"""What has to be known to read the claims, and what somebody should do something about."""

from collections.abc import Sequence

from gemel.artifacts.belief import Belief
from gemel.artifacts.evidence import Claim, Curve
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.held_out import Opening
from gemel.artifacts.track import Tracks
from gemel.services.sim.commanded import NONE
from gemel.stages.evaluate.claims import NOMINAL, POSTERIOR, PRIOR
from gemel.stages.evaluate.compare import Compared
from gemel.stages.evaluate.instruments import Instruments
from gemel.stages.evaluate.replay import ACTIONS, LOGGED
from gemel.stages.evaluate.verdicts import not_shown, overconfident

_LED = {LOGGED: "Led along the log", ACTIONS: "Driven by the recorded actions"}


def notes_on(
    results: Sequence[Compared],
    tracks: Tracks,
    instruments: Instruments,
    belief: Belief,
    floor: Sequence[Curve],
    starts: int,
) -> tuple[str, ...]:
    """What was absent, censored or assumed; `starts` is how many pairs of episodes have the same start."""
    notes = [f"Objects of the record come from {tracks.source}; their own error is in every object error here."]
    reader = instruments.reader
    notes.append(
        _drives(belief) if reader.kind != NONE else f"Only the log was replayed, not its actions: {reader.why}."
    )
    notes += [f"The tool of {tool.arm.name} is {tool.point.words}." for tool in instruments.tools]
    notes += _censored(results)
    still = [f"{name} in episode {r.episode}" for r in results for name in r.still]
    if still:
        notes.append(f"Never moves, so that there is nothing to follow: {'; '.join(still)}.")
    left_out = [f"{name} in episode {r.episode}" for r in results for name in r.left_out]
    if left_out:
        notes.append(
            f"Not compared, since seen in fewer than two frames from the replay's start on: {'; '.join(left_out)}."
        )
    if not floor:
        notes.append(
            f"No real-vs-real floor: of {starts} pairs of episodes with the same start none repeats its actions with "
            "anything seen in both."
        )
    return tuple(notes)


def _drives(belief: Belief) -> str:
    """How late commands reach the servos."""
    delays_ms = [1e3 * v for n, v in zip(belief.names, belief.mean, strict=True) if n.endswith("/delay")]
    if not delays_ms:
        return "Nobody knows how late recorded actions take effect: they reach the servos at once here."
    low, high = min(delays_ms), max(delays_ms)
    late = f"{low:.0f} ms" if high - low < 0.5 else f"{low:.0f} to {high:.0f} ms"
    return f"Recorded actions reach the servos {late} late, as the twin's belief has it."


def _censored(results: Sequence[Compared]) -> list[str]:
    """Episodes that ended while the twin still followed."""
    notes = []
    for drive, led in _LED.items():
        for physics in (POSTERIOR, PRIOR, NOMINAL):
            episodes = dict.fromkeys(
                r.episode for r in results for key, time in r.follow_times.items()
                if key[1:] == (physics, drive) and time.is_censored
            )  # fmt: skip
            if episodes:
                notes.append(
                    f"{led}, the {physics} follows to the end in {_named([*episodes])}: there its time is "
                    "that of the record, and the truth is longer."
                )
    return notes


def _named(episodes: Sequence[str]) -> str:
    """`episode 14`, or `episodes 3, 14`."""
    return f"{'episode' if len(episodes) == 1 else 'episodes'} {', '.join(episodes)}"


def findings_of(results: Sequence[Compared], opening: Opening, claims: Sequence[Claim]) -> tuple[Finding, ...]:
    """What somebody should do something about."""
    found = [*not_shown(claims), *overconfident(claims)]
    if opening.of_twin > 1:
        found.append(Finding(
            "opened-again", Severity.WARNING,
            f"The holdout has been opened {opening.of_twin} times for this twin; only the first is a blind test.",
            "quote the first evidence, or record new trials",
        ))  # fmt: skip
    far = [r.episode for r in results if any(metres > 1e-6 or radians > 1e-6 for metres, radians in r.gaps)]
    if far:
        found.append(Finding(
            "tool-disagrees", Severity.WARNING,
            f"The tool by the Denavit-Hartenberg table and by MuJoCo differ in {_named(far)}.",
            "the arm is no serial chain of logged joints; trust MuJoCo, and name its joints under [evaluate.arms]",
        ))  # fmt: skip
    broken = sum(result.diverged for result in results)
    if broken:
        found.append(Finding(
            "diverged", Severity.WARNING, f"{broken} simulations broke down; they stand still from there on.",
            "look at the belief's widest parameters",
        ))  # fmt: skip
    return tuple(found)
