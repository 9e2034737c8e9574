"""What lies between a command and a servo: delay, play and velocity feed-forward, per simulation and control.

A command arrives `delay` late, interpolated between physics steps so that the effect is smooth in the delay. Then comes
play: the target stays where it is until the command has moved by `backlash` (half the play) past it, the hysteresis
model of Nordin and Gutman (2002), section 2. It acts on the command and so needs no extra joint; a load does not
rattle the joint through its play. Last, `lead` times the target's speed is added, as servos with feed-forward do.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

DRIVE_KINDS = ("delay", "backlash", "lead")
"""What `robot/JOINT/KIND` may be of a drive; none of it is part of a compiled model."""
Commands = Float[np.ndarray, "_ _ control"]
PerControl = Float[np.ndarray, "sim control"]
DriveState = tuple[Commands, PerControl]
"""Undelayed commands of the last physics steps, the latest last, and where the play stands."""


def is_drive_parameter(name: str) -> bool:
    """Whether a parameter is one of a drive, which only a simulator applies."""
    group, _, rest = name.partition("/")
    return group == "robot" and rest.rpartition("/")[2] in DRIVE_KINDS


@dataclass(frozen=True, eq=False)
class DriveSettings:
    """Settings of all drives in all simulations."""

    delay_s: PerControl
    backlash: PerControl
    """Half the play [rad or m]."""
    lead_s: PerControl

    @staticmethod
    def ideal(sim_count: int, control_count: int) -> "DriveSettings":
        """Drives that do nothing to a command."""
        return DriveSettings(*(np.zeros((sim_count, control_count)) for _ in range(3)))

    @property
    def is_ideal(self) -> bool:
        """Whether commands pass unchanged."""
        return not (self.delay_s.any() or self.backlash.any() or self.lead_s.any())


class Drives:
    """The drives of all simulations, with the commands that are still under way."""

    def __init__(self, settings: DriveSettings, timestep_s: float) -> None:
        self.settings, self._timestep_s = settings, timestep_s
        self._past = np.zeros((len(settings.delay_s), self._depth, settings.delay_s.shape[1]))
        self._link = np.zeros_like(settings.delay_s)

    @property
    def _depth(self) -> int:
        """How many steps of commands are remembered."""
        return int(np.ceil(self.settings.delay_s.max(initial=0.0) / self._timestep_s)) + 1

    def start(self, commands: Float[np.ndarray, "row control"], rows: Int[np.ndarray, " row"]) -> None:
        """Drives of some simulations have been holding these commands."""
        self._past[rows] = commands[:, None]
        self._link[rows] = commands

    def change(self, settings: DriveSettings, rows: Int[np.ndarray, " row"]) -> None:
        """New settings for some simulations, whose drives have been holding what they were last told."""
        held = self.latest[rows]
        for kind in ("delay_s", "backlash", "lead_s"):
            getattr(self.settings, kind)[rows] = getattr(settings, kind)
        missing = self._depth - self._past.shape[1]
        if missing > 0:
            self._past = np.concatenate([np.repeat(self._past[:, :1], missing, axis=1), self._past], axis=1)
        self.start(held, rows)

    def state(self) -> DriveState:
        """What all drives hold, to be kept."""
        return self._past.copy(), self._link.copy()

    def resume(self, past: Commands, link: PerControl, rows: Int[np.ndarray, " row"]) -> None:
        """Drives of some simulations hold what `state` said of them; to be called after settings and `start`."""
        depth = self._past.shape[1]
        before = np.repeat(past[:, :1], max(0, depth - past.shape[1]), axis=1)
        self._past[rows] = np.concatenate([before, past], axis=1)[:, -depth:]
        self._link[rows] = link

    @property
    def latest(self) -> PerControl:
        """The latest command, before delay."""
        return self._past[:, -1].copy()

    def pass_on(self, commands: Commands, *, every: int, is_ramp: bool) -> Commands:
        """What reaches the servos, (sim or 1, t * every, control), of commands (sim or 1, t, control)."""
        from gemel.services.sim.drive_kernel import driven_commands

        if self.settings.is_ideal and not is_ramp:
            self._past[:] = commands[:, -1:]
            return np.repeat(commands, every, axis=1)
        commands = np.ascontiguousarray(commands, dtype=float)
        delay, lead = (values / self._timestep_s for values in (self.settings.delay_s, self.settings.lead_s))
        drives = np.stack([delay, self.settings.backlash, lead])
        out, self._past = driven_commands(commands, self._past, drives, self._link, every, is_ramp)
        return np.asarray(out)
