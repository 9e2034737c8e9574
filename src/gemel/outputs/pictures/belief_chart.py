"""What was believed of a parameter over time, with its 90 % band, against the truth where somebody knows it."""

import numpy as np
from jaxtyping import Float

from gemel.outputs.pictures.ink import draw_band, draw_line, write_text
from gemel.outputs.pictures.sheet import Picture

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 30, 40
_Z90 = 1.6448536269514722
_BAND, _MEAN, _TRUTH, _GRID = (205, 220, 240), (31, 119, 180), (214, 39, 40), (230, 230, 230)


def belief_chart(
    title: str, times_s: Float[np.ndarray, " t"], mean: Float[np.ndarray, " t"], sigma: Float[np.ndarray, " t"],
    truth: float | None, *, scale: float = 1.0, unit: str = "",
) -> Picture:  # fmt: skip
    """A chart of `scale` times the values, whose unit is then `unit`."""
    paper = np.full((_HEIGHT, _WIDTH, 3), 255, dtype=np.uint8)
    low, high = scale * (mean - _Z90 * sigma), scale * (mean + _Z90 * sigma)
    ends = [*low, *high, *([] if truth is None else [scale * truth])]
    bottom, top = min(ends), max(ends)
    margin = 0.08 * (top - bottom) + 1e-9
    bottom, top = bottom - margin, top + margin

    def row(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (values - bottom) / (top - bottom)

    x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * times_s / max(float(times_s[-1]), 1e-9)
    draw_band(paper, x, row(low), row(high), _BAND)
    digits = int(np.clip(np.ceil(-np.log10((top - bottom) / 10.0)), 0, 4))  # so that lines have different numbers
    for level in np.linspace(bottom, top, 5)[1:-1]:
        y = round(float(row(np.array([level]))[0]))
        paper[y, _LEFT : _WIDTH - _RIGHT : 4] = _GRID
        write_text(paper, f"{level:.{digits}f}", 6, y - 5)
    draw_line(paper, x, row(scale * mean), _MEAN)
    if truth is not None:
        draw_line(paper, x[[0, -1]], row(np.full(2, scale * truth)), _TRUTH)
        write_text(paper, "truth", _WIDTH - _RIGHT - 70, 10, _TRUTH)
    write_text(paper, f"{title} {unit}", _LEFT, 10, _MEAN)
    write_text(paper, f"{times_s[-1]:.0f} s", _WIDTH - _RIGHT - 50, _HEIGHT - 24)
    return paper
