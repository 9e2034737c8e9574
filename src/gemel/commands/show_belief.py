"""A belief as a table: every parameter with its median, its 90 % interval and where it comes from."""

import json
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.commands.screen import print_table
from gemel.store.store import Store


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
        for low, median, high in [weighted_quantiles(column, belief.weights)]
        for said in [record["parameters"].get(parameter.name, {})]
    ])  # fmt: skip


def weighted_quantiles(values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> tuple[float, float, float]:
    """The 5 %, 50 % and 95 % points of weighted samples."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) - 0.5 * weights[order]
    low, median, high = np.interp([0.05, 0.5, 0.95], reached, values[order])
    return float(low), float(median), float(high)
