"""Where trained networks are looked for, and what to do when one is missing."""

from pathlib import Path

import gemel
from gemel.benchmarks.adapt.cells import WITH_ENCODERS
from gemel.errors import ConfigError
from gemel.runtime.adapt.make import ESTIMATED

SHIPPED = Path(gemel.__file__).parent / "samples" / "policies"


def network_files(folder: Path, task: str, variant: str, seed: int, base: str = "noise_trained") -> list[Path]:
    """All networks of a variant."""
    acts = policy_file(folder, task, variant, seed, base)
    return [acts, encoders_file(folder, task, seed)] if variant in WITH_ENCODERS else [acts]


def policy_file(folder: Path, task: str, variant: str, seed: int, base: str = "noise_trained") -> Path:
    """The network that acts in a variant."""
    name = base if variant in ESTIMATED else variant
    return _found(folder / task / f"{name}-{seed}.safetensors", task, name, seed)


def encoders_file(folder: Path, task: str, seed: int) -> Path:
    """The encoders that were trained on the noise_trained policy of a seed."""
    return _found(folder / task / f"encoders-{seed}.safetensors", task, "history_only", seed)


def _found(path: Path, task: str, variant: str, seed: int) -> Path:
    if not path.is_file():
        raise ConfigError(
            f"There is no {path.name} in {path.parent}.",
            remedy=f"train it: gemel train {task} --variant {variant} --seeds {seed + 1} --out {path.parent}",
        )
    return path
