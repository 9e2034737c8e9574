"""`gemel train … --variant history_only,fused_memoryless,fused`: what these need besides a noise_trained policy.

`history_only` and `fused_memoryless` need encoders, trained on the frozen policy. `fused` and `prior_only` need nothing
that is trained.
"""

from collections.abc import Sequence
from pathlib import Path

from gemel.errors import ConfigError
from gemel.runtime.adapt.make import ESTIMATED

_BASE = "noise_trained"


def split_variants(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variants that are policies of their own, and those that are estimators beside one."""
    return tuple(n for n in names if n not in ESTIMATED), tuple(n for n in names if n in ESTIMATED)


def train_encoders(
    target: str, variants: Sequence[str], *, seeds: int, first_seed: int, out: Path | None, backend: str
) -> int:
    """Encoders for the policies of these seeds, beside them."""
    from gemel.commands.screen import console
    from gemel.envs import open_twin
    from gemel.project import SETTINGS
    from gemel.services.policy.twin_arena import twin_arena
    from gemel.stages.train.phase2 import Phase2Config, train_estimators

    arena = None
    if (Path(target) / SETTINGS).exists():
        opened = open_twin(target)
        arena = twin_arena(opened.twin, opened.blobs, task=opened.task, home=opened.home)
    task = arena.task.name if arena is not None else target
    folder = out or (Path(target) if arena is not None else Path()) / "policies" / task
    policies = [_policy(folder, target, seed) for seed in range(first_seed, first_seed + seeds)]
    if not {"history_only", "fused_memoryless"} & set(variants):
        console().print(f"{', '.join(variants)}: nothing to train; the policies in {folder} are all that is needed.")
        return 0
    config = Phase2Config(backend=backend, device="cuda" if backend == "warp" else "cpu")
    command = f"gemel train {task if arena is None else 'DIR'} --variant {','.join(variants)} --seeds {seeds}"
    for seed, policy in enumerate(policies, first_seed):
        path = folder / f"encoders-{seed}.safetensors"
        train_estimators(
            policy, path, seed=seed, config=config, arena=arena, command=command,
            say=lambda text: console(stderr=True).print(text),
        )  # fmt: skip
        console().print(f"Wrote {path}")
    return 0


def _policy(folder: Path, target: str, seed: int) -> Path:
    path = folder / f"{_BASE}-{seed}.safetensors"
    if not path.is_file():
        raise ConfigError(
            f"There is no {path.name} in {folder}: estimators run beside a policy that was trained on estimates.",
            remedy=f"train it first: gemel train {target} --variant {_BASE} --seeds {seed + 1}",
        )
    return path
