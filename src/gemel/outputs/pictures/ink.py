"""Lines, bands and letters on paper."""

import numpy as np
from jaxtyping import Float

from gemel.outputs.pictures.font import lettering
from gemel.outputs.pictures.sheet import Picture

Colour = tuple[int, int, int]
INK: Colour = (60, 60, 60)


def draw_line(paper: Picture, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], colour: Colour) -> None:
    """A line two pixels wide through places in pixels, by points that are closer than pixels."""
    if len(x) < 2:
        return
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    at = np.linspace(0.0, along[-1], max(2, int(2 * along[-1])))
    columns, rows = (np.interp(at, along, v).round().astype(int) for v in (x, y))
    for shift in (0, 1):
        paper[np.clip(rows + shift, 0, paper.shape[0] - 1), np.clip(columns, 0, paper.shape[1] - 1)] = colour


def draw_band(
    paper: Picture,
    x: Float[np.ndarray, " n"],
    low: Float[np.ndarray, " n"],
    high: Float[np.ndarray, " n"],
    colour: Colour,
) -> None:
    """What lies between two lines; rows grow downwards, so `low` is the lower line's."""
    for column in range(int(x[0]), int(x[-1]) + 1):
        bottom, top = (float(np.interp(column, x, v)) for v in (low, high))
        paper[max(0, round(top)) : max(0, round(bottom)) + 1, column] = colour


def write_text(paper: Picture, text: str, x: int, y: int, colour: Colour = INK) -> None:
    """Letters ten pixels high from their upper left corner on; what does not fit is cut off."""
    letters = np.kron(lettering(text), np.ones((2, 2), dtype=bool))
    y, x = max(y, 0), max(x, 0)
    room = paper[y : y + letters.shape[0], x : x + letters.shape[1]]
    room[letters[: room.shape[0], : room.shape[1]]] = colour
