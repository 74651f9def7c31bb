"""Is a group valid, by the definitions and nothing else: Counter, Fraction and math."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Sensitive:
    """One sensitive column: −1 is a missing value."""

    codes: list[int]
    n_values: int
    l: float = 0.0  # noqa: E741
    l_kind: str = "distinct"
    c: float = 1.0
    t: float = -1.0
    parent: list[int] | None = None
    weight: list[float] | None = None


@dataclass(frozen=True)
class Rules:
    """What a group must meet."""

    k: int
    k_of_row: list[int] | None = None
    person_of_row: list[int] | None = None
    sensitive: tuple[Sensitive, ...] = ()


def is_valid(members: list[int], rules: Rules, tolerance: float = 1e-9) -> bool:
    """Return whether rows form a valid group; sums of floats may miss by the tolerance."""
    crowd = len(members)
    if rules.person_of_row is not None:
        crowd = len({rules.person_of_row[row] for row in members})
    needed = rules.k
    if rules.k_of_row is not None:
        needed = max(needed, *(rules.k_of_row[row] for row in members))
    if crowd < needed:
        return False
    return all(
        is_diverse(column, members, tolerance) and is_close(column, members, tolerance)
        for column in rules.sensitive
    )


def is_diverse(column: Sensitive, members: list[int], tolerance: float) -> bool:
    """Return whether the group's known values are l-diverse."""
    if column.l <= 0:
        return True
    known = Counter(column.codes[row] for row in members if column.codes[row] >= 0)
    counts = sorted(known.values(), reverse=True)
    if column.l_kind == "distinct":
        return len(counts) >= column.l
    if not counts:
        return False
    if column.l_kind == "entropy":
        total = sum(counts)
        entropy = -sum(count / total * math.log(count / total) for count in counts)
        return entropy >= math.log(column.l) - tolerance
    if len(counts) < column.l:
        return False
    tail = sum(counts[math.ceil(column.l) - 1 :])
    return counts[0] < Fraction(repr(column.c)) * tail


def is_close(column: Sensitive, members: list[int], tolerance: float) -> bool:
    """Return whether the group's values are close to those of all rows."""
    if column.t < 0:
        return True
    parent, weight = column.parent, column.weight
    if parent is None or weight is None:
        parent, weight = [-1] * (column.n_values + 1), [0.5] * (column.n_values + 1)
    here = _shares([column.codes[row] for row in members], column.n_values, parent)
    everywhere = _shares(column.codes, column.n_values, parent)
    gaps = (abs(here[node] - everywhere[node]) for node in range(len(parent)))
    distance = sum(Fraction(length) * gap for length, gap in zip(weight, gaps, strict=True))
    return float(distance) <= column.t + tolerance


def _shares(codes: list[int], n_values: int, parent: list[int]) -> list[Fraction]:
    """Return the share of rows under every node, each row climbing on its own."""
    count: Counter[int] = Counter()
    for code in codes:
        node = code if code >= 0 else n_values
        while node >= 0:
            count[node] += 1
            node = parent[node]
    return [Fraction(count[node], len(codes)) for node in range(len(parent))]
