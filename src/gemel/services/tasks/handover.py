"""handover: the left arm picks a cube, the right arm takes it over and puts it down.

Events follow the pick, pass and place task of the bimanual digital-twin study: home to home, in this order.
"""

from gemel.artifacts.task import Criterion, Quantity, Task

ARM_JOINTS = ("joint_0", "joint_1", "joint_2", "joint_3", "joint_4", "joint_5")
HANDOVER_JOINTS = tuple(f"{side}_{name}" for side in ("left", "right") for name in (*ARM_JOINTS, "gripper"))
"""Twelve hinges [rad] and two gripper openings (finger travel, 0 to 0.044 [m]), in the order of the log."""

HANDOVER = Task(
    name="handover",
    instruction="pick the cube with the left arm, hand it to the right arm and place it on the mat",
    control_period_s=0.1,
    time_limit_s=18.0,
    observation=(Quantity("joints", 14, "rad or m", -3.15, 3.15),),
    action=(Quantity("joints", 14, "rad or m", -3.15, 3.15),),
    goal={"object/x": 0.0, "object/y": -0.22},
    success=(Criterion("object/position_error", "m", 0.05),),
    failure=(Criterion("object/height_below_table", "m", 0.02),),
    reward_weights={"grasp": 0.25, "lift": 0.25, "pass": 0.25, "place": 0.25},
    events=("home", "grasp", "lift", "align", "pass", "release", "place", "home"),
    initial_conditions={"object/x": (-0.04, 0.04), "object/y": (0.18, 0.24), "object/yaw": (-0.3, 0.3)},
    objects=("cube",),
    parameter_ranges={
        "object/cube/mass": (0.06, 0.10),
        "contact/cube-table/friction": (0.4, 0.9),
        "contact/cube-gripper/friction": (0.7, 1.1),
    },
)
