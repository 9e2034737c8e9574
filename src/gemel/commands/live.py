"""`gemel live`: a twin that runs along, shown on a trial of the log."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gemel.artifacts.belief import Belief
    from gemel.artifacts.track import Tracks
    from gemel.runtime.follow_log import Followed
    from gemel.runtime.live_twin import LiveState

_NARROWED = 0.9
"""Parameters are shown whose interval is at most this part as wide as before."""


@dataclass(frozen=True)
class Live:
    """Let the twin follow a trial of the log as if it happened now: does it keep up, and what does it learn?

    Held-out trials are refused. A twin has learnt from trials of calibration already: on those, what it learns counts
    twice. Pictures go to DIR/pictures/live, all states to DIR/live/TRIAL.json.
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder; a twin must have been assembled in it."""
    trial: str = ""
    """Which trial of the log; the first one of validation unless given."""

    def run(self) -> int:
        """Follow, show, write."""
        from gemel.commands.screen import console, print_table, progress_bar, write_json
        from gemel.live_trial import follow_trial
        from gemel.outputs.pictures.write import write_pictures

        with progress_bar("following") as on_progress:
            found = follow_trial(self.folder, self.trial, on_progress=on_progress)
        followed, places = found.followed, (self.folder / "live", self.folder / "pictures" / "live")
        print_table(
            f"The live twin of {self.folder} on trial {followed.episode}", ("figure", "value"),
            [*_pace(followed), *_nearness(followed, found.tracks), *_learnt(followed)],
        )  # fmt: skip
        if found.note:
            console().print(found.note, style="yellow")
        write_pictures(places[1], found.pictures)
        places[0].mkdir(exist_ok=True)
        write_json(_tree(followed), places[0] / f"{followed.episode}.json")
        console().print(f"Wrote {places[1]}")
        return 0


def _pace(followed: "Followed") -> "Iterator[tuple[str, str]]":
    import numpy as np

    spent_ms = 1e3 * np.array([state.seconds for state in followed.states[1:]])
    period_ms = 1e3 * float(np.median(np.diff(followed.times_s)))
    median, most = np.quantile(spent_ms, [0.5, 0.95])
    verdict = "keeps up" if most < period_ms else "does not keep up"
    yield "an update takes", f"{median:.0f} ms (95 %: {most:.0f} ms); one comes every {period_ms:.0f} ms: {verdict}"
    lost = sum(bool(state.lost) for state in followed.states)
    yield "frames in which something was lost", f"{lost} of {len(followed.states)}"


def _nearness(followed: "Followed", tracks: "Tracks") -> "Iterator[tuple[str, str]]":
    """How far the told poses are from those that `track` found with the whole episode at hand."""
    import numpy as np

    from gemel.geometry.se3 import stack
    from gemel.trial_frames import pose_at

    for name in followed.objects:
        track = tracks.of(followed.episode, name)
        if track is not None:
            afterwards = stack([pose_at(track, float(time_s)) for time_s in followed.times_s])
            apart = (afterwards.inverse() @ followed.track(name).Ts_world_object).log()
            metres, radians = (np.linalg.norm(part, axis=1).mean() for part in (apart[:, :3], apart[:, 3:]))
            yield f"{name}: now, against afterwards", f"{1e3 * metres:.1f} mm, {np.degrees(radians):.1f} degrees apart"


def _learnt(followed: "Followed") -> "Iterator[tuple[str, str]]":
    """Parameters that became better known: 90 % intervals before and after."""
    first, last = followed.states[0].belief, followed.states[-1].belief
    for column, parameter in enumerate(first.parameters):
        (low, _, high), (low_now, _, high_now) = (_quantiles(belief, column) for belief in (first, last))
        if high > low and high_now - low_now <= _NARROWED * (high - low):
            ends = f"{low:.3g} to {high:.3g} → {low_now:.3g} to {high_now:.3g}"
            yield f"{parameter.name}, 90 % interval", f"{ends} {parameter.unit}".removesuffix(" 1")


def _tree(followed: "Followed") -> dict[str, Any]:
    return {"episode": followed.episode, "states": [_state_tree(state) for state in followed.states]}


def _state_tree(state: "LiveState") -> dict[str, Any]:
    belief = state.belief
    return {
        "version": state.version,
        "time_s": state.time_s,
        "seconds": state.seconds,
        "lost": sorted(state.lost),
        "joint_positions": state.joint_positions.tolist(),
        "poses": {
            name: {"xyz_m": pose.translation.tolist(), "wxyz": pose.rotation.wxyz.tolist()}
            for name, pose in state.poses.items()
        },
        "covariances": {name: covariance.tolist() for name, covariance in state.covariances.items()},
        "belief": {
            name: dict(zip(("low", "median", "high"), _quantiles(belief, column), strict=True))
            for column, name in enumerate(belief.names)
        },
    }


def _quantiles(belief: "Belief", column: int) -> list[float]:
    """5, 50 and 95 % of a parameter."""
    import numpy as np

    from gemel.services.stats import weighted_quantiles

    values = weighted_quantiles(belief.samples[:, column], belief.weights, np.array([0.05, 0.5, 0.95]))
    return [float(value) for value in values]
