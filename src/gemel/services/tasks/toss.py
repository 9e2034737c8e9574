"""toss: a cube is thrown on a board and tumbles to rest; the arm only watches.

After the ContactNets tosses (Pfrommer, Halm and Posa 2020): speeds of about 1 m/s, a few turns per second.
"""

import math

from gemel.artifacts.task import Criterion, Quantity, Task

TOSS = Task(
    name="toss",
    instruction="watch the cube that is thrown on the board",
    control_period_s=1.0 / 30.0,
    time_limit_s=1.6,
    observation=(Quantity("joints", 6, "rad", -math.pi, math.pi),),
    action=(Quantity("joints", 6, "rad", -math.pi, math.pi),),
    goal={},
    success=(Criterion("object/speed", "m/s", 0.02),),
    failure=(Criterion("object/distance_from_base", "m", 1.2),),
    reward_weights={},
    events=("release", "impact", "rest"),
    initial_conditions={
        "object/x": (0.40, 0.52),
        "object/y": (-0.08, 0.08),
        "object/z": (0.22, 0.34),
        "object/velocity_x": (-0.4, 0.4),
        "object/velocity_y": (-0.8, 0.8),
        "object/velocity_z": (-0.6, 0.4),
        "object/spin_x": (-6.0, 6.0),
        "object/spin_y": (-6.0, 6.0),
        "object/spin_z": (-4.0, 4.0),
    },
    objects=("big_cube",),
    parameter_ranges={
        "object/big_cube/mass": (0.33, 0.41),
        "contact/big_cube-board/friction": (0.12, 0.35),
    },
)
