"""Short pushes anywhere on an object, for learning how it moves: no policy is needed, and every side is met.

Each push starts beside the object's outline and goes towards a random point inside it, with a heading that wanders.
Where an object touches the table is not known either, so the supports are spread more or less than nominally.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.policy.arena import Arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.native import SimulatorNative

SPREADS = (0.8, 1.0, 1.2, 1.4, 1.6)
"""How far the supports lie from the middles of their boxes, against nominal."""
_STEPS = 14
_CLEARANCE_M = (0.0005, 0.02)


@dataclass(frozen=True, eq=False)
class Pushes:
    """What happened, at the start and after every control period."""

    theta: Float[np.ndarray, "n parameter"]
    """Physical parameters in SI units, in the order of the arena's belief; the spread of the supports is last."""
    poses: Float[np.ndarray, "n t 3"]
    """True x, y [m] and yaw [rad] of the object."""
    tips: Float[np.ndarray, "n t 2"]
    """True tips [m]."""


def push_about(arena: Arena, outline: Outline, *, count: int, seed: int, worlds: int = 250) -> Pushes:
    """About `count` pushes in an arena whose belief says what physics is drawn from."""
    rng = np.random.default_rng(seed)
    rounds = -(-count // (worlds * len(SPREADS)))
    found = [
        _pushes(_with_spread(arena, spread), outline, spread, worlds, rng) for spread in SPREADS for _ in range(rounds)
    ]
    return Pushes(*(np.concatenate([getattr(p, name) for p in found]) for name in ("theta", "poses", "tips")))


def _pushes(arena: Arena, outline: Outline, spread: float, count: int, rng: np.random.Generator) -> Pushes:
    still = replace(Randomisation.none(), is_physics=True, delay_s=0.04)
    ground = Playground(
        arena, SimulatorNative(arena.model, count, threads=0), randomisation=still, seed=int(rng.integers(2**31))
    )
    places, headings = _starts(outline, count, rng)
    yaw = rng.uniform(-np.pi, np.pi, count)
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, _ = arena.T_world_rest.translation
    given = {
        "object/x": np.full(count, x), "object/y": np.full(count, y), "object/yaw": yaw,
        "tip/x": x + c * places[:, 0] - s * places[:, 1], "tip/y": y + s * places[:, 0] + c * places[:, 1],
    }  # fmt: skip
    ground.reset(np.arange(count), given)
    largest = float(np.abs(arena.action_bounds).max())
    speed = rng.uniform(0.2, 1.0, count) * largest
    heading = headings + yaw
    poses, tips = [_poses(ground)], [_tips(ground)]
    for _ in range(_STEPS):
        heading = heading + 0.25 * rng.standard_normal(count)
        pace = speed * rng.uniform(0.5, 1.2, count)
        ground.step(np.clip(pace[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1), -largest, largest))
        poses.append(_poses(ground))
        tips.append(_tips(ground))
    fine = ~ground.is_diverged
    assert arena.belief is not None
    theta = np.column_stack([ground.drawn(arena.belief.names), np.full(count, spread)])
    return Pushes(theta[fine], np.stack(poses, axis=1)[fine], np.stack(tips, axis=1)[fine])


def _starts(outline: Outline, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Places beside the outline and headings into the object, in the object's frame."""
    boxes = outline.rectangles
    low, high = (boxes[:, :2] - boxes[:, 2:]).min(axis=0) - 0.04, (boxes[:, :2] + boxes[:, 2:]).max(axis=0) + 0.04
    kept = np.zeros((0, 2))
    while len(kept) < count:
        points = rng.uniform(low, high, (20 * count, 2))
        clearance = outline.clearance_m(points)
        kept = np.concatenate([kept, points[(clearance > _CLEARANCE_M[0]) & (clearance < _CLEARANCE_M[1])]])
    kept = kept[:count]
    chosen = boxes[rng.integers(len(boxes), size=count)]
    inside = chosen[:, :2] + chosen[:, 2:] * rng.uniform(-1.0, 1.0, (count, 2))
    way = inside - kept
    return kept, np.arctan2(way[:, 1], way[:, 0])


def _with_spread(arena: Arena, spread: float) -> Arena:
    """The same arena with the object's supports further apart or nearer, each about the middle of its box."""
    import copy

    model: Any = copy.copy(arena.model)
    feet = [i for i in range(model.ngeom) if model.geom(i).name.startswith("foot")]
    boxes = [i for i in range(model.ngeom) if model.geom(i).name.startswith("box")]
    for foot in feet:
        place = model.geom_pos[foot, :2]
        inside = [b for b in boxes if np.all(np.abs(place - model.geom_pos[b, :2]) <= model.geom_size[b, :2] + 1e-9)]
        middle = model.geom_pos[inside[0], :2]
        model.geom_pos[foot, :2] = middle + spread * (place - middle)
    return replace(arena, model=model)


def _poses(ground: Playground) -> Float[np.ndarray, "n 3"]:
    values = ground.values()
    return np.column_stack([values["object/x"], values["object/y"], values["object/yaw"]])


def _tips(ground: Playground) -> Float[np.ndarray, "n 2"]:
    values = ground.values()
    return np.column_stack([values["tip/x"], values["tip/y"]])
