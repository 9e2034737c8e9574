"""Where an object should be in the next frame.

The rehearsal's last step, taken from where the object was seen; or, where constant velocity was nearer to the truth one
frame before (something pushes that no model knows of), nothing, and the follower goes on by velocity.
"""

import numpy as np

from gemel.geometry import SE3


class Guess:
    """Where the rehearsal's last step takes an object from where it was seen, as long as that is the better guess."""

    def __init__(self) -> None:
        self._seen: SE3 | None = None
        self._before: SE3 | None = None
        self.rehearsed: SE3 | None = None
        """Where the rehearsal has it now."""
        self._is_trusted = True

    def pose(self, rehearsed: SE3 | None) -> SE3 | None:
        """The guess for this frame, or None: by constant velocity."""
        stepped = self._stepped(rehearsed)
        return stepped if self._is_trusted else None

    def remember(self, seen: SE3 | None, rehearsed: SE3 | None) -> None:
        """Compare both guesses with what was seen, and go on from there."""
        stepped = self._stepped(rehearsed)
        if seen is not None and stepped is not None and self._seen is not None and self._before is not None:
            steady = self._seen @ (self._before.inverse() @ self._seen)
            self._is_trusted = _apart(stepped, seen) <= _apart(steady, seen)
        self._before, self._seen, self.rehearsed = self._seen if seen is not None else None, seen, rehearsed

    def _stepped(self, rehearsed: SE3 | None) -> SE3 | None:
        if rehearsed is None or self.rehearsed is None or self._seen is None:
            return None
        return self._seen @ (self.rehearsed.inverse() @ rehearsed)


def _apart(first: SE3, second: SE3) -> float:
    """Distance of two poses; ten degrees count as much as a centimetre or two."""
    return float(np.linalg.norm((first.inverse() @ second).log() * np.repeat([1.0, 0.1], 3)))
