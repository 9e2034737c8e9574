"""scan: look at an object at rest from all sides that the arm can reach."""

import math

from gemel.artifacts.task import Criterion, Quantity, Task

SCAN = Task(
    name="scan",
    instruction="scan the object with the wrist camera",
    control_period_s=0.1,
    time_limit_s=9.0,
    observation=(Quantity("joints", 6, "rad", -math.pi, math.pi),),
    action=(Quantity("joints", 6, "rad", -math.pi, math.pi),),
    goal={"views": 26.0, "azimuth_range": math.radians(270.0)},
    success=(Criterion("object/displacement", "m", 0.001),),
    failure=(),
    reward_weights={},
    events=("first view", "last view"),
    initial_conditions={
        "object/x": (0.38, 0.40),
        "object/y": (-0.01, 0.01),
        "object/yaw": (-math.pi, math.pi),
    },
    objects=("t_block", "hammer", "cube", "big_cube", "mug", "ring", "bracket"),
    parameter_ranges={},
)
