"""Transactions, roles and rules in the numbers that the search works with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.item_rows import invert_rows
from incrowd.methods.rbat.kernels import rows as rows_kernels
from incrowd.methods.rbat.kernels.check import BILLION, RuleTable
from incrowd.methods.rbat.kernels.split import Baskets
from incrowd.methods.shared.item_parts import KmConditions, RuleConditions
from incrowd.sets.sets import Sets, count_items
from incrowd.transactions.rules import Rules

MOST_ROWS = 2**31 - 1
"""Counts of rows are compared in whole numbers that leave this much room."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Public items that occur, numbered without gaps in their order, and the rows that hold any.

    ``items[public]`` is the item's number in the transactions. Rows with the same public items
    that hold the same sensitive sets of rules are one. ``n_rows`` is how many rows hold a public
    item, ``n_telling[s]`` how many of them hold the sensitive set s. ``weight`` is empty where
    all items weigh the same. ``n_absent`` rules name an item that no row holds: no release shows
    their public part, and the search leaves them out.
    """

    items: NDArray[np.int32]
    n_all_items: int
    baskets: Baskets
    tells_starts: NDArray[np.int64]
    tells: NDArray[np.int32]
    rules: RuleTable
    n_telling: NDArray[np.int64]
    n_rows: int
    weight: NDArray[np.float64]
    n_absent: int
    rule_numbers: NDArray[np.int64]
    """Which of the stated rules the search has, counted from 1."""

    @property
    def n_public(self) -> int:
        """How many public items occur."""
        return len(self.items)


@dataclass(frozen=True, eq=False)
class Numbering:
    """What the conditions are about in the numbers of the search; small beside the transactions.

    ``public_of_item`` is -1 for items that are sensitive or that no transaction holds; the others
    are ``items``, numbered without gaps. ``told`` are the sensitive sets of rules.
    """

    items: NDArray[np.int32]
    public_of_item: NDArray[np.int32]
    told: SensitiveSets
    rules: RuleTable
    rule_numbers: NDArray[np.int64]
    weight: NDArray[np.float64]
    n_absent: int

    def lay_out_rows(self, starts: NDArray[np.int64], items: NDArray[np.int32]) -> DistinctRows:
        """Return the distinct ones of some transactions that hold a public item. O(entries)."""
        told = self.told
        row_starts, row_items, tells_starts, tells = rows_kernels.lay_out(
            starts, items, self.public_of_item, told.first, told.following, told.starts, told.items
        )
        firsts, n_equal = rows_kernels.first_equal(row_starts, row_items, tells_starts, tells)
        by_number = np.argsort(-n_equal, kind="stable")
        firsts, n_equal = firsts[by_number], n_equal[by_number]
        row_starts, row_items = rows_kernels.taken(row_starts, row_items, firsts)
        tells_starts, tells = rows_kernels.taken(tells_starts, tells, firsts)
        return DistinctRows(row_starts, row_items, n_equal, tells_starts, tells)


class DistinctRows(NamedTuple):
    """Distinct rows of public items, how many rows each stands for, and what they tell.

    Row r holds the public items ``items[starts[r]:starts[r + 1]]`` and the sensitive sets
    ``tells[tells_starts[r]:tells_starts[r + 1]]``. Rows that stand for many come first.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    n_equal: NDArray[np.int32]
    tells_starts: NDArray[np.int64]
    tells: NDArray[np.int32]


def numbering_of(
    n_rows: int, support: NDArray[np.int64], conditions: RuleConditions | KmConditions
) -> Numbering:
    """Return items and rules in the numbers of the search; ``support`` says who holds an item."""
    if n_rows > MOST_ROWS:
        raise ValueError("there are too many rows for one search")
    is_public = ~conditions.is_sensitive
    items = np.flatnonzero(is_public & (support > 0)).astype(np.int32)
    public_of_item = np.full(len(support), -1, dtype=np.int32)
    public_of_item[items] = np.arange(len(items), dtype=np.int32)
    rules = conditions.rules if isinstance(conditions, RuleConditions) else None
    told = _sensitive_sets(rules, support)
    table, rule_numbers = _rule_table(rules, told, public_of_item)
    weight = conditions.weight[items].astype(np.float64)
    return Numbering(
        items=items,
        public_of_item=public_of_item,
        told=told,
        rules=table,
        rule_numbers=rule_numbers,
        weight=weight if (weight != weight[:1]).any() or not weight.any() else weight[:0],
        n_absent=rules.n_rules - len(rule_numbers) if rules is not None else 0,
    )


def problem_of(sets: Sets, conditions: RuleConditions | KmConditions) -> Problem:
    """Return transactions and conditions in the numbers of the search. O(entries)."""
    support_of_item = count_items(sets.items, sets.n_items)
    numbering = numbering_of(sets.n_rows, support_of_item, conditions)
    rows = numbering.lay_out_rows(sets.starts, sets.items)
    n_public = len(numbering.items)
    list_starts, holders = invert_rows(rows.starts, rows.items, n_public)
    support = rows_kernels.counted(rows.starts, rows.items, rows.n_equal, n_public)
    n_told = numbering.told.n_sets
    return Problem(
        items=numbering.items,
        n_all_items=sets.n_items,
        baskets=Baskets(rows.starts, rows.items, rows.n_equal, list_starts, holders, support),
        tells_starts=rows.tells_starts,
        tells=rows.tells,
        rules=numbering.rules,
        n_telling=rows_kernels.counted(rows.tells_starts, rows.tells, rows.n_equal, n_told),
        n_rows=int(rows.n_equal.sum(dtype=np.int64)),
        weight=numbering.weight,
        n_absent=numbering.n_absent,
        rule_numbers=numbering.rule_numbers,
    )


def billionths(confidence: float) -> int:
    """Return the confidence that was stated in whole billionths, rounded down: 0.6 is 3/5."""
    return floor(Fraction(str(confidence)) * BILLION)


@dataclass(frozen=True, eq=False)
class SensitiveSets:
    """The distinct sensitive sets of rules, each to be looked for at one of its items."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    of_rule: NDArray[np.int32]
    first: NDArray[np.int32]
    following: NDArray[np.int32]

    @property
    def n_sets(self) -> int:
        """How many there are."""
        return len(self.starts) - 1


def _sensitive_sets(rules: Rules | None, held_by: NDArray[np.int64]) -> SensitiveSets:
    number: dict[bytes, int] = {}
    kept: list[NDArray[np.int32]] = []
    of_rule = np.zeros(0 if rules is None else rules.n_rules, dtype=np.int32)
    if rules is not None:
        starts = rules.sensitive_starts
        for rule in range(rules.n_rules):
            items = rules.sensitive[starts[rule] : starts[rule + 1]].astype(np.int32)
            key = items.tobytes()
            if key not in number:
                number[key] = len(kept)
                kept.append(items)
            of_rule[rule] = number[key]
    first = np.full(len(held_by), -1, dtype=np.int32)
    following = np.full(len(kept), -1, dtype=np.int32)
    for told in range(len(kept) - 1, -1, -1):
        rarest = kept[told][np.argmin(held_by[kept[told]])]
        following[told] = first[rarest]
        first[rarest] = told
    sizes = [len(items) for items in kept]
    return SensitiveSets(
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        items=np.concatenate([*kept, np.empty(0, dtype=np.int32)]).astype(np.int32),
        of_rule=of_rule,
        first=first,
        following=following,
    )


def _rule_table(
    rules: Rules | None, told: SensitiveSets, public_of_item: NDArray[np.int32]
) -> tuple[RuleTable, NDArray[np.int64]]:
    """Return the rules whose public items all occur, and their numbers, counted from 1."""
    if rules is None or rules.n_rules == 0:
        none = np.empty(0, dtype=np.int32)
        return RuleTable(np.zeros(1, np.int64), none, told.of_rule[:0], 1), none.astype(np.int64)
    public = public_of_item[rules.public]
    sizes = np.diff(rules.public_starts)
    rule_of_place = np.repeat(np.arange(rules.n_rules), sizes)
    is_absent = np.zeros(rules.n_rules, dtype=np.bool_)
    is_absent[rule_of_place[public < 0]] = True
    starts = np.concatenate([[0], np.cumsum(sizes[~is_absent])]).astype(np.int64)
    kept = public[~is_absent[rule_of_place]]
    of_rule = told.of_rule[~is_absent]
    return RuleTable(starts, kept, of_rule, max(1, told.n_sets)), 1 + np.flatnonzero(~is_absent)
