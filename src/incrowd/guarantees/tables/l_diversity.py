"""l-diversity: the distribution of sensitive values in each group, and whether l are well
represented.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.tables.cells import blank_out
from incrowd.guarantees.tables.crowds import (
    count_lines,
    covering_pairs,
    expand,
    masked,
    row_numbers,
)

if TYPE_CHECKING:
    from incrowd.guarantees.tables.k_anonymity import KAnonymity


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
    shown = blank_out(lines.further, ["f0"], evidence.missing_values)["f0"]
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


# l-diversity: every group holds at least l well-represented sensitive values.

TOLERANCE = 1e-9
"""Entropies are floating-point numbers: one that falls short of log l by less than this is taken
to lie on the boundary, which the definition includes. Distinct and recursive are decided in whole
numbers, with no tolerance."""

FEW_VALUES = 50
ROWS_PER_VALUE = 10
"""A column of more than 50 values, on average of fewer than 10 rows, is near-continuous."""


def check(evidence: Evidence, guarantee: KAnonymity, column: str) -> list[Finding]:
    """Check one sensitive column for the guarantee's l, and warn where l means little."""
    asked = guarantee.l
    if asked is None:
        raise ValueError("no l was asked for")
    mixture = mix(evidence, column, guarantee.stars, joint=guarantee.joint)
    figures: dict[str, object] = {
        "column": column,
        "l": asked,
        "l_kind": guarantee.l_kind,
        "stars": guarantee.stars,
        "joint": guarantee.joint,
    }
    if guarantee.l_kind == "distinct":
        found = distinct_values(mixture)
        fails = found < asked
        figures["smallest_l"] = int(found.min()) if len(found) else 0
        measured = f"the fewest different values in a group are {figures['smallest_l']}"
    elif guarantee.l_kind == "entropy":
        entropies = entropies_of(mixture)
        fails = entropies < math.log(asked) - TOLERANCE
        figures["smallest_l"] = _effective(float(entropies.min())) if len(entropies) else 0.0
        measured = f"the least exp(entropy) of a group is {figures['smallest_l']:.4g}"
    else:
        figures["c"] = guarantee.c
        most, tail = most_and_tail(mixture, int(asked))
        fails = ~_is_below(most, guarantee.c, tail)
        least = least_c(most, tail)
        figures["least_c"] = least
        measured = (
            f"every c above {least:.4g} would do"
            if least is not None
            else f"some group shows fewer than {int(asked)} values, so that no c would do"
        )
    exposed, rows = exposed_by(evidence, mixture, fails)
    holds = not fails.any()
    kind = f"{guarantee.l_kind} l = {asked:g}"
    if guarantee.l_kind == "recursive":
        kind += f", c = {guarantee.c:g}"
    if holds:
        summary = f"column {column!r}: every group has {kind}; {measured}"
    else:
        summary = (
            f"column {column!r}: {exposed['n_exposed']} rows in {exposed['n_exposed_groups']} "
            f"groups lack {kind}; {measured}"
        )
    summary += company(evidence, mixture)
    finding = Finding("l-diversity", holds, summary, figures | exposed, rows)
    return [finding, *_near_continuous(mixture)]


def distinct_values(mixture: Mixture) -> NDArray[np.int64]:
    """Return how many different values each crowd shows."""
    found = np.bincount(mixture.crowd[mixture.known], minlength=mixture.n_crowds)
    return found.astype(np.int64)


def entropies_of(mixture: Mixture) -> NDArray[np.float64]:
    """Return the entropy (natural logarithm) of each crowd's values; −∞ where it shows none."""
    known = mixture.known
    size = mixture.sum_by_crowd(mixture.n, known)
    share = mixture.n[known] / size[mixture.crowd[known]]
    terms = np.zeros(len(mixture.n))
    terms[known] = -share * np.log(share)
    return np.where(size > 0, mixture.sum_by_crowd(terms, known), -np.inf)


def most_and_tail(mixture: Mixture, l: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: E741
    """Return r₁ and r_l + … + r_m of each crowd; the tail is 0 where it shows fewer values."""
    known = mixture.known
    crowd, n = mixture.crowd[known], mixture.n[known]
    order = np.lexsort((-n, crowd))
    crowd, n = crowd[order], n[order]
    n_lines = np.bincount(crowd, minlength=mixture.n_crowds)
    first_line = np.cumsum(n_lines) - n_lines
    rank = np.arange(len(n)) - first_line[crowd]
    most = np.zeros(mixture.n_crowds, dtype=np.int64)
    most[crowd[rank == 0]] = n[rank == 0]
    tail = np.zeros(mixture.n_crowds, dtype=np.int64)
    np.add.at(tail, crowd[rank >= l - 1], n[rank >= l - 1])
    return most, tail


def least_c(most: NDArray[np.int64], tail: NDArray[np.int64]) -> float | None:
    """Return the bound above which every c suffices, None where none does."""
    if len(most) == 0:
        return 0.0
    if (tail == 0).any():
        return None
    return float((most / tail).max())


def _is_below(most: NDArray[np.int64], c: float, tail: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Decide r₁ < c·tail in whole numbers: c is the fraction that its decimal digits say."""
    stated = Fraction(repr(float(c)))
    left = most.astype(object) * stated.denominator
    return np.asarray(left < tail.astype(object) * stated.numerator, dtype=np.bool_)


def _effective(entropy: float) -> float:
    return math.exp(entropy) if entropy > -math.inf else 0.0


def _near_continuous(mixture: Mixture) -> list[Finding]:
    n_known = int(mixture.whole[: mixture.n_values].sum())
    if mixture.n_values <= FEW_VALUES or n_known >= ROWS_PER_VALUE * mixture.n_values:
        return []
    return [
        Finding(
            "near-continuous",
            None,
            f"column {mixture.column!r} has {mixture.n_values} different values in {n_known} rows: "
            "different values may be almost the same, so that l means little",
            {"column": mixture.column, "n_values": mixture.n_values, "n_rows": n_known},
        )
    ]
