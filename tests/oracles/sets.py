"""Promises and losses of sets, word by word: Counter, Fraction and Python's own sets only.

A row is a set of items (any hashable things); rows are lists of them.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def groups_of(released):
    """Return each row's group, as the numbers of all rows with an equal set."""
    return [
        [other for other, set_of_other in enumerate(released) if set_of_other == items]
        for items in released
    ]


def asked_of(groups, k, original_row, k_of_row):
    """Return how large each row's group must be: the largest k of its people."""
    if k_of_row is None:
        return [k] * len(groups)
    return [max([k, *(k_of_row[original_row[row]] for row in group)]) for group in groups]


def exposed_by_size(released, k, original_row=None, k_of_row=None):
    groups = groups_of(released)
    asked = asked_of(groups, k, original_row, k_of_row)
    return [row for row, group in enumerate(groups) if len(group) < asked[row]]


def holders_of(item, group, original, original_row):
    return sum(item in original[original_row[row]] for row in group)


def may_show(kind, vote, holders, size, asked):
    """Definitions 3.4, 3.5 and 1.2, with halves as fractions."""
    if kind == "suppression":
        return holders == size
    half = Fraction(size if kind == "smooth" else asked, 2)
    return holders > half if vote == "strict" else holders >= half


def exposed_by_items(kind, vote, k, released, original, original_row, k_of_row=None):
    """Return rows whose group shows an item that too few of it had, and the least holders."""
    groups = groups_of(released)
    asked = asked_of(groups, k, original_row, k_of_row)
    exposed, least = [], None
    for row, items in enumerate(released):
        is_exposed = False
        for item in items:
            holders = holders_of(item, groups[row], original, original_row)
            least = holders if least is None else min(least, holders)
            is_exposed |= not may_show(kind, vote, holders, len(groups[row]), asked[row])
        if is_exposed:
            exposed.append(row)
    return exposed, least


def shown(kind, vote, k, original, group_of_row, k_of_row=None):
    """Return the release of a grouping: every item that its group may show."""
    released = []
    for group in group_of_row:
        rows = [row for row, other in enumerate(group_of_row) if other == group]
        asked = max([k, *(k_of_row[row] for row in rows)]) if k_of_row else k
        counts = Counter(item for row in rows for item in original[row])
        released.append(
            {item for item in counts if may_show(kind, vote, counts[item], len(rows), asked)}
        )
    return released


def hamming(one, other):
    return len(one ^ other)


def losses(original, released):
    """Return Jaccard, suppressed, created, item error, count error and size error as fractions."""
    before = {(row, item) for row, items in enumerate(original) for item in items}
    after = {(row, item) for row, items in enumerate(released) for item in items}
    had, seen = (Counter(item for _, item in entries) for entries in (before, after))
    n_before = max(len(before), 1)
    errors = [Fraction(abs(seen[item] - had[item]), had[item]) for item in had]
    changes = [abs(len(new) - len(old)) for old, new in zip(original, released, strict=True)]
    union = before | after
    return {
        "jaccard": Fraction(len(before & after), len(union)) if union else Fraction(1),
        "suppressed": Fraction(len(before - after), n_before),
        "created": Fraction(len(after - before), n_before),
        "item_error": sum(errors, Fraction(0)) / max(len(errors), 1),
        "count_error": Fraction(sum(abs(seen[i] - had[i]) for i in had | seen), n_before),
        "size_error": Fraction(sum(changes), max(len(original), 1)),
    }
