"""Risk and attacks by their definitions: lists, dictionaries and fractions, row against row."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations


def groups_of(rows, quasi):
    return [tuple(row[name] for name in quasi) for row in rows]


def risks(rows, quasi, person=None):
    """One divided by how many rows, or people, share a row's cells."""
    keys = groups_of(rows, quasi)
    found = []
    for key in keys:
        alike = [row for row, other in zip(rows, keys, strict=True) if other == key]
        size = len(alike) if person is None else len({row[person] for row in alike})
        found.append(Fraction(1, size))
    return found


def fits(known, shown, above):
    """Whether every shown cell is the known value, above it, or a star; by column."""
    return all(
        shown[name] == "*" or shown[name] == value or shown[name] in above(name, value)
        for name, value in known.items()
    )


def linkage_success(person, known, original, released, original_row, above, person_of=None):
    """The chance that a row picked of those that fit is the person's own."""
    knows = {name: original[person][name] for name in known}
    fitting = [row for row, shown in enumerate(released) if fits(knows, shown, above)]
    if not fitting:
        return Fraction(0)
    if person_of is None:
        own = [row for row in fitting if original_row[row] == person]
    else:
        own = [row for row in fitting if person_of[original_row[row]] == person_of[person]]
    return Fraction(len(own), len(fitting))


def certain(rows, quasi, sensitive, confidence):
    """Shares of the rows with a value whose value is certain, or known with some confidence."""
    shown = [row for row in rows if row[sensitive] not in (None, "*")]
    keys = groups_of(shown, quasi)
    n_certain = n_above = 0
    for row, key in zip(shown, keys, strict=True):
        values = [other[sensitive] for other, its in zip(shown, keys, strict=True) if its == key]
        share = Fraction(values.count(row[sensitive]), len(values))
        n_certain += share == 1
        n_above += share >= Fraction(str(confidence))
    return n_certain, n_above, len(shown)


def successes_by_items(original, released, original_row, n_known):
    """Each person's chances over all choices of so many of their items."""
    found = {}
    for person, items in enumerate(original):
        for known in combinations(sorted(items), n_known):
            holders = [row for row, shown in enumerate(released) if set(known) <= shown]
            own = [row for row in holders if original_row[row] == person]
            success = Fraction(len(own), len(holders)) if holders else Fraction(1, len(released))
            found.setdefault(person, []).append(success)
    return found


def in_common(first, second, quasi, sensitive, overlap):
    """Pairs of groups that overlap, with how many people they can have in common, and values."""
    left, right = Counter(groups_of(first, quasi)), Counter(groups_of(second, quasi))
    found = {}
    for one in left:
        for other in right:
            if not all(overlap(a, b) for a, b in zip(one, other, strict=True)):
                continue
            values, others = (
                Counter(
                    tuple(row[name] for name in sensitive)
                    for row, key in zip(rows, groups_of(rows, quasi), strict=True)
                    if key == mine
                )
                for rows, mine in ((first, one), (second, other))
            )
            n_both = min(left[one], right[other])
            if sensitive:
                n_both = sum((values & others).values())
            if n_both:
                kept = [
                    len({value[place] for value in values} & {value[place] for value in others})
                    for place in range(len(sensitive))
                ]
                found[one, other] = (n_both, kept)
    return found
