"""Rows with stars, read as wildcards: which rows surely, and which possibly, stand with which.

A row *covers* another if in every column it shows nothing, or shows what the other shows: whoever
knows the other's released cells cannot rule it out. Two rows *unify* if no column shows a
different value in each. Covering implies unifying, not the other way round.

Everything works on distinct patterns of codes, where a null shows nothing. For one set of blank
columns (a mask) the patterns that have it are looked up by the columns they do show, so that the
cost is masks × patterns look-ups, never patterns².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from incrowd.errors import InputError

MOST_LOOKUPS = 500_000_000
"""Masks × patterns above which sure crowds are not counted: "could not check"."""

MOST_PAIRS = 40_000_000
"""Pairs (covered, covering) above which they are not kept: "could not check"."""

MOST_MASK_PAIRS = 4_096
"""Pairs of masks above which possible crowds, which only inform, are left out."""

MOST_POSSIBLE_LOOKUPS = 50_000_000
"""Masks × patterns above which possible crowds are left out."""

PATTERN, OTHER, N_ROWS = "pattern", "other", "n_rows"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pattern ``covering[pair]`` covers pattern ``covered[pair]``; every pattern covers itself."""

    covered: NDArray[np.int64]
    covering: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Masked:
    """Distinct patterns as codes, grouped by which columns show nothing."""

    codes: pl.DataFrame
    masks: NDArray[np.bool_]
    mask_of_pattern: NDArray[np.int64]

    @property
    def n_masks(self) -> int:
        """How many different sets of blank columns there are."""
        return int(self.masks.shape[0])

    def shown(self, mask: NDArray[np.bool_]) -> list[str]:
        """Return the columns that are not blank in a mask."""
        return [self.codes.columns[place] for place in np.flatnonzero(~mask)]


def masked(keys: pl.DataFrame, n_wild: int) -> Masked:
    """Code the patterns; a null in the first ``n_wild`` columns is blank, elsewhere a value."""
    codes = keys.select(
        pl.col(name).rank("dense") if place < n_wild else pl.col(name).rank("dense").fill_null(0)
        for place, name in enumerate(keys.columns)
    )
    blank = np.column_stack([codes[name].is_null().to_numpy() for name in codes.columns])
    masks, mask_of_pattern = np.unique(blank, axis=0, return_inverse=True)
    return Masked(codes, masks, mask_of_pattern.reshape(-1).astype(np.int64))


def covering_pairs(patterns: Masked) -> Pairs:
    """Return all pairs of patterns of which the second covers the first.

    A pattern covers only what shows at least the columns it shows, and for one mask at most one
    pattern covers a given one: the one that is equal on the mask's shown columns.
    """
    n_patterns = patterns.codes.height
    if patterns.n_masks * n_patterns > MOST_LOOKUPS:
        raise _too_many(patterns)
    numbered = patterns.codes.with_columns(pl.Series(PATTERN, np.arange(n_patterns)))
    covered, covering, n_pairs = [], [], 0
    for number, mask in enumerate(patterns.masks):
        shows_more = ~(patterns.masks & ~mask).any(axis=1)
        probes = numbered.filter(pl.Series(shows_more[patterns.mask_of_pattern]))
        builds = numbered.filter(pl.Series(patterns.mask_of_pattern == number))
        shown = patterns.shown(mask)
        builds = builds.select(*shown, pl.col(PATTERN).alias(OTHER))
        if shown:
            met = probes.join(builds, on=shown, how="inner").select(PATTERN, OTHER)
        else:
            met = probes.select(PATTERN).join(builds, how="cross")
        covered.append(met[PATTERN].to_numpy())
        covering.append(met[OTHER].to_numpy())
        n_pairs += met.height
        if n_pairs > MOST_PAIRS:
            raise _too_many(patterns)
    if not covered:
        empty = np.zeros(0, dtype=np.int64)
        return Pairs(empty, empty)
    pairs = Pairs(np.concatenate(covered), np.concatenate(covering))
    order = np.lexsort((pairs.covering, pairs.covered))
    return Pairs(pairs.covered[order], pairs.covering[order])


def possible_rows(patterns: Masked, n_rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return how many rows unify with each pattern, or None above the stated bounds."""
    n_patterns = patterns.codes.height
    too_many_pairs = patterns.n_masks**2 > MOST_MASK_PAIRS
    if too_many_pairs or patterns.n_masks * n_patterns > MOST_POSSIBLE_LOOKUPS:
        return None
    numbered = patterns.codes.with_columns(
        pl.Series(PATTERN, np.arange(n_patterns)), pl.Series(N_ROWS, n_rows)
    )
    of_mask = [
        numbered.filter(pl.Series(patterns.mask_of_pattern == number))
        for number in range(patterns.n_masks)
    ]
    possible = np.zeros(n_patterns, dtype=np.int64)
    for mask, asked in zip(patterns.masks, of_mask, strict=True):
        for other_mask, others in zip(patterns.masks, of_mask, strict=True):
            both = patterns.shown(mask | other_mask)
            if not both:
                possible[asked[PATTERN].to_numpy()] += others[N_ROWS].sum()
                continue
            sums = others.group_by(both).agg(pl.col(N_ROWS).sum().alias(OTHER))
            met = asked.join(sums, on=both, how="inner")
            possible[met[PATTERN].to_numpy()] += met[OTHER].to_numpy()
    return possible


def _too_many(patterns: Masked) -> InputError:
    return InputError(
        f"could not check as-wildcard: {patterns.codes.height} different rows with stars in "
        f"{patterns.n_masks} different sets of columns are too many to compare",
        remedy="Check the stricter reading, --stars as-value, or fewer columns at a time.",
    )
