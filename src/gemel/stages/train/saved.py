"""A training that can go on after it was cut off: everything that its agents know, in one file, without pickle.

Networks, normalisers, moments of the optimiser and counters are in it; episodes that were running are not, they begin
anew. Random numbers depend on the seed and the number of the update, so a resumed training draws as it would have.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch  # noqa: TID253

from gemel.errors import ConfigError
from gemel.services.formats.tensor_file import read_tensors, write_tensors
from gemel.stages.train.ppo import Learner

FILE = "state.safetensors"
_TEXT = "gemel-training"


@dataclass(frozen=True, eq=False)
class SavedState:
    """What is in a state file beside the networks."""

    plan: dict[str, Any]
    """What is being trained; a training only goes on with the same."""
    update: int
    """Updates done."""
    curves: dict[str, Any]
    """Learning curves so far."""


def save_state(path: Path, learners: Sequence[Learner], state: SavedState) -> None:
    """Write everything at once; a kill leaves the old file or the new one."""
    arrays: dict[str, np.ndarray] = {}
    rates = []
    for i, learner in enumerate(learners):
        saved = learner.ppo.save()
        for part in ("actor", "critic"):
            for name, tensor in saved[f"{part}_state_dict"].items():
                arrays[f"{i}/{part}/{name}"] = tensor.detach().cpu().numpy()
        for index, entry in saved["optimizer_state_dict"]["state"].items():
            for name, value in entry.items():
                arrays[f"{i}/optimiser/{index}/{name}"] = torch.as_tensor(value).detach().cpu().numpy()
        rates.append(float(learner.ppo.learning_rate))
    text = {"plan": state.plan, "update": state.update, "curves": state.curves, "learning_rates": rates}
    write_tensors(path, arrays, {_TEXT: json.dumps(text)})


def load_state(path: Path, learners: Sequence[Learner], plan: dict[str, Any]) -> SavedState:
    """Put a saved state into learners that were made for the same plan."""
    arrays, text = read_tensors(path)
    if _TEXT not in text:
        raise ConfigError(f"{path} is not the state of a training.", remedy="remove it, or give another --out")
    found = json.loads(text[_TEXT])
    different = sorted(key for key in {*plan, *found["plan"]} if plan.get(key) != found["plan"].get(key))
    if different:
        said = "; ".join(f"{key} was {found['plan'].get(key)} and is {plan.get(key)}" for key in different)
        raise ConfigError(
            f"{path.parent} holds a training that was cut off, of something else: {said}.",
            remedy="give the same settings to go on with it, another --out, or remove that folder",
        )
    for i, learner in enumerate(learners):
        parts = {part: _tensors(arrays, f"{i}/{part}/") for part in ("actor", "critic")}
        optimiser = learner.ppo.optimizer.state_dict()
        moments: dict[int, dict[str, Any]] = {}
        for name, tensor in _tensors(arrays, f"{i}/optimiser/").items():
            index, _, kind = name.partition("/")
            moments.setdefault(int(index), {})[kind] = tensor
        for group in optimiser["param_groups"]:
            group["lr"] = found["learning_rates"][i]
        state = {"state": moments, "param_groups": optimiser["param_groups"]}
        learner.ppo.load(
            {"actor_state_dict": parts["actor"], "critic_state_dict": parts["critic"], "optimizer_state_dict": state},
            None,
            strict=True,
        )
    return SavedState(found["plan"], int(found["update"]), found["curves"])


def _tensors(arrays: dict[str, np.ndarray], start: str) -> dict[str, Any]:
    return {name.removeprefix(start): torch.from_numpy(a) for name, a in arrays.items() if name.startswith(start)}
