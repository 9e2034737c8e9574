"""Learning curves as a picture: success over control steps, one line for each policy, kinds told apart by colour."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from gemel.outputs.pictures.font import HEIGHT
from gemel.outputs.pictures.ink import draw_line, write_text
from gemel.outputs.pictures.sheet import Picture

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 20, 50
_COLOURS = ((31, 119, 180), (214, 39, 40), (44, 160, 44), (148, 103, 189), (255, 127, 14), (90, 90, 90))
_GRID = (225, 225, 225)


def learning_curve(curves: Mapping[str, tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]]) -> Picture:
    """Steps and success (0 to 1; below 0 is unknown) of each policy by its name, `KIND-SEED`."""
    paper = np.full((_HEIGHT, _WIDTH, 3), 255, dtype=np.uint8)
    most = max([int(steps.max()) for steps, _ in curves.values() if len(steps)] + [1])
    for percent in range(0, 101, 25):
        y = round(float(_y(np.array([percent / 100.0]))[0]))
        paper[y, _LEFT : _WIDTH - _RIGHT] = _GRID
        write_text(paper, f"{percent} %", _LEFT - 50, y - HEIGHT)
    kinds = list(dict.fromkeys(name.rpartition("-")[0] for name in curves))
    for name, (steps, success) in curves.items():
        known = success >= 0.0
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * steps[known] / most
        colour = _COLOURS[kinds.index(name.rpartition("-")[0]) % len(_COLOURS)]
        draw_line(paper, x, _y(success[known]), colour)
    for i, kind in enumerate(kinds):
        write_text(paper, kind.replace("_", " "), _LEFT + 150 * i, _HEIGHT - 16, _COLOURS[i % len(_COLOURS)])
    write_text(paper, f"{most / 1e6:.2f} M steps", _WIDTH - _RIGHT - 120, _HEIGHT - _BOTTOM + 8)
    return paper


def _y(success: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * success
