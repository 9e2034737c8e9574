"""Which logged joints make an arm, and where its flange is.

Unless somebody says it, arms are told by the robot's tree: joints that open and close a gripper are set aside, and what
is left is cut where the chains of logged joints branch. Joints before a branch, such as a torso's, are an arm of their
own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemel.artifacts.capture import JointSignal
from gemel.errors import ConfigError, choices_text
from gemel.services.kinematics.arm_names import arm_names
from gemel.services.kinematics.gripper_names import is_gripper
from gemel.services.kinematics.tree import KinematicTree

ALL = "all"
"""The arms together."""


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
    """The arms that `given` names by logged joints, else one for each chain of logged joints without a branch.

    `model_joints` are the robot model's joints of the logged ones, empty for those that it has not.
    """
    known = {signal.name: column for column, signal in enumerate(joints) if model_joints[column]}
    links = {column: tree.joints[tree.joint(model_joints[column])].link for column in known.values()}
    grippers = {c for c in links if _is_gripper(tree, tree.joint(model_joints[c]), joints[c].name)}
    groups = _given(given, known) if given else _by_chain(tree, links, grippers)
    return tuple(_arm(name, columns, tree, links, grippers) for name, columns in groups.items())


def _given(given: Mapping[str, Sequence[str]], known: Mapping[str, int]) -> dict[str, list[int]]:
    taken: dict[str, str] = {}
    for name, members in given.items():
        if name == ALL:
            raise ConfigError(
                f"[evaluate.arms] has an arm called {ALL!r}, which stands for all arms together.",
                remedy="give it another name",
            )
        for member in members:
            if member not in known:
                raise ConfigError(
                    f"[evaluate.arms] {name}: {choices_text(member, tuple(known))}",
                    remedy="name logged joints that the robot model has",
                )
            if member in taken:
                raise ConfigError(
                    f"[evaluate.arms] has the joint {member!r} in {taken[member]!r} and in {name!r}.",
                    remedy="name each joint once",
                )
            taken[member] = name
    return {name: [known[member] for member in members] for name, members in given.items()}


def _is_gripper(tree: KinematicTree, joint: int, logged: str) -> bool:
    """By a word in its names; else a last joint that another one follows, or one of two slides on the same link."""
    own = tree.joints[joint]
    if is_gripper(f"{logged} {own.name} {tree.links[own.link]}"):
        return True
    if not _is_last(tree, own.link):
        return False
    is_coupled = any(joint in (coupling.leader, coupling.follower) for coupling in tree.couplings)
    beside = [
        other for other in tree.joints
        if other.link != own.link and tree.parents[other.link] == tree.parents[own.link]
        and not other.is_hinge and _is_last(tree, other.link)
    ]  # fmt: skip
    return is_coupled or (not own.is_hinge and bool(beside))


def _is_last(tree: KinematicTree, link: int) -> bool:
    """Whether no joint moves anything beyond a link."""
    return not any(link in tree.ancestors(other.link)[:-1] for other in tree.joints)


def _by_chain(tree: KinematicTree, links: Mapping[int, int], grippers: set[int]) -> dict[str, list[int]]:
    """Columns of each piece of a chain between branches, by the name of the arm; grippers with what carries them."""
    moved = {link for column, link in links.items() if column not in grippers}
    before = {link: _nearest(tree, tree.ancestors(link)[:-1], moved) for link in set(links.values())}
    branches = {link: sum(before[other] == link for other in moved) for link in moved}
    groups: dict[int, list[int]] = {}
    for column, link in links.items():
        carried = before[link] if column in grippers else link
        first = link if carried is None else carried
        while (previous := before[first]) is not None and branches[previous] == 1:
            first = previous
        groups.setdefault(first, []).append(column)
    if len(groups) == 1:
        return {"arm": next(iter(groups.values()))}
    own = [[tree.links[links[c]] for c in columns if c not in grippers] for columns in groups.values()]
    roots = [tree.links[tree.ancestors(first)[0]] for first in groups]
    names = arm_names(own, roots, taken=ALL)
    return dict(zip(names, groups.values(), strict=True))


def _nearest(tree: KinematicTree, ancestors: Sequence[int], moved: set[int]) -> int | None:
    """The last of a link's ancestors that a logged joint moves."""
    return next((link for link in reversed(ancestors) if link in moved), None)


def _arm(
    name: str, columns: Sequence[int], tree: KinematicTree, links: Mapping[int, int], grippers: set[int]
) -> Arm:  # fmt: skip
    own = tuple(c for c in columns if c in grippers)
    carrying = [links[c] for c in columns if c not in grippers]
    if not carrying:
        raise ConfigError(
            f"The arm {name!r} has no joint besides its gripper.", remedy="correct [evaluate.arms] in twin.toml"
        )
    last = max(carrying, key=lambda link: len(tree.ancestors(link)))
    return Arm(name, tuple(columns), own, tree.links[last], tree.roots.index(tree.ancestors(last)[0]))
