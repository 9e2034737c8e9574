"""push-t: push a T-shaped block into the outline drawn on the table.

After Phys2Real (arXiv 2510.11689) and its prototype figures: displacements of at most 2 cm per 0.1 s, a centre of mass
anywhere between -3.5 and +7.5 cm along the stem, friction between 0.3 and 0.7.
"""

import math

from gemel.artifacts.task import Criterion, Quantity, Task

PUSH_ACTION = (Quantity("tip_x", 1, "m", -0.02, 0.02), Quantity("tip_y", 1, "m", -0.02, 0.02))
PUSH_OBSERVATION = (
    Quantity("object/x", 1, "m", 0.1, 0.8),
    Quantity("object/y", 1, "m", -0.5, 0.5),
    Quantity("object/yaw", 1, "rad", -math.pi, math.pi),
    Quantity("tip/x", 1, "m", 0.1, 0.8),
    Quantity("tip/y", 1, "m", -0.5, 0.5),
)
PUSH_REWARD = {"reach": 0.1, "position": 0.3, "yaw": 0.6, "fine": 1.6, "inside": 0.6, "action_rate": -0.001}
PUSH_EVENTS = ("approach", "contact", "near", "inside")

PUSH_T = Task(
    name="push-t",
    instruction="push the T-shaped block into the outline on the table",
    control_period_s=0.1,
    time_limit_s=12.0,
    observation=PUSH_OBSERVATION,
    action=PUSH_ACTION,
    goal={"object/x": 0.47, "object/y": -0.12, "object/yaw": 0.0},
    success=(
        Criterion("object/position_error", "m", 0.03),
        Criterion("object/yaw_error", "rad", math.radians(20.0)),
    ),
    failure=(Criterion("object/distance_from_base", "m", 0.85),),
    reward_weights=PUSH_REWARD,
    events=PUSH_EVENTS,
    initial_conditions={
        "object/x": (0.36, 0.52),
        "object/y": (0.0, 0.13),
        "object/yaw": (-math.pi, math.pi),
        "tip/x": (0.34, 0.48),
        "tip/y": (0.305, 0.345),
    },
    objects=("t_block",),
    parameter_ranges={
        "object/t_block/com_y": (-0.035, 0.075),
        "object/t_block/mass": (0.33, 0.36),
        "contact/t_block-table/friction": (0.3, 0.7),
        "contact/t_block-pusher/friction": (0.2, 0.4),
    },
)
