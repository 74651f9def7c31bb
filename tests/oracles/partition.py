"""Masks per attribute or per bit, pair by pair: crowds, beliefs by all permutations, groups."""

from collections import Counter
from fractions import Fraction
from itertools import permutations


def cells_of(row, n_values, is_bit):
    """Return a row's cells: its codes, or the bits of their one-hot codes."""
    if not is_bit:
        return list(row)
    return [int(code == value) for code, n in zip(row, n_values, strict=True) for value in range(n)]


def released(rows, masks, n_values, is_bit=False):
    """Return the rows as they are written: a cell, or None where it is masked."""
    return [
        tuple(
            None if masked else cell
            for cell, masked in zip(cells_of(row, n_values, is_bit), mask, strict=True)
        )
        for row, mask in zip(rows, masks, strict=True)
    ]


def fits(cells, shown):
    return all(there is None or there == here for here, there in zip(cells, shown, strict=True))


def compatible(rows, masks, n_values, is_bit=False):
    """Return for everybody the rows that they could be."""
    shown = released(rows, masks, n_values, is_bit)
    people = [cells_of(row, n_values, is_bit) for row in rows]
    return [[j for j in range(len(rows)) if fits(cells, shown[j])] for cells in people]


def mutual_crowds(rows, masks, n_values, is_bit=False):
    """Return how many rows everybody could be whose people could be theirs."""
    could_be = [set(found) for found in compatible(rows, masks, n_values, is_bit)]
    return [sum(v in could_be[u] for u in found) for v, found in enumerate(could_be)]


def beliefs(rows, masks, n_values, is_bit=False):
    """Return everybody's share of all perfect matchings that give them their own row."""
    could_be = compatible(rows, masks, n_values, is_bit)
    n_own, n_all = [0] * len(rows), 0
    for matching in permutations(range(len(rows))):
        if all(row in could_be[v] for v, row in enumerate(matching)):
            n_all += 1
            for v, row in enumerate(matching):
                n_own[v] += v == row
    return [Fraction(count, n_all) for count in n_own]


def bounds(rows, masks, n_values, is_bit=False):
    """Return the closed form of everybody's belief: of z people of a profile, s equal rows."""
    shown = released(rows, masks, n_values, is_bit)
    people, equal = Counter(rows), Counter(shown)
    full = Counter(row for row, mask in zip(rows, masks, strict=True) if not any(mask))
    return [
        Fraction(people[row] - full[row], people[row] * equal[out])
        if any(mask)
        else Fraction(1, people[row])
        for row, out, mask in zip(rows, shown, masks, strict=True)
    ]


def certified(rows, masks, k, n_values):
    """Return who is safe by closed forms alone."""
    shown = released(rows, masks, n_values)
    people, equal = Counter(rows), Counter(shown)
    together = Counter(zip(rows, shown, strict=True))
    crowds = [
        equal[out] + people[row] - together[row, out] for row, out in zip(rows, shown, strict=True)
    ]
    return [
        belief * wish <= 1 and crowd >= wish
        for belief, crowd, wish in zip(bounds(rows, masks, n_values), crowds, k, strict=True)
    ]


def group_sizes(rows, masks, n_values):
    """Return how many released rows are equal to each, stars as values."""
    shown = released(rows, masks, n_values)
    equal = Counter(shown)
    return [equal[out] for out in shown]
