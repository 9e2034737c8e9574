"""What is of a robot's grippers, and what each is called: `gripper`, or `left_gripper` and so on where there are more.

Everything whose geom or link is called like one (`kinematics/gripper_names.py`) is of a gripper. Those that hang on the
same link, other parts of grippers left out, are one gripper: the fingers of a hand, and its palm.
"""

import re
from collections.abc import Mapping
from typing import Any

from gemel.services.kinematics.gripper_names import is_gripper

GRIPPER = "gripper"


def gripper_labels(geoms: list[Any]) -> dict[str, str]:
    """Label of the gripper on each link, by link; `geoms` are those of grippers, of a `mujoco.MjSpec`."""
    holders = {geom.parent.name for geom in geoms}
    carriers = {geom.parent.name: _carrier(geom.parent, holders) for geom in geoms}
    return _labelled(carriers)


def _carrier(link: Any, holders: set[str]) -> str:
    """The link that a gripper hangs on."""
    link = link.parent
    while link.parent is not None and (link.name in holders or is_gripper(link.name)):
        link = link.parent
    return str(link.name)


def _labelled(carriers: Mapping[str, str]) -> dict[str, str]:
    names = sorted(set(carriers.values()))
    if len(names) < 2:
        return dict.fromkeys(carriers, GRIPPER)
    words = {name: re.split(r"[_/.-]+", name) for name in names}
    shared = set.intersection(*(set(each) for each in words.values()))
    # `left` of `follower_left_link_6` beside `follower_right_link_6`; the whole name where that leaves nothing.
    short = {name: "_".join(word for word in each if word not in shared) for name, each in words.items()}
    is_clear = all(short.values()) and len(set(short.values())) == len(names)
    arms = short if is_clear else {name: name.replace("/", "_") for name in names}
    return {link: f"{arms[carrier]}_{GRIPPER}" for link, carrier in carriers.items()}
