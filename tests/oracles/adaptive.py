"""Adaptive anonymity by its definitions: loops over people, and over all permutations of them.

People are rows of cells; a released row has None where a cell is masked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations


def is_compatible(original, released):
    """They agree in every cell that the released row shows."""
    return all(shown is None or shown == own for own, shown in zip(original, released, strict=True))


def literal_crowds(originals, released):
    return [sum(is_compatible(own, row) for row in released) for own in originals]


def mutual_crowds(originals, released):
    """Other people whose row could be mine while mine could be theirs, and myself."""
    people = list(zip(originals, released, strict=True))
    return [
        sum(is_compatible(own, row) and is_compatible(other, mine) for other, row in people)
        for own, mine in people
    ]


def matchings(originals, released):
    """Every way to give each person a row that they are compatible with."""
    rows = range(len(released))
    for order in permutations(rows):
        if all(is_compatible(originals[v], released[order[v]]) for v in rows):
            yield order


def posteriors(originals, released):
    """The share of all matchings that give each person their own row."""
    total, own = 0, Counter()
    for order in matchings(originals, released):
        total += 1
        own.update(person for person, row in enumerate(order) if person == row)
    return [Fraction(own[person], total) for person in range(len(originals))]


def pairs_in_matchings(originals, released):
    """Every (person, row) that occurs in some matching."""
    return {pair for order in matchings(originals, released) for pair in enumerate(order)}


def closed_form(originals, released, person):
    """The bound on a person's posterior, and whether it is the posterior itself."""
    z = originals.count(originals[person])
    s = released.count(released[person])
    if None not in released[person]:
        return Fraction(1, z), True
    whole = sum(
        own == originals[person] and None not in row
        for own, row in zip(originals, released, strict=True)
    )
    return Fraction(min(z - whole, s), z * s), False


def guesses(values, signs):
    """How many values are guessed right from the commonest value of the others with their sign.

    A tie goes to the value that is commoner in all, then to the lesser one. Somebody whose sign
    nobody else has is guessed from all others.
    """
    overall = Counter(values)

    def commonest(counts):
        return min(counts, key=lambda value: (-counts[value], -overall[value], value))

    of_sign = defaultdict(Counter)
    for value, sign in zip(values, signs, strict=True):
        of_sign[sign][value] += 1
    n_right = 0
    for value, sign in zip(values, signs, strict=True):
        others = +(of_sign[sign] - Counter([value])) or +(overall - Counter([value]))
        n_right += bool(others) and commonest(others) == value
    return n_right
