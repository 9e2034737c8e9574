"""What is compared: the seed's tables (arXiv 2510.11689) as cells, and the variants that meet in them.

The prior is the seed's in every cell: biased by 2.1 and 1.5 cm, and more certain than it should be. For the hammer the
seed gives no such figures; its centre of mass is in the middle of the task's range, and its prior 2 cm nearer to the
handle, with a standard deviation of 1.5 cm.
"""

from dataclasses import dataclass

from gemel.artifacts.task import Task
from gemel.runtime.adapt.make import ESTIMATED
from gemel.services.policy.estimator import Prior
from gemel.services.tasks import get_task

PRIVILEGED = "privileged"
WITH_ENCODERS = ("history_only", "fused_memoryless")
VARIANTS = (PRIVILEGED, "noise_trained", "randomised", "randomised_history", *ESTIMATED)
"""`privileged` and `noise_trained` are told the truth; `ESTIMATED` run the base policy on what an estimator says."""
MPC = "mpc"
"""Needs no network; fewer episodes, as it plans at run time."""
PAPER, STRICT = "paper", "strict"


@dataclass(frozen=True)
class Cell:
    """One column of a table."""

    name: str
    task_name: str
    parameter: str
    truth: float
    """Where the centre of mass is [m]."""
    prior_mean: float
    prior_sigma: float
    base: str = "noise_trained"
    """Policy that estimators speak to, unless told otherwise."""

    @property
    def task(self) -> Task:
        """Its contract."""
        return get_task(self.task_name)

    @property
    def prior(self) -> Prior:
        """What is believed before the first touch."""
        return Prior(self.parameter, self.prior_mean, self.prior_sigma, *self.task.parameter_ranges[self.parameter])


TOP = Cell("top", "push-t", "object/t_block/com_y", 0.061, 0.040, 0.014, PRIVILEGED)
BOTTOM = Cell("bottom", "push-t", "object/t_block/com_y", -0.0071, 0.0076, 0.0155, PRIVILEGED)
HAMMER = Cell("hammer", "push-hammer", "object/hammer/com_x", 0.060, 0.040, 0.015)
CELLS = {cell.name: cell for cell in (TOP, BOTTOM, HAMMER)}
