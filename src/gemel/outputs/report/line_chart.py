"""Line charts with bands as inline SVG: colours from the page's style sheet, and a text for screen readers."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Float

_WIDTH, _HEIGHT = 340, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 22, 30
_TICKS = 4


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a chart, with a band where there is one."""

    label: str
    """Also the class of its style: `posterior`, `prior`, `nominal`, …"""
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"] | None = None
    high: Float[np.ndarray, " n"] | None = None


def line_chart(title: str, lines: Sequence[Line], *, x_label: str, y_label: str, bound: float | None = None) -> str:
    """An SVG element from x = 0 and y = 0 on; `bound` draws a dashed level."""
    x_high = max(1e-9, *(float(line.x.max()) for line in lines))
    y_high = _top(lines, bound)
    across = (_WIDTH - _LEFT - _RIGHT) / x_high
    up = (_HEIGHT - _TOP - _BOTTOM) / y_high

    def points(x: np.ndarray, y: np.ndarray) -> str:
        place = zip(_LEFT + across * np.maximum(x, 0.0), _HEIGHT - _BOTTOM - up * np.minimum(y, y_high), strict=True)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in place)

    said = "; ".join(f"{line.label} ends at {line.y[-1]:.3g}, at most {line.y.max():.3g}" for line in lines)
    parts = [
        f'<svg role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" class="chart">',
        f"<title>{escape(f'{title}. {y_label} over {x_label}: {said}.')}</title>",
        f'<text x="{_LEFT}" y="14" class="name">{escape(title)}</text>',
        *_axes(x_high, y_high, x_label, y_label),
    ]
    for line in lines:
        if line.low is not None and line.high is not None:
            outline = points(np.concatenate([line.x, line.x[::-1]]), np.concatenate([line.high, line.low[::-1]]))
            parts.append(f'<polygon class="band {escape(line.label)}" points="{outline}"/>')
    if bound is not None:
        level = np.array([bound, bound])
        parts.append(f'<polyline class="bound" points="{points(np.array([0.0, x_high]), level)}"/>')
    parts += [
        f'<polyline class="line {escape(line.label)}" points="{points(line.x, line.y)}"/>' for line in lines
    ]  # fmt: skip
    return "".join([*parts, "</svg>"])


def _top(lines: Sequence[Line], bound: float | None) -> float:
    """Upper end of the vertical axis: a round number above all means, bands cut off at twice that."""
    means = max(float(line.y.max()) for line in lines)
    bands = max((float(line.high.max()) for line in lines if line.high is not None), default=0.0)
    wanted = max(means, min(bands, 2.0 * means), 1.2 * (bound or 0.0), 1e-9)
    return _round_up(wanted)


def _round_up(value: float) -> float:
    """The next number up whose quarters are short to write."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = (1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0)
    return float(next(n * power for n in steps if n * power >= value * 0.9999))


def _axes(x_high: float, y_high: float, x_label: str, y_label: str) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [f'<path class="axis" d="M{_LEFT},{_TOP} V{bottom} H{right}"/>']
    for share in np.linspace(0.0, 1.0, _TICKS + 1):
        y = bottom - share * (bottom - _TOP)
        parts.append(f'<path class="grid" d="M{_LEFT},{y:.1f} H{right}"/>')
        parts.append(f'<text x="{_LEFT - 4}" y="{y + 3:.1f}" class="tick end">{share * y_high:.3g}</text>')
    step = _round_up(x_high / 8.0)
    for value in np.arange(0.0, x_high + 1e-9, step):
        x = _LEFT + value / x_high * (right - _LEFT)
        parts.append(f'<text x="{x:.1f}" y="{bottom + 12}" class="tick middle">{value:.3g}</text>')
    parts.append(f'<text x="{right}" y="{_HEIGHT - 5}" class="tick end">{escape(x_label)}</text>')
    parts.append(f'<text x="{right}" y="14" class="tick end">{escape(y_label)}</text>')
    return parts
