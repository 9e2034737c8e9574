"""What a robot and a policy are, and how the one runs the other: protocols, no networks and no drivers."""

from gemel.services.policy.outcome import judge
from gemel.services.policy.policy import Policy, PolicySpec
from gemel.services.policy.robot import InitialCondition, Observation, Robot
from gemel.services.policy.run_episode import run_episode

__all__ = ["InitialCondition", "Observation", "Policy", "PolicySpec", "Robot", "judge", "run_episode"]
