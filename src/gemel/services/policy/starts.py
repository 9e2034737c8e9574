"""Values that episodes are asked to start from, checked before anything is moved."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError


def checked_starts(given: Mapping[str, Any], count: int) -> dict[str, Float[np.ndarray, " n"]]:
    """One finite number for each of so many episodes by name, from one for all or one for each."""
    return {name: _checked(name, value, count) for name, value in given.items()}


def _checked(name: str, value: Any, count: int) -> Float[np.ndarray, " n"]:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape not in ((), (1,), (count,)) or not np.isfinite(numbers).all():
        expected = "a finite number" if count == 1 else f"a finite number, or one for each of {count} episodes,"
        raise ConfigError(
            f"{name} at the start is {value!r}; {expected} was expected.", remedy="give metres or radians"
        )
    return np.broadcast_to(numbers, (count,))
