"""Checks of one episode's numbers, shared by ingest (which refuses errors) and inspect (which lists them)."""

import numpy as np
from jaxtyping import Bool

from gemel.artifacts.finding import Finding, Severity
from gemel.services.formats.source import OnFinding, RawEpisode, SourceLayout
from gemel.stages.ingest.clock import EpisodeClock


def check_numbers(episode: RawEpisode, layout: SourceLayout, on_finding: OnFinding) -> None:
    """NaN, infinite or missing numbers, each with its first place."""
    if not len(episode.times_s):
        on_finding(
            Finding("empty-episode", Severity.ERROR, f"Episode {episode.id} has no rows.",
                    "remove it from the dataset, or restore it", episode=episode.id)
        )  # fmt: skip
        return
    for kind, values, names in (
        ("timestamp", episode.times_s[:, None], ("timestamp",)),
        ("joint", episode.state, layout.joint_names),
        ("action", episode.action, layout.action_names),
    ):
        bad = ~np.isfinite(values)
        for column in np.flatnonzero(bad.any(axis=0)):
            on_finding(_not_finite(episode, kind, names[column], bad[:, column]))


def check_clock(episode: RawEpisode, clock: EpisodeClock, on_finding: OnFinding) -> None:
    """Time going backwards, gaps and repeated stamps, each with its first place."""
    for code, severity, places, what, remedy in (
        ("time-backwards", Severity.ERROR, clock.backwards, "time goes backwards",
         "sort the rows or re-record: the order of events is unknown"),
        ("dropped-samples", Severity.WARNING, clock.gaps, "samples are missing",
         "check the recorder's load; stages skip over the gaps"),
        ("duplicated-samples", Severity.WARNING, clock.duplicates, "time stamps repeat",
         "check the recorder; repeated rows add no information"),
    ):  # fmt: skip
        if len(places):
            first = float(episode.times_s[places[0]])
            count = clock.missing_count if code == "dropped-samples" else len(places)
            on_finding(
                Finding(
                    code, severity, f"{what.capitalize()}: {count} in episode {episode.id}, first after {first:.3f} s "
                    f"(median step {1e3 * clock.period_s:.1f} ms).",
                    remedy, episode=episode.id, stream="timestamp", time_s=first, value=float(count),
                )
            )  # fmt: skip


def _not_finite(episode: RawEpisode, kind: str, name: str, bad: Bool[np.ndarray, " t"]) -> Finding:
    first = int(np.argmax(bad))
    time_s = float(episode.times_s[first])
    return Finding(
        "not-finite",
        Severity.ERROR,
        f"{kind.capitalize()} {name!r} is NaN, infinite or missing in {int(bad.sum())} of {len(bad)} rows, "
        f"first in row {first}.",
        "repair or remove the episode: a twin must not be fitted to made-up numbers",
        episode=episode.id,
        stream=name,
        time_s=time_s if np.isfinite(time_s) else None,
        value=float(bad.sum()),
    )
