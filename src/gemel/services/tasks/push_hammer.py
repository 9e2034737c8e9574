"""push-hammer: the pushing task with an off-centre hammer, as the second object of Phys2Real (arXiv 2510.11689)."""

from dataclasses import replace

from gemel.services.tasks.push_t import PUSH_T

PUSH_HAMMER = replace(
    PUSH_T,
    name="push-hammer",
    instruction="push the hammer into the outline on the table",
    goal={"object/x": 0.44, "object/y": -0.12, "object/yaw": 0.0},
    objects=("hammer",),
    parameter_ranges={
        "object/hammer/com_x": (0.03, 0.09),
        "object/hammer/mass": (0.55, 0.70),
        "contact/hammer-table/friction": (0.25, 0.6),
        "contact/hammer-pusher/friction": (0.2, 0.4),
    },
)
