"""The check of protected rules, counted anew in the released transactions, and that these are
true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import DataError, InputError
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.sets.check import (
    check_key,
    check_order,
    equal_rows,
    is_order_kept,
    require_sets,
    require_whole,
)
from incrowd.guarantees.transactions.kernels import count_rules, count_with_every_sensitive
from incrowd.guarantees.transactions.promises import OK, RuleEvidence, RuleProtection
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets, count_items
from incrowd.threads import map_ranges
from incrowd.transactions.generalized import (
    Itemset,
    NumberedItemsets,
    number_itemsets,
    parse_label,
    rows_per_block,
)
from incrowd.transactions.rules import Rules

ROWS_PER_THREAD = 1 << 15
"""Fewer transactions are compared sooner than a thread is started."""

NOT_SHOWN = -1
"""The number of a released item where none stands for an original one."""


@dataclass(frozen=True, eq=False)
class ReleasedItems:
    """Which original items each released one stands for, and the reverse."""

    members: list[tuple[str, ...]]
    item_of_member: dict[str, int]
    is_sensitive: NDArray[np.bool_]

    def items_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the released item that stands for each name, ``NOT_SHOWN`` where none does."""
        found = (self.item_of_member.get(name, NOT_SHOWN) for name in names)
        return np.fromiter(found, dtype=np.int64)


def inferred_items(rules: Rules) -> frozenset[str]:
    """Return the names of the items that some rule infers: they are sensitive."""
    names = rules.names.to_pylist()
    return frozenset(str(names[item]) for item in np.unique(rules.sensitive).tolist() if item >= 0)


def read_items(
    names: pa.Array, n_repeated: int, sensitive: frozenset[str]
) -> tuple[ReleasedItems | None, Finding]:
    """Return what released items stand for, and whether that is one thing each.

    None where it is not: a label that cannot be read, an item in two of them (as with both ``a``
    and ``(a,b,f)``), or a sensitive item that is not intact. A transaction that holds an item
    twice breaks the finding too, and everything can still be counted.
    """
    members: list[tuple[str, ...]] = []
    n_unreadable = 0
    for label in names.to_pylist():
        try:
            members.append(parse_label(str(label)))
        except DataError:
            n_unreadable += 1
            members.append(())
    item_of_member: dict[str, int] = {}
    in_two: set[str] = set()
    n_mixed = 0
    for item, of_item in enumerate(members):
        n_mixed += len(of_item) > 1 and not sensitive.isdisjoint(of_item)
        for name in of_item:
            if item_of_member.setdefault(name, item) != item:
                in_two.add(name)
    is_sensitive = np.array(
        [len(of_item) == 1 and of_item[0] in sensitive for of_item in members], dtype=np.bool_
    )
    n_generalized = sum(len(of_item) > 1 for of_item in members)
    figures: dict[str, Any] = {
        "n_items": len(names),
        "n_generalized": n_generalized,
        "n_sensitive": int(is_sensitive.sum()),
        "n_unreadable": n_unreadable,
        "n_in_two": len(in_two),
        "n_sensitive_generalized": n_mixed,
        "n_repeated": n_repeated,
    }
    faults = [
        f"{count:,} {what}"
        for count, what in (
            (n_unreadable, "released items begin as a set of items and are none"),
            (len(in_two), "items stand in more than one released item"),
            (n_mixed, "released items generalize a sensitive item"),
            (n_repeated, "entries stand in their transaction again"),
        )
        if count
    ]
    summary = "; ".join(faults) or (
        f"every item is in one released item; {n_generalized:,} of {len(names):,} stand for "
        "several, and sensitive items for themselves"
    )
    finding = Finding("items", not faults, summary, figures)
    if n_unreadable or in_two or n_mixed:
        return None, finding
    return ReleasedItems(members, item_of_member, is_sensitive), finding


# What only the owner can check: that a release of generalized items is true.

PUBLIC, SENSITIVE = 1, 2


def require_transactions(evidence: RuleEvidence) -> None:
    """Refuse evidence that is no list of transactions, or that a promise of items cannot use."""
    require_whole(evidence)
    require_sets(evidence.released, "release")
    if evidence.shows_people_as_items:
        raise InputError(
            "could not check: items of a graph are people, and people are not generalized",
            remedy="Check transactions, or a graph for smooth, majority or suppression.",
        )
    if evidence.k_of_row is not None or evidence.original_item is not None:
        raise InputError(
            "could not check: rules and sets of items know no k of a person and no key of items",
            remedy="Leave them out.",
        )


def owner_findings(evidence: RuleEvidence, shown: ReleasedItems | None) -> list[Finding]:
    """Prove the key, then that every row generalizes its original; without an owner, say so.

    Nothing is said of the truth where released items stand for no one thing each.
    """
    key = check_key(evidence)
    if key is None:
        left = [truth_left_open()]
        return left + ([is_order_kept()] if evidence.keeps_order else [])
    if not key.holds:
        return [key] + ([is_order_kept()] if evidence.keeps_order else [])
    findings = [key]
    if shown is not None:
        findings.append(_truth(evidence, shown))
    return findings + _order(evidence)


def truth_left_open() -> Finding:
    """Say that nobody has held the rows against their originals."""
    summary = "only the owner can check, with the original and the key, that no row is invented"
    return Finding("truth", None, summary, {"is_checked": False})


def _truth(evidence: RuleEvidence, shown: ReleasedItems) -> Finding:
    from incrowd.guarantees.transactions.kernels import find_untrue

    released, original = evidence.released, evidence.original
    assert original is not None  # a proven key has both
    assert evidence.original_row is not None
    names = (str(name) for name in item_names_of(original).to_pylist())
    untrue = np.zeros(released.n_rows, dtype=np.uint8)
    original_row = evidence.original_row.astype(np.int64)
    released_of_item = shown.items_of(names)

    def look(first: int, end: int) -> None:
        find_untrue(
            released.starts[first : end + 1],
            released.items,
            shown.is_sensitive,
            original.starts,
            original.items,
            original_row[first:end],
            released_of_item,
            untrue[first:end],
        )

    map_ranges(look, released.n_rows, ROWS_PER_THREAD)
    n_untrue = int(np.count_nonzero(untrue))
    figures = {
        "n_untrue": n_untrue,
        "n_public_untrue": int(np.count_nonzero(untrue & PUBLIC)),
        "n_sensitive_untrue": int(np.count_nonzero(untrue & SENSITIVE)),
    }
    summary = (
        f"{n_untrue:,} transactions are not what their original ones generalize to"
        if n_untrue
        else "every transaction is what its original one generalizes to, sensitive items intact"
    )
    rows = tuple(int(row) + 1 for row in np.flatnonzero(untrue)[:MOST_ROWS_NAMED])
    return Finding("truth", not n_untrue, summary, figures, rows, is_public=False)


def _order(evidence: RuleEvidence) -> list[Finding]:
    assert evidence.original_row is not None  # called with a proven key
    if evidence.keeps_order:
        return [is_order_kept()]
    if (np.diff(evidence.original_row) < 0).any():
        return []
    return check_order(evidence, equal_rows(evidence.released))


# The check of protected rules, counted anew in the released transactions themselves.

MOST_ANTECEDENTS = 100_000
"""How many antecedents of the closure are looked at, …"""

MOST_STEPS = 400_000_000
"""… in about so many steps, …"""

ANTECEDENTS_PER_THREAD = 256
"""Fewer antecedents are counted sooner than the transactions are indexed once more."""

MOST_COUNTS = 1 << 24
"""… with so many counts of an antecedent and a sensitive item."""

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Counts:
    """Of every rule, in the order stated: transactions with its public part, and with all of it."""

    support: Whole
    joint: Whole


def check_rules(guarantee: RuleProtection, evidence: RuleEvidence) -> list[Finding]:
    """Return what was found of released items, of every rule, of the closure and of the truth.

    Raises InputError where there are no rules, or a rule infers an item that it also knows.
    """
    require_transactions(evidence)
    findings, shown = find_in_counts(
        guarantee, evidence.rules, evidence.sensitive, SetCounts(evidence.released)
    )
    return findings + owner_findings(evidence, shown)


def find_in_counts(
    guarantee: RuleProtection,
    stated: Rules | None,
    stated_sensitive: frozenset[str],
    released: RowCounts,
) -> tuple[list[Finding], ReleasedItems | None]:
    """Return what counts of released rows tell, wherever these lie, and what items stand for."""
    rules = _require_rules(stated)
    names = [str(name) for name in rules.names.to_pylist()]
    sensitive = stated_sensitive | inferred_items(rules)
    known = {names[item] for item in np.unique(rules.public).tolist() if item >= 0}
    if not sensitive.isdisjoint(known):
        raise InputError(
            f"could not check: {len(sensitive & known):,} items are sensitive and stand in the "
            "public part of a rule",
            remedy="Sensitive items are published intact; state rules of public items.",
            examples=sorted(sensitive & known)[:3],
        )
    shown, items = read_items(released.names, released.n_repeated, sensitive)
    findings = [items]
    if shown is not None:
        item_of = np.append(shown.items_of(names), NOT_SHOWN)  # the last is of items not known
        public = _itemsets(rules.public_starts, rules.public, item_of)
        inferable = _itemsets(rules.sensitive_starts, rules.sensitive, item_of)
        counts = _count(released, public, inferable)
        findings.append(_rules(guarantee, counts))
        findings.append(_absent(guarantee, counts))
        findings.append(_closure(guarantee, released, public, shown))
    return findings, shown


def _require_rules(rules: Rules | None) -> Rules:
    if rules is None or not rules.n_rules:
        raise InputError(
            "could not check: there is no rule to check",
            remedy="Give the rules that the release promises to protect.",
        )
    if (np.diff(rules.public_starts) < 1).any() or (np.diff(rules.sensitive_starts) < 1).any():
        raise InputError(
            "could not check: a rule has no public or no sensitive item",
            remedy="State rules as  a b -> s.",
        )
    return rules


def _itemsets(starts: Whole, items: NDArray[np.int32], item_of: Whole) -> list[Itemset]:
    """Return each rule's distinct released items; ``NOT_SHOWN`` leads where one is missing."""
    mapped = item_of[items].tolist()
    bounds = starts.tolist()
    return [
        tuple(sorted(set(mapped[bounds[rule] : bounds[rule + 1]])))
        for rule in range(len(bounds) - 1)
    ]


# ── counting ────────────────────────────────────────────────────────────────────────────────


class RowCounts(Protocol):
    """Released rows as far as they are counted; ``names`` are those of their items."""

    names: pa.Array
    n_rows: int
    n_repeated: int
    support: Whole
    """How many rows hold each item."""

    def count_rules(self, placed: NumberedItemsets, n_public: Whole) -> tuple[Whole, Whole]:
        """Return the rows that hold the first so many places of each itemset, and all of them."""

    def count_with_sensitive(
        self, placed: NumberedItemsets, sensitive_of_item: NDArray[np.int32], n_sensitive: int
    ) -> tuple[Whole, NDArray[np.int32]]:
        """Return the rows that hold each itemset, and of those the ones with a sensitive item."""


class SetCounts:
    """Counts of rows that this process holds, by ranges of rows or of itemsets."""

    def __init__(self, released: Sets) -> None:
        self._released = released
        self.names = item_names_of(released)
        self.n_rows, self.n_repeated = released.n_rows, released.n_repeated
        self.support = count_items(released.items, released.n_items)

    def count_rules(self, placed: NumberedItemsets, n_public: Whole) -> tuple[Whole, Whole]:
        """Count ranges of rows, in threads."""
        released = self._released
        block_rows = rows_per_block(placed.n_places)

        def count(first: int, end: int) -> NDArray[np.int64]:
            counts = np.zeros((2, len(n_public)), dtype=np.int64)
            add_rules(placed, n_public, released.starts[first : end + 1], released.items, counts)
            return counts

        none = np.zeros((2, len(n_public)), dtype=np.int64)
        support, joint = sum(map_ranges(count, self.n_rows, block_rows), none)
        return support, joint

    def count_with_sensitive(
        self, placed: NumberedItemsets, sensitive_of_item: NDArray[np.int32], n_sensitive: int
    ) -> tuple[Whole, NDArray[np.int32]]:
        """Count ranges of itemsets, in threads."""
        n_sets = len(placed.starts) - 1
        support = np.zeros(n_sets, dtype=np.int64)
        joint = np.zeros((n_sets, n_sensitive), dtype=np.int32)
        starts, items = self._released.starts, self._released.items

        def count(first: int, end: int) -> None:
            some = placed._replace(starts=placed.starts[first : end + 1])
            into = support[first:end], joint[first:end]
            add_with_sensitive(some, sensitive_of_item, starts, items, *into)

        map_ranges(count, n_sets, ANTECEDENTS_PER_THREAD)
        return support, joint


def add_rules(
    placed: NumberedItemsets,
    n_public: Whole,
    starts: Whole,
    items: NDArray[np.int32],
    counts: Whole,
) -> None:
    """Add the rows that hold each rule's public places to the first line, those with all to the
    second.
    """
    count_rules(
        starts,
        items,
        placed.place_of_item,
        placed.n_places,
        rows_per_block(placed.n_places),
        placed.starts,
        n_public,
        placed.places,
        counts[0],
        counts[1],
    )


def add_with_sensitive(
    placed: NumberedItemsets,
    sensitive_of_item: NDArray[np.int32],
    starts: Whole,
    items: NDArray[np.int32],
    support: Whole,
    joint: NDArray[np.int32],
) -> None:
    """Add the rows that hold each itemset, and of those the ones with every sensitive item."""
    count_with_every_sensitive(
        starts,
        items,
        placed.place_of_item,
        sensitive_of_item,
        placed.n_places,
        rows_per_block(placed.n_places),
        placed.starts,
        placed.places,
        support,
        joint,
    )


def _count(released: RowCounts, public: list[Itemset], inferable: list[Itemset]) -> _Counts:
    """Count every rule once, however often it is stated."""
    wanted: dict[tuple[Itemset, Itemset], int] = {}
    place_of_rule = [
        wanted.setdefault((known, told), len(wanted)) if known[0] != NOT_SHOWN else NOT_SHOWN
        for known, told in zip(public, inferable, strict=True)
    ]
    # a sensitive item that is not shown gets a place that no transaction has
    pairs = [(known, (NOT_SHOWN,) if told[0] == NOT_SHOWN else told) for known, told in wanted]
    wholes = [known + told for known, told in pairs]
    placed = number_itemsets(wholes, len(released.names))
    n_public = np.array([len(known) for known, _ in pairs], dtype=np.int64)
    support, joint = released.count_rules(placed, n_public)
    at = np.array(place_of_rule, dtype=np.int64)
    is_shown = at != NOT_SHOWN
    counts = _Counts(np.zeros(len(at), dtype=np.int64), np.zeros(len(at), dtype=np.int64))
    counts.support[is_shown] = support[at[is_shown]]
    counts.joint[is_shown] = joint[at[is_shown]]
    return counts


def most_disclosed(support: Whole, confidence: Fraction) -> Whole:
    """Return the largest number of transactions that is at most so large a share of each."""
    distinct, place = np.unique(support, return_inverse=True)
    above, below = confidence.numerator, confidence.denominator
    most = np.array([above * count // below for count in distinct.tolist()], dtype=np.int64)
    return most[place]


# ── findings ────────────────────────────────────────────────────────────────────────────────


def _rules(guarantee: RuleProtection, counts: _Counts) -> Finding:
    """Hold every rule that a transaction shows against k and the confidence."""
    is_shown = counts.support > 0
    is_rare = is_shown & (counts.support < guarantee.k)
    tells = is_shown & (counts.joint > most_disclosed(counts.support, guarantee.exact_confidence))
    is_broken = is_rare | tells
    n_broken = int(np.count_nonzero(is_broken))
    least = int(counts.support[is_shown].min()) if is_shown.any() else None
    worst = float((counts.joint / np.maximum(counts.support, 1)).max())
    figures: dict[str, object] = {
        "k": guarantee.k,
        "confidence": guarantee.confidence,
        "n_rules": len(is_shown),
        "n_shown": int(np.count_nonzero(is_shown)),
        "least_support": least,
        "worst_confidence": worst,
        "n_rare": int(np.count_nonzero(is_rare)),
        "n_telling": int(np.count_nonzero(tells)),
        "n_broken": n_broken,
        "broken_rules": _number_items(is_broken),
    }
    if not is_shown.any():
        summary = "no transaction shows the public items of any rule"
    else:
        measured = f"the least support is {least:,}, the highest confidence {worst:.4g}"
        summary = f"all {len(is_shown):,} rules were counted: {measured}"
        if n_broken:
            summary = (
                f"{n_broken:,} of {len(is_shown):,} rules are not protected, "
                f"{figures['n_rare']:,} by support below k = {guarantee.k} and "
                f"{figures['n_telling']:,} by confidence above {guarantee.confidence:g}; {measured}"
            )
    return Finding(guarantee.name, n_broken == 0, summary, figures)


def _absent(guarantee: RuleProtection, counts: _Counts) -> Finding:
    is_absent = counts.support == 0
    n_absent = int(np.count_nonzero(is_absent))
    figures = {
        "absent": guarantee.absent,
        "n_absent": n_absent,
        "absent_rules": _number_items(is_absent),
    }
    if not n_absent:
        return Finding("absent rules", True, "every rule's public items are shown", figures)
    summary = f"the public items of {n_absent:,} rules are shown by no transaction together"
    if guarantee.absent == OK:
        return Finding("absent rules", None, f"{summary}, which was accepted", figures)
    return Finding("absent rules", False, f'{summary}; absent = "ok" would accept them', figures)


def _number_items(is_named: NDArray[np.bool_]) -> list[int]:
    """Return the first rules of these, 1 being the first that was stated."""
    return [int(rule) + 1 for rule in np.flatnonzero(is_named)[:MOST_ROWS_NAMED]]


# ── closure ─────────────────────────────────────────────────────────────────────────────────


def _closure(
    guarantee: RuleProtection, released: RowCounts, public: list[Itemset], shown: ReleasedItems
) -> Finding:
    """Count what the rules leave open: their antecedents and subsets × every sensitive item.

    It informs only: nothing but the stated rules is promised. The work is bounded, antecedents
    as stated coming before their subsets; what was left out is counted.
    """
    n_sensitive = int(np.count_nonzero(shown.is_sensitive))
    support_of_item = released.support
    chosen: list[Itemset] = []
    n_left_out = steps = 0
    most = min(MOST_ANTECEDENTS, MOST_COUNTS // max(n_sensitive, 1))
    for itemset in _with_subsets(public, most):
        needed = int(min(support_of_item[item] for item in itemset)) + released.n_rows // 64
        if len(chosen) < most and steps + needed <= MOST_STEPS:
            chosen.append(itemset)
            steps += needed
        else:
            n_left_out += 1
    placed = number_itemsets(chosen, len(released.names))
    sensitive_of_item = np.full(len(released.names), -1, dtype=np.int32)
    sensitive_of_item[shown.is_sensitive] = np.arange(n_sensitive)
    support, joint = released.count_with_sensitive(placed, sensitive_of_item, n_sensitive)
    tells = joint > most_disclosed(support, guarantee.exact_confidence)[:, None]
    is_rare = (support > 0) & (support < guarantee.k)
    n_broken = int(np.count_nonzero((tells | is_rare[:, None]) & (support > 0)[:, None]))
    n_pairs = len(chosen) * n_sensitive
    figures: dict[str, object] = {
        "n_antecedents": len(chosen),
        "n_sensitive": n_sensitive,
        "n_pairs": n_pairs,
        "n_broken": n_broken,
        "n_telling": int(np.count_nonzero(tells)),
        "n_rare_antecedents": int(np.count_nonzero(is_rare)),
        "n_left_out": n_left_out,
        "is_complete": not n_left_out,
    }
    summary = (
        f"only stated rules are promised; of {n_pairs:,} pairs of an antecedent (or some of its "
        f"items) and any sensitive item {n_broken:,} would be broken as rules"
    )
    if n_left_out:
        summary += f" (at least {n_left_out:,} antecedents were not looked at)"
    return Finding("closure", None, summary, figures)


def _with_subsets(public: list[Itemset], most: int) -> Iterable[Itemset]:
    """Yield the distinct antecedents as far as shown, then their subsets, largest first.

    Ends soon after ``most``: what is then left out is not counted to the last one.
    """
    stated = (tuple(item for item in itemset if item != NOT_SHOWN) for itemset in public)
    whole = [itemset for itemset in dict.fromkeys(stated) if itemset]
    seen = set(whole)
    yield from whole
    for n_less in range(1, max(map(len, whole), default=0)):
        for itemset in whole:
            for subset in combinations(itemset, max(len(itemset) - n_less, 0)):
                if subset and subset not in seen:
                    if len(seen) > 2 * most:
                        return
                    seen.add(subset)
                    yield subset
