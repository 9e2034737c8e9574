"""How long each object was followed, episode by episode."""

from collections.abc import Sequence
from html import escape

from gemel.artifacts.evidence import Following
from gemel.outputs.report.claim_table import DRIVES, PHYSICS
from gemel.outputs.report.html_table import table


def follow_table(followings: Sequence[Following]) -> str:
    """One row for each episode, object and drive; nothing where nothing moves."""
    physics = [name for name in PHYSICS if any(item.physics == name for item in followings)]
    rows = []
    for subject, drive, episode in dict.fromkeys((f.subject, f.drive, f.episode) for f in followings):
        own = {f.physics: f for f in followings if (f.subject, f.drive, f.episode) == (subject, drive, episode)}
        cells = "".join(f'<td class="number">{_time(own[name]) if name in own else ""}</td>' for name in physics)
        rows.append(
            f'<tr><th scope="row">{escape(subject)}: episode {escape(episode)}</th><td>{escape(DRIVES[drive])}</td>'
            f"{cells}</tr>"
        )
    caption = "Followed from the object's first motion; ≥ where the record ended first."
    return table(["episode", "robot", *physics], rows, caption) if rows else ""


def _time(following: Following) -> str:
    return f"{'≥ ' if following.is_censored else ''}{following.since_motion_s:.2f} s"
