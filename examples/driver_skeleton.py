"""A skeleton of a driver for a real arm: copy this file and fill in the six places marked FILL IN.

Gemel talks to every robot through the `Robot` protocol (`gemel.services.policy.Robot`). This skeleton answers that
protocol with a pretended arm, so it runs as it stands:

    python examples/driver_skeleton.py

What each call has to guarantee is explained in docs/driver.md.
"""

import time
from dataclasses import replace

import numpy as np

from gemel.artifacts.capture import Domain
from gemel.services.policy import InitialCondition, Observation, PolicySpec, run_episode
from gemel.services.tasks import get_task


class PretendedArm:
    """Stands for the vendor's library: an arm that moves a little towards its target whenever it is asked."""

    def __init__(self, joint_count: int) -> None:
        self.position = np.zeros(joint_count)
        self.target = np.zeros(joint_count)

    def read_joints(self) -> np.ndarray:
        """Joint angles [rad]."""
        self.position += 0.5 * (self.target - self.position)
        return self.position.copy()

    def write_target(self, target: np.ndarray) -> None:
        """Where to go [rad]."""
        self.target = target.copy()

    def stop(self) -> None:
        """Hold still."""
        self.target = self.position.copy()


class MyRobot:
    """One arm behind Gemel's `Robot` protocol."""

    domain = Domain.REAL
    joint_names = tuple(f"joint{i}" for i in range(1, 7))  # FILL IN: the names in your log, in your order
    action_names = joint_names  # FILL IN: what an action holds; here, joint targets

    def __init__(self, period_s: float) -> None:
        self._arm = PretendedArm(len(self.joint_names))  # FILL IN: connect to the arm and to the cameras
        self._period_s = period_s
        self._start_s = self._next_s = time.monotonic()
        self._low, self._high = np.full(6, -2.0), np.full(6, 2.0)

    def reset(self, initial_condition: InitialCondition) -> None:
        """Drive home, have the objects put on their marks, start the clock."""
        self._arm.write_target(np.zeros(6))  # FILL IN: drive home and wait until the arm is there
        for name, value in initial_condition.items():
            print(f"put {name} to {value:.3f}")  # FILL IN: ask a person, and wait for an answer
        self._start_s = self._next_s = time.monotonic()

    def observe(self) -> Observation:
        """Read everything now; time stamps are the robot's clock, in seconds since the reset."""
        return Observation(
            time_s=time.monotonic() - self._start_s,
            joint_positions=self._arm.read_joints(),
            images={},  # FILL IN: the newest RGB frame of each camera
        )

    def act(self, action: np.ndarray) -> None:
        """Send one action and return when its control period is over, whatever the caller took before."""
        if not np.all(np.isfinite(action)):
            self._arm.stop()
            raise ValueError(f"refused an action that is not finite: {action}")
        self._arm.write_target(np.clip(action, self._low, self._high))
        self._next_s += self._period_s
        time.sleep(max(0.0, self._next_s - time.monotonic()))


class Wave:
    """A policy for trying the driver out: small, slow, all joints."""

    specification = PolicySpec("wave", MyRobot.action_names)

    def reset(self) -> None:
        """Nothing to forget."""

    def act(self, observation: Observation) -> np.ndarray:
        """One target close to home."""
        return 0.1 * np.sin(observation.time_s) * np.ones((1, 6))


def main() -> None:
    """One second of waving."""
    task = replace(get_task("scan"), time_limit_s=1.0, objects=())
    episode = run_episode(MyRobot(task.control_period_s), Wave(), task)
    moved = np.ptp(episode.joint_positions)
    print(f"{len(episode.times_s)} steps in {episode.times_s[-1]:.2f} s, joints moved {moved:.3f} rad")


if __name__ == "__main__":
    main()
