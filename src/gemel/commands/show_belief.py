"""A belief as a table: every parameter with its median, its 90 % interval and where it comes from."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.commands.screen import print_table
from gemel.services.sim.drives import is_drive_parameter
from gemel.services.stats import weighted_quantiles
from gemel.store.store import Store

_SHOWN = np.array([0.05, 0.5, 0.95])
"""Ends and middle of what the tables show."""


def print_prior(store_folder: Path, address: str) -> None:
    """The prior of a project, as it lies in the store."""
    store = Store.open(store_folder)
    try:
        belief = store.get(address, Belief)
        record = json.loads(store.get_bytes(belief.record)) if belief.record is not None else {"parameters": {}}
    finally:
        store.close()
    columns = ("parameter", "median", "90 % interval", "unit", "source", "rests on")
    print_table("Prior: what is believed before anything is touched", columns, [
        (parameter.name, f"{median:.3g}", f"{low:.3g} to {high:.3g}", parameter.unit,
         f"{parameter.source.value}: {said.get('origin', '?')}", said.get("said", ""))
        for parameter, column in zip(belief.parameters, belief.samples.T, strict=True)
        for low, median, high in [weighted_quantiles(column, belief.weights, _SHOWN)]
        for said in [record["parameters"].get(parameter.name, {})]
    ])  # fmt: skip


def print_posterior(store_folder: Path, prior_address: str, address: str) -> None:
    """What motion taught, beside what was believed before."""
    store = Store.open(store_folder)
    try:
        before, after = store.get(prior_address, Belief), store.get(address, Belief)
    finally:
        store.close()
    ranges = {
        name: weighted_quantiles(before.samples[:, i], before.weights, _SHOWN) for i, name in enumerate(before.names)
    }
    columns = ("parameter", "median", "90 % interval", "before", "unit", "source", "episodes")
    rows = [
        (parameter.name, f"{median:.3g}", f"{low:.3g} to {high:.3g}",
         f"{ranges[parameter.name][0]:.3g} to {ranges[parameter.name][2]:.3g}" if parameter.name in ranges else "",
         parameter.unit, parameter.source.value, ", ".join(parameter.episodes))
        for parameter, column in zip(after.parameters, after.samples.T, strict=True)
        for low, median, high in [weighted_quantiles(column, after.weights, _SHOWN)]
    ]  # fmt: skip
    print_table("Posterior: what motion taught", columns, joined_drives(rows))


def joined_drives(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Rows of drives, `robot/JOINT/KIND`, that differ in the joint alone become one that names all joints."""
    joined: dict[tuple[str, ...], list[str]] = {}
    for name, *rest in rows:
        joint, _, kind = name.removeprefix("robot/").rpartition("/")
        key = (kind, *rest) if is_drive_parameter(name) else (name, *rest)
        joined.setdefault(key, []).append(joint)
    return [
        (f"robot/{' '.join(joints)}/{key[0]}" if "/" not in key[0] else key[0], *key[1:])
        for key, joints in joined.items()
    ]
