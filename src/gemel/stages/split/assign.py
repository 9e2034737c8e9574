"""Roles for groups: drawn with a seed, stratified by task, whole groups only."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from gemel.artifacts.split import Role


def draw_roles(
    group_from_episode: Mapping[str, int],
    task_from_episode: Mapping[str, str],
    part_from_role: Mapping[Role, float],
    rng: np.random.Generator,
) -> dict[str, Role]:
    """A role for every episode; each task gets its own holdout and validation where it has groups enough."""
    members: dict[int, list[str]] = defaultdict(list)
    for episode, group in group_from_episode.items():
        members[group].append(episode)
    groups_of_task: dict[str, list[int]] = defaultdict(list)
    for group, episodes in members.items():
        task = Counter(task_from_episode[e] for e in episodes).most_common(1)[0][0]
        groups_of_task[task].append(group)
    role_from_group: dict[int, Role] = {}
    for task in sorted(groups_of_task):
        sizes = {group: len(members[group]) for group in groups_of_task[task]}
        role_from_group |= _draw_task(sizes, part_from_role, rng)
    return {episode: role_from_group[group] for episode, group in group_from_episode.items()}


def _draw_task(
    size_from_group: Mapping[int, int], part_from_role: Mapping[Role, float], rng: np.random.Generator
) -> dict[int, Role]:
    """Small groups first fill holdout and validation; the rest goes where most is missing."""
    groups = [sorted(size_from_group)[i] for i in rng.permutation(len(size_from_group))]
    groups.sort(key=lambda group: size_from_group[group])
    total = sum(size_from_group.values())
    wanted = {role: part * total for role, part in part_from_role.items()}
    first = [role for role in (Role.HOLDOUT, Role.VALIDATION) if wanted[role] > 0]
    roles: dict[int, Role] = {}
    for i, group in enumerate(groups):
        if i < len(first) and i < len(groups) - 1:
            role = first[i]
        else:
            role = max(wanted, key=lambda r: wanted[r])
        roles[group] = role
        wanted[role] -= size_from_group[group]
    return roles
