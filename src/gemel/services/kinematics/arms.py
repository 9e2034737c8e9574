"""Which logged joints make an arm, and where its tool is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemel.artifacts.capture import JointSignal
from gemel.errors import ConfigError, choices_text
from gemel.services.kinematics.tree import KinematicTree

ALL = "all"
"""The arms together."""
_GRIPPER_WORDS = ("gripper", "finger")


@dataclass(frozen=True)
class Arm:
    """One arm: hinges and slides that carry a tool, and what opens and closes it."""

    name: str
    columns: tuple[int, ...]
    """Of the logged joints: all that are compared, gripper included."""
    grippers: tuple[int, ...]
    """Those of them that open and close the gripper."""
    link: str
    """The last link that a joint other than the gripper's moves: the flange."""
    root: int
    """Which of the robot's root links it stands on."""


def find_arms(
    tree: KinematicTree,
    model_joints: Sequence[str],
    joints: Sequence[JointSignal],
    given: Mapping[str, Sequence[str]],
) -> tuple[Arm, ...]:
    """The arms that `given` names by logged joints, else one for each root link that has logged joints.

    `model_joints` are the robot model's joints of the logged ones, empty for those that it has not.
    """
    known = {signal.name: column for column, signal in enumerate(joints) if model_joints[column]}
    if given:
        groups = {name: _columns(name, members, known) for name, members in given.items()}
    else:
        groups = _by_root(tree, model_joints, known)
    return tuple(_arm(name, columns, tree, model_joints, joints) for name, columns in groups.items())


def _columns(name: str, members: Sequence[str], known: Mapping[str, int]) -> list[int]:
    for member in members:
        if member not in known:
            raise ConfigError(
                f"[evaluate.arms] {name}: {choices_text(member, tuple(known))}",
                remedy="name logged joints that the robot model has",
            )
    return [known[member] for member in members]


def _by_root(tree: KinematicTree, model_joints: Sequence[str], known: Mapping[str, int]) -> dict[str, list[int]]:
    groups: dict[int, list[int]] = {}
    for column in known.values():
        link = tree.joints[tree.joint(model_joints[column])].link
        groups.setdefault(tree.ancestors(link)[0], []).append(column)
    if len(groups) == 1:
        return {"arm": next(iter(groups.values()))}
    return {tree.links[root].removesuffix("_base"): columns for root, columns in groups.items()}


def _arm(
    name: str,
    columns: Sequence[int],
    tree: KinematicTree,
    model_joints: Sequence[str],
    joints: Sequence[JointSignal],
) -> Arm:
    grippers = tuple(c for c in columns if any(word in joints[c].name.lower() for word in _GRIPPER_WORDS))
    links = [tree.joints[tree.joint(model_joints[c])].link for c in columns if c not in grippers]
    if not links:
        raise ConfigError(
            f"The arm {name!r} has no joint besides its gripper.", remedy="correct [evaluate.arms] in twin.toml"
        )
    last = max(links, key=lambda link: len(tree.ancestors(link)))
    return Arm(name, tuple(columns), grippers, tree.links[last], tree.roots.index(tree.ancestors(last)[0]))
