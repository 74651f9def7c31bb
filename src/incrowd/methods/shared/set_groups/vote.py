"""From groups of sets to a release: what groups must meet, and the set that each group shows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.sets.sets import IN_MEMORY, EntryStorage, Sets

if TYPE_CHECKING:
    from incrowd.methods.shared.set_groups.vote_kernel import Rule


@dataclass(frozen=True, eq=False)
class Found:
    """Groups of rows, numbered from 0 by their first rows, and figures of how they came about.

    ``settings`` are fields of the method that left something open, with what they came to.
    """

    group_of_row: NDArray[np.int32]
    figures: dict[str, object] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)


def number_by_first_row(group_of_row: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the same groups, numbered from 0 in the order of their first rows."""
    from incrowd.methods.shared.set_groups.vote_kernel import renumbered

    return renumbered(group_of_row)


# ── what every group of sets must meet, as numbers: a guarantee in the words of a search ──────────

SMOOTH, MAJORITY, SUPPRESSION = "smooth", "majority", "suppression"

KINDS = (SMOOTH, MAJORITY, SUPPRESSION)

HALF, STRICT = "half", "strict"


@dataclass(frozen=True, eq=False)
class SetConditions:
    """Which items a group of rows may show, and how large it must be.

    A group has at least ``k`` rows, and at least the largest ``k_of_row`` of its rows where those
    are given. Of a group of s rows, m of which hold an item, the item is shown if 2m ≥ s (smooth
    with vote half), 2m > s (smooth, strict), 2m ≥ k (majority; 2m > k if strict; with personal k
    the group's largest) or m = s (suppression).
    """

    kind: str
    k: int
    vote: str = HALF
    k_of_row: NDArray[np.int32] | None = None

    def needs(self, n_rows: int) -> NDArray[np.int32]:
        """Return how large a group each row asks for."""
        if self.k_of_row is None:
            return np.full(n_rows, self.k, dtype=np.int32)
        return np.maximum(self.k_of_row, self.k).astype(np.int32)

    def of_rows(self, rows: NDArray[np.int64]) -> SetConditions:
        """Return the conditions of some of the rows."""
        return self if self.k_of_row is None else replace(self, k_of_row=self.k_of_row[rows])


# ── from groups to a release: every group shows one set, and what that keeps and creates ──────────


@dataclass(frozen=True)
class Utility:
    """What a release keeps of its input's entries, and what it adds to them."""

    n_entries: int
    kept: int
    created: int

    @property
    def suppressed(self) -> int:
        """How many entries of the input are not shown."""
        return self.n_entries - self.kept

    @property
    def jaccard(self) -> float:
        """Entries in both, over entries in either; 1 where there is none at all."""
        either = self.n_entries + self.created
        return self.kept / either if either else 1.0


def shown(sets: Sets, group_of_row: NDArray[np.int32], conditions: SetConditions) -> Sets:
    """Return the sets with every row showing what its group votes for, O(entries)."""
    of_row = show_by_groups(sets, group_of_row, conditions).take(group_of_row)
    return sets.with_entries(of_row.starts, of_row.items)


def show_by_groups(
    sets: Sets,
    group_of_row: NDArray[np.int32],
    conditions: SetConditions,
    storage: EntryStorage = IN_MEMORY,
) -> Sets:
    """Return what every group shows, a group a row, in the storage; O(entries).

    ``group_of_row`` numbers groups from 0 without gaps. Every group shows all that the conditions
    let it show; under majority only what is also worth its created entries: an item m of s rows
    hold is left out if m ≤ J·(s − m), J the Jaccard similarity of the release, since it would
    lower J. (Under smooth m ≥ s − m, and nothing is ever left out.)
    """
    from incrowd.methods.shared.set_groups import vote_kernel

    rule, _ = _settled(sets, group_of_row, conditions)
    starts, rows = vote_kernel.rows_by_group(group_of_row, _n_groups(group_of_row))
    needs = conditions.needs(sets.n_rows)
    given = (sets.starts, sets.items, sets.n_items, starts, rows, needs, rule)
    *_, n_shown = vote_kernel.tally_rows(*given)
    shown_starts = np.zeros(len(starts), dtype=np.int64)
    np.cumsum(n_shown, out=shown_starts[1:])
    items = storage.array(int(shown_starts[-1]), np.int32)
    vote_kernel.shown_items(*given, items)
    return replace(sets, starts=shown_starts, items=items, row_names=None)


def utility(sets: Sets, group_of_row: NDArray[np.int32], conditions: SetConditions) -> Utility:
    """Return exactly what ``shown`` keeps and creates, without making it. O(entries)."""
    return _settled(sets, group_of_row, conditions)[1]


def rule_of(conditions: SetConditions, price: float) -> Rule:
    """Return a promise's vote in numbers; ``price`` is what a created entry costs."""
    from incrowd.methods.shared.set_groups.vote_kernel import (
        MAJORITY_CODE,
        SMOOTH_CODE,
        SUPPRESSION_CODE,
        Rule,
    )

    codes = dict(zip(KINDS, (SMOOTH_CODE, MAJORITY_CODE, SUPPRESSION_CODE), strict=True))
    return Rule(codes[conditions.kind], int(conditions.vote == STRICT), float(price))


def _settled(
    sets: Sets, group_of_row: NDArray[np.int32], conditions: SetConditions
) -> tuple[Rule, Utility]:
    """Return the rule at the price that is the release's own Jaccard similarity.

    Each step shows the best items at the last step's price, so the similarity never falls
    (Dinkelbach); it ends when it no longer rises. Other kinds than majority need one step.
    """
    from incrowd.methods.shared.set_groups import vote_kernel
    from incrowd.methods.shared.set_groups.vote_kernel import MAJORITY_CODE

    starts, rows = vote_kernel.rows_by_group(group_of_row, _n_groups(group_of_row))
    needs = conditions.needs(sets.n_rows)
    rule = rule_of(conditions, 0.0)
    best = None
    while True:
        kept, created, _ = vote_kernel.tally_rows(
            sets.starts, sets.items, sets.n_items, starts, rows, needs, rule
        )
        found = Utility(sets.n_entries, int(kept.sum()), int(created.sum()))
        if rule.code != MAJORITY_CODE:
            return rule, found
        if best is not None and found.jaccard <= best[1].jaccard:
            return best
        best = rule, found
        rule = rule_of(conditions, found.jaccard)


def _n_groups(group_of_row: NDArray[np.int32]) -> int:
    return int(group_of_row.max(initial=-1)) + 1
