"""What evaluate is handed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gemel import evaluate_wiring
from gemel.store.store import Store
from services.sim.made_twin import sample_robot


def test_the_nominal_physics_knows_what_the_robot_touches_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the `geometry` prior as `gemel run` would make it, contacts with the tool included."""
    store, told = Store(tmp_path / "store"), dict[str, Any]()

    def prior(*args: Any, **options: Any) -> tuple[str, None]:
        told.update(options, config=args[1])
        return "belief", None

    monkeypatch.setattr(evaluate_wiring, "prior", prior)
    project = SimpleNamespace(prior_config=lambda: SimpleNamespace(samples=500), settings=SimpleNamespace(seed=0))
    run = SimpleNamespace(get=lambda *_: None, project=project, store=store)
    capture = SimpleNamespace(robot=sample_robot(store))
    assert evaluate_wiring._nominal(run, capture) == "belief"  # type: ignore[arg-type]
    assert told["tools"] == ("pusher",)
    assert (told["config"].kind, told["config"].samples) == ("geometry", 500)
