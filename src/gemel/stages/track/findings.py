"""What has to be said about a track."""

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.track import Track


def track_findings(track: Track) -> tuple[Finding, ...]:
    """Stretches in which the object was lost, and gaps in the log that the track bridges."""
    lost = tuple(
        Finding(
            code="object-lost",
            severity=Severity.WARNING,
            message=f"{track.object} was out of sight or not recognised in {last - first + 1} frames, "
            f"{track.times_s[first]:.2f} to {track.times_s[last]:.2f} s; its poses there are bridged.",
            remedy="add a camera that sees it there; later stages go by the larger uncertainty of these poses",
            episode=track.episode,
            time_s=float(track.times_s[first]),
            value=float(last - first + 1),
        )
        for first, last in _stretches(track.is_lost)
    )
    return lost + _gaps(track)


def _gaps(track: Track) -> tuple[Finding, ...]:
    steps_s: Float[np.ndarray, " s"] = np.diff(track.times_s)
    if len(steps_s) < 2:
        return ()
    usual_s = float(np.median(steps_s))
    gaps = np.flatnonzero(steps_s > 2.5 * usual_s)
    if not len(gaps):
        return ()
    widest = int(gaps[np.argmax(steps_s[gaps])])
    return (
        Finding(
            code="track-gap",
            severity=Severity.WARNING,
            message=f"The log has no frames for up to {steps_s[widest]:.2f} s ({len(gaps)} gaps, usual step "
            f"{usual_s:.3f} s); the track of {track.object} has no poses there.",
            remedy="check the recorder's load; identification leaves out what happens across a gap",
            episode=track.episode,
            time_s=float(track.times_s[widest]),
            value=float(steps_s[widest]),
        ),
    )


def not_found(name: str, episode: str) -> Finding:
    """An object that no frame of an episode shows."""
    return Finding(
        code="object-not-found",
        severity=Severity.WARNING,
        message=f"{name} was found in no frame of episode {episode}; it has no track there.",
        remedy="look at the masks of the episode's first frames with `gemel prompt`, and correct them",
        episode=episode,
    )


def _stretches(flags: Bool[np.ndarray, " t"]) -> list[tuple[int, int]]:
    """First and last index of each run of true flags."""
    edges = np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))
    return list(zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True))
