"""How likely residuals are when neither the noise level nor its correlation in time is known.

Residuals of one group share a level: their covariance is `level² D ((1 - part) I + part K) D`, where D holds the
relative scales and K correlates entries of one series over a length in time, `exp(-|dt| / length)`. The level has a
scaled inverse chi-square prior around one with few degrees of freedom and is integrated out exactly, which leaves a
Student t; part and length are summed over a grid. So five hundred samples of a slow drift do not count as five
hundred, and a model that cannot follow the data gets a wide posterior, not a narrow wrong one.

Where a model is known to lack something (a table whose friction differs from place to place), no stationary correlation
describes what it misses. The layout then names blocks, and `block_noise.py` says how likely they are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import ConfigError
from gemel.services.inference.block_noise import BlockNoise

_PARTS = (0.5, 0.9, 0.98)
_LENGTHS = (2.0, 8.0, 32.0)
"""Correlation lengths, in steps of a typical series."""
_HUBER = 3.5


@dataclass(frozen=True, eq=False)
class NoiseLayout:
    """Which residual belongs where. Nothing here is a noise level: that is inferred."""

    group: Int[np.ndarray, " m"]
    """Residuals of one group share a noise level; groups are counted from 0."""
    scale: Float[np.ndarray, " m"]
    """Expected standard deviation, in the unit of the observation; within a group only ratios matter much."""
    series: Int[np.ndarray, " m"]
    """Residuals of one series follow each other in time and may be correlated; all of one group."""
    times_s: Float[np.ndarray, " m"]
    """When [s]; only differences within a series matter."""
    names: tuple[str, ...]
    """Of the groups, for people."""
    block: Int[np.ndarray, " m"] | None = None
    """Residuals of one block (a push, an episode) may all be wrong together, in ways that no correlation in time
    describes. With blocks, a group counts as few independent residuals per block, whatever the rate of the data."""
    block_worth: float = 1.0
    """How many independent residuals a group counts as in each block."""
    block_freedom: float = 4.0
    """Degrees of freedom of Student's distribution over blocks."""
    level_dof: float = 2.0
    """How many residuals the belief that `scale` is right is worth."""

    def __post_init__(self) -> None:
        sizes = {len(self.group), len(self.scale), len(self.series), len(self.times_s)}
        if len(sizes) != 1 or len(self.group) == 0:
            raise ConfigError(
                f"The noise layout has arrays of lengths {sorted(sizes)}; one entry per residual was expected.",
                remedy="give group, scale, series and time for each observed value",
            )
        if not (np.all(self.scale > 0.0) and np.all(np.isfinite(self.scale))):
            raise ConfigError("A residual's scale is zero, negative or not finite.", remedy="give positive scales")

    @staticmethod
    def white(scale: Float[np.ndarray, " m"], *, name: str = "data") -> "NoiseLayout":
        """One group of independent residuals."""
        count = len(scale)
        zero = np.zeros(count, dtype=np.int64)
        return NoiseLayout(zero, scale, np.arange(count), np.zeros(count), (name,))

    def with_error(self, error: Float[np.ndarray, " m"], levels: "tuple[NoiseLevel, ...]") -> "NoiseLayout":
        """The layout for predictions that are themselves off by so much (root mean square), at known noise levels."""
        level = np.array([found.level for found in levels])[self.group]
        return replace(self, scale=np.sqrt(self.scale**2 + (error / level) ** 2))

    def downweighted(self, residuals: Float[np.ndarray, " m"]) -> "NoiseLayout":
        """The layout with larger scales for outliers of the best fit, so that each counts as Huber's loss would."""
        factor = np.ones(len(self.scale))
        for group in range(len(self.names)):
            at = self.group == group
            relative = np.abs(residuals[at]) / self.scale[at]
            level = 1.4826 * np.median(relative) if at.any() else 1.0
            factor[at] = np.sqrt(np.maximum(relative / max(_HUBER * level, 1e-12), 1.0))
        return replace(self, scale=self.scale * factor)


@dataclass(frozen=True)
class Correlation:
    """One assumption about how residuals of a series hang together."""

    part: float
    length_s: float


@dataclass(frozen=True, eq=False)
class NoiseLevel:
    """What the residuals themselves say about the noise of one group."""

    name: str
    level: float
    """Standard deviation over the layout's scale."""
    part: float
    """Share of the variance that is correlated in time."""
    length_s: float
    count: int
    effective_count: float
    """How many independent residuals the group is worth."""


class NoiseModel:
    """The likelihood of residuals with level and correlation integrated out."""

    def __init__(self, layout: NoiseLayout) -> None:
        self.layout = layout
        self.groups = [np.flatnonzero(layout.group == g) for g in range(len(layout.names))]
        self._grids = [self._grid(entries) for entries in self.groups]
        self._blocks = [self._block_noise(entries) for entries in self.groups] if layout.block is not None else None
        self._log_determinants = [
            [self._log_determinant(g, cell) for cell in range(len(grid))] for g, grid in enumerate(self._grids)
        ]

    def grams(self, columns: Float[np.ndarray, "m k"]) -> list[list[Float[np.ndarray, "k k"]]]:
        """Whitened inner products of columns (residuals and directions of change), per group and correlation.

        Per group and block where the layout has blocks, each over its number of residuals; likewise in `squares`.
        """
        if self._blocks is not None:
            scaled = columns / self.layout.scale[:, None]
            return [[scaled[at].T @ scaled[at] / len(at) for at in of_group] for of_group in self._block_entries]
        return [
            [white.T @ white for white in (self._whiten(g, c, columns) for c in range(len(self._grids[g])))]
            for g in range(len(self.groups))
        ]

    def log_likelihood(self, squares: list[list[Float[np.ndarray, " n"]]]) -> Float[np.ndarray, " n"]:
        """Log likelihood of n sets of residuals from their whitened sums of squares, per group and correlation."""
        if self._blocks is not None:
            parts = (
                noise.log_likelihood(np.stack(of_group)) for noise, of_group in zip(self._blocks, squares, strict=True)
            )
            return sum(parts, np.zeros(1))
        return sum((self._cells(g, of_group)[0] for g, of_group in enumerate(squares)), np.zeros(1))

    def squares(self, residuals: Float[np.ndarray, "n m"]) -> list[list[Float[np.ndarray, " n"]]]:
        """Whitened sums of squares of n sets of residuals."""
        if self._blocks is not None:
            scaled = (residuals / self.layout.scale) ** 2
            return [[scaled[:, at].mean(axis=1) for at in of_group] for of_group in self._block_entries]
        return [
            [np.sum(self._whiten(g, c, residuals.T) ** 2, axis=0) for c in range(len(self._grids[g]))]
            for g in range(len(self.groups))
        ]

    def levels(self, residuals: Float[np.ndarray, " m"]) -> tuple[NoiseLevel, ...]:
        """What one set of residuals, of a good fit, says about the noise."""
        found = []
        for g, of_group in enumerate(self.squares(residuals[None])):
            if self._blocks is not None:
                level, worth = self._blocks[g].level(np.concatenate(of_group))
                count = len(self.groups[g])
                found.append(NoiseLevel(self.layout.names[g], level, 1.0 - worth / count, 1.0, count, worth))
                continue
            weights = self._cells(g, of_group)[1][:, 0]
            count, dof = len(self.groups[g]), self.layout.level_dof
            variances = np.array([(dof + s[0]) / (dof + count) for s in of_group])
            grid = self._grids[g]
            found.append(NoiseLevel(
                name=self.layout.names[g],
                level=float(np.sqrt(weights @ variances)),
                part=float(weights @ [c.part for c in grid]),
                length_s=float(weights @ [c.length_s for c in grid]),
                count=count,
                effective_count=float(weights @ [self._worth(g, c) for c in range(len(grid))]),
            ))  # fmt: skip
        return tuple(found)

    def draw(self, group: int, rng: np.random.Generator) -> Float[np.ndarray, " m"]:
        """Noise of one group drawn from this model's own prior, level and correlation included."""
        entries = self.groups[group]
        cell = rng.choice(len(self._grids[group]), p=np.exp(self._log_prior(group)))
        level = np.sqrt(self.layout.level_dof / rng.chisquare(self.layout.level_dof))
        white = rng.standard_normal(len(entries))
        coloured = np.concatenate([
            self._factor(group, cell, at) @ white[at] for at in self._series[group]
        ]) if len(entries) else white  # fmt: skip
        noise = np.empty(len(entries))
        noise[np.concatenate(self._series[group])] = coloured
        return np.asarray(level * self.layout.scale[entries] * noise)

    def _cells(self, group: int, squares: list[Float[np.ndarray, " n"]]) -> tuple[np.ndarray, np.ndarray]:
        """Log likelihood summed over correlations, and each correlation's share of it."""
        dof, count = self.layout.level_dof, len(self.groups[group])
        stacked = np.stack([
            prior - 0.5 * self._log_determinants[group][cell] - 0.5 * (dof + count) * np.log(dof + s)
            for cell, (prior, s) in enumerate(zip(self._log_prior(group), squares, strict=True))
        ])  # fmt: skip
        top = stacked.max(axis=0)
        shares = np.exp(stacked - top)
        return top + np.log(shares.sum(axis=0)), shares / shares.sum(axis=0)

    @cached_property
    def _block_entries(self) -> list[list[Int[np.ndarray, " e"]]]:
        """Residuals of each group's blocks."""
        block = self.layout.block
        assert block is not None
        return [[entries[block[entries] == b] for b in np.unique(block[entries])] for entries in self.groups]

    def _block_noise(self, entries: Int[np.ndarray, " e"]) -> BlockNoise:
        block = self.layout.block
        assert block is not None
        _, sizes = np.unique(block[entries], return_counts=True)
        counts = np.minimum(sizes.astype(float), self.layout.block_worth)
        return BlockNoise(counts, self.layout.block_freedom, self.layout.level_dof)

    def _grid(self, entries: Int[np.ndarray, " e"]) -> tuple[Correlation, ...]:
        """White noise, and slow noise of several parts and lengths where series are long enough to tell."""
        if self.layout.block is not None:
            return (Correlation(0.0, 1.0),)
        steps = [np.diff(self.layout.times_s[entries[at]]) for at in self._split(entries)]
        gaps = np.concatenate(steps) if steps else np.zeros(0)
        if len(gaps) == 0 or not np.any(gaps > 0.0):
            return (Correlation(0.0, 1.0),)
        step_s = float(np.median(gaps[gaps > 0.0]))
        longest = max(len(s) for s in steps) + 1
        lengths = [n * step_s for n in _LENGTHS if n <= longest] or [_LENGTHS[0] * step_s]
        return (Correlation(0.0, step_s), *(Correlation(part, length) for part in _PARTS for length in lengths))

    def _log_prior(self, group: int) -> Float[np.ndarray, " cell"]:
        """A quarter for white noise, the rest even over the grid."""
        others = len(self._grids[group]) - 1
        return np.log([0.25 if others else 1.0, *([0.75 / others] * others if others else [])])

    def _split(self, entries: Int[np.ndarray, " e"]) -> list[Int[np.ndarray, " s"]]:
        """Positions within the group of each of its series."""
        series = self.layout.series[entries]
        order = np.argsort(series, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(series[order])) + 1)

    @cached_property
    def _series(self) -> list[list[Int[np.ndarray, " s"]]]:
        return [self._split(entries) for entries in self.groups]

    @cached_property
    def _factors(self) -> dict[tuple[int, int, bytes], Float[np.ndarray, "s s"]]:
        return {}

    def _factor(self, group: int, cell: int, at: Int[np.ndarray, " s"]) -> Float[np.ndarray, "s s"]:
        """Lower Cholesky factor of the correlation of one series; series with equal times share it."""
        times = np.round(self.layout.times_s[self.groups[group][at]], 6)
        times = times - times[0]
        key = (group, cell, times.tobytes())
        if key not in self._factors:
            c = self._grids[group][cell]
            kernel = np.exp(-np.abs(times[:, None] - times[None, :]) / c.length_s)
            self._factors[key] = np.linalg.cholesky((1.0 - c.part) * np.eye(len(times)) + c.part * kernel)
        return self._factors[key]

    def _whiten(self, group: int, cell: int, columns: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "e k"]:
        from scipy.linalg import solve_triangular

        entries = self.groups[group]
        scaled = columns[entries] / self.layout.scale[entries, None]
        if self._grids[group][cell].part == 0.0:
            return scaled
        parts = [
            solve_triangular(self._factor(group, cell, at), scaled[at], lower=True, check_finite=False)
            for at in self._series[group]
        ]
        return np.concatenate(parts)

    def _log_determinant(self, group: int, cell: int) -> float:
        return float(sum(
            2.0 * np.log(np.diag(self._factor(group, cell, at))).sum() for at in self._series[group]
        ))  # fmt: skip

    def _worth(self, group: int, cell: int) -> float:
        """Independent residuals that tell as much about a constant as the group's do."""
        ones = np.ones((len(self.layout.group), 1))
        scaled = ones * self.layout.scale[:, None]
        return float(np.sum(self._whiten(group, cell, scaled) ** 2))
