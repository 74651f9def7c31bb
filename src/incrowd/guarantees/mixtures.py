"""How sensitive values are mixed in each crowd, and in the whole file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from incrowd.guarantees.cells import blanked
from incrowd.guarantees.cover import covering_pairs, masked
from incrowd.guarantees.crowds import count_lines, expand, row_numbers
from incrowd.guarantees.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Mixture:
    """Counts of one sensitive column's values, crowd by crowd.

    Line i says that ``n[i]`` rows of the crowd of pattern ``crowd[i]`` have value ``value[i]``.
    Values are numbered; number ``n_values`` stands for "no value": ``*`` and missing together.
    ``whole[value]`` counts the whole released file, the last entry the rows with no value.
    ``n_rows[pattern]`` are the rows that stand in a pattern themselves.
    """

    column: str
    quasi: tuple[str, ...]
    stars: str
    keys: pl.DataFrame
    n_rows: NDArray[np.int64]
    crowd: NDArray[np.int64]
    value: NDArray[np.int64]
    n: NDArray[np.int64]
    values: tuple[Any, ...]
    whole: NDArray[np.int64]

    @property
    def n_crowds(self) -> int:
        """How many patterns, and so crowds, there are."""
        return len(self.n_rows)

    @property
    def n_values(self) -> int:
        """How many different values the whole file shows."""
        return len(self.values)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which lines are about a value, not about its absence."""
        return self.value < self.n_values

    def sum_by_crowd(self, amounts: NDArray[Any], lines: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Add up amounts of the chosen lines, crowd by crowd."""
        weights = amounts[lines].astype(np.float64)
        sums = np.bincount(self.crowd[lines], weights=weights, minlength=self.n_crowds)
        return sums.astype(np.float64)

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each line's share of its crowd, and each value's share of the whole file.

        Rows with no value are one more value here.
        """
        everything = np.ones(len(self.n), dtype=np.bool_)
        size = self.sum_by_crowd(self.n, everything)
        return self.n / size[self.crowd], self.whole / max(1, self.whole.sum())


def mix(evidence: Evidence, column: str, stars: str, *, joint: bool = False) -> Mixture:
    """Count one sensitive column's values in every crowd.

    With ``joint`` the other sensitive columns are treated as quasi-identifying too; their cells
    count as they are written, whatever ``stars`` says.
    """
    others = [name for name in evidence.sensitive if joint and name != column]
    quasi = (*evidence.quasi, *others)
    lines = count_lines(evidence, quasi, stars, [column])
    shown = blanked(lines.further, ["f0"], evidence.missing_values)["f0"]
    values = shown.drop_nulls().unique().sort()
    codes = (shown.rank("dense").cast(pl.Int64) - 1).fill_null(len(values))
    whole = np.zeros(len(values) + 1, dtype=np.int64)
    np.add.at(whole, codes.to_numpy(), lines.n_rows)
    pairs = None
    if stars == "as-wildcard":
        pairs = covering_pairs(masked(lines.keys, len(evidence.quasi)))
    counts = expand(lines, pairs, codes, lines.n_rows)
    return Mixture(
        column,
        quasi,
        stars,
        lines.keys,
        lines.per_pattern(lines.n_rows),
        counts["pattern"].to_numpy().astype(np.int64),
        counts["value"].to_numpy().astype(np.int64),
        counts["n"].to_numpy().astype(np.int64),
        tuple(values.to_list()),
        whole,
    )


def exposed_by(
    evidence: Evidence, mixture: Mixture, is_exposed: NDArray[np.bool_]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return how many rows and groups are exposed, and the numbers of the first such rows."""
    figures = {
        "n_exposed": int(mixture.n_rows[is_exposed].sum()),
        "n_exposed_groups": int(is_exposed.sum()),
        "n_groups": mixture.n_crowds,
    }
    exposed = mixture.keys.filter(pl.Series(is_exposed))
    return figures, row_numbers(evidence, mixture.quasi, mixture.stars, exposed)


def company(evidence: Evidence, mixture: Mixture) -> str:
    """Say, where there are several sensitive columns, what was assumed of the others."""
    others = [repr(name) for name in evidence.sensitive if name != mixture.column]
    if not others:
        return ""
    if len(mixture.quasi) > len(evidence.quasi):
        return f" (also for somebody who knows {', '.join(others)})"
    return " (this column on its own)"
