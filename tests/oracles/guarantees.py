"""The guarantees' definitions, row by row and word by word: Counter, Fraction and loops only.

A table is a list of rows, a row a dict from column to cell (None is an empty cell).
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

STAR = "*"


def is_blank(cell, tokens=()):
    return cell is None or cell == "" or cell == STAR or cell in tokens


def covers(other, row, quasi, tokens=()):
    """In each column the other shows nothing, or equals a shown cell of the row."""
    for column in quasi:
        if is_blank(other[column], tokens):
            continue
        if is_blank(row[column], tokens) or other[column] != row[column]:
            return False
    return True


def unifies(other, row, quasi, tokens=()):
    """No column shows a different value in each."""
    return all(
        is_blank(other[column], tokens)
        or is_blank(row[column], tokens)
        or other[column] == row[column]
        for column in quasi
    )


def is_unchecked(row, quasi, tokens=()):
    return any(is_blank(row[column], tokens) for column in quasi)


def crowd_of(rows, row, quasi, stars, tokens=(), also=()):
    """The rows that stand with a row; None where ``excluded`` does not vouch for it.

    ``also`` are columns that must be written alike whatever stars mean.
    """
    alike = [other for other in rows if all(other[column] == row[column] for column in also)]
    if stars == "as-value":
        return [o for o in alike if all(o[column] == row[column] for column in quasi)]
    if stars == "as-wildcard":
        return [o for o in alike if covers(o, row, quasi, tokens)]
    if is_unchecked(row, quasi, tokens):
        return None
    return [o for o in alike if all(o[column] == row[column] for column in quasi)]


def exposed_by_size(rows, quasi, sensitive, k, stars, tokens=(), person=None, k_column=None):
    """Numbers (from 1) of the rows that break k-anonymity.

    A group that is too small for one of its rows' own k exposes all of them; rows are of one group
    where they look alike, which for wildcards means that they cover one another.
    """
    exposed = []
    for number, row in enumerate(rows, 1):
        crowd = crowd_of(rows, row, quasi, stars, tokens)
        if crowd is None:
            if any(not is_blank(row[column], tokens) for column in [*quasi, *sensitive]):
                exposed.append(number)
            continue
        size = len({other[person] for other in crowd}) if person else len(crowd)
        asked = k
        if k_column:
            group = [other for other in crowd if covers(row, other, quasi, tokens)]
            group = group if stars == "as-wildcard" else crowd
            asked = max([k, *(int(other[k_column]) for other in group)])
        if size < asked:
            exposed.append(number)
    return exposed


def crowd_sizes(rows, quasi, stars, tokens=(), person=None):
    sizes = []
    for row in rows:
        crowd = crowd_of(rows, row, quasi, stars, tokens)
        if crowd is not None:
            sizes.append(len({other[person] for other in crowd}) if person else len(crowd))
    return sizes


def possible_sizes(rows, quasi, tokens=()):
    return [sum(unifies(other, row, quasi, tokens) for other in rows) for row in rows]


# ── l-diversity ─────────────────────────────────────────────────────────────────────────────────


def known_counts(crowd, column, tokens=()):
    return Counter(row[column] for row in crowd if not is_blank(row[column], tokens))


def entropy(counts):
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def is_diverse(counts, l, kind, c=1.0):  # noqa: E741
    if kind == "distinct":
        return len(counts) >= l
    if kind == "entropy":
        return bool(counts) and entropy(counts) >= math.log(l) - 1e-9
    ranked = sorted(counts.values(), reverse=True)
    return len(ranked) >= l and ranked[0] < Fraction(str(c)) * sum(ranked[int(l) - 1 :])


# ── t-closeness ─────────────────────────────────────────────────────────────────────────────────


def distribution(rows, column, tokens=()):
    """Shares of values; every blank cell is the one value None."""
    counts = Counter(None if is_blank(row[column], tokens) else row[column] for row in rows)
    return {value: Fraction(n, len(rows)) for value, n in counts.items()}


def equal_distance(p, q):
    return sum(abs(p.get(v, 0) - q.get(v, 0)) for v in {*p, *q}) / 2


def ordered_distance(p, q, values):
    """Li et al.: Σᵢ|r₁ + … + rᵢ| / (m − 1) for r = p − q over the values in order."""
    if len(values) < 2:
        return Fraction(0)
    total = Fraction(0)
    running = Fraction(0)
    for value in values:
        running += p.get(value, 0) - q.get(value, 0)
        total += abs(running)
    return total / (len(values) - 1)


def hierarchical_distance(p, q, children, root):
    """Li et al.: Σ over inner nodes of height(N)/H · min(what leaves, what arrives below N)."""

    def height(node):
        return 1 + max(map(height, children[node])) if node in children else 0

    def walk(node):
        """Return the extra mass of a node, and the cost in and below it."""
        if node not in children:
            return p.get(node, Fraction(0)) - q.get(node, Fraction(0)), Fraction(0)
        met = [walk(child) for child in children[node]]
        gains = sum(extra for extra, _ in met if extra > 0)
        losses = -sum(extra for extra, _ in met if extra < 0)
        cost = Fraction(height(node), height(root)) * min(gains, losses)
        return sum(extra for extra, _ in met), cost + sum(below for _, below in met)

    return walk(root)[1]


# ── likeness ────────────────────────────────────────────────────────────────────────────────────


def alpha_of(crowd, column, tokens=()):
    counts = known_counts(crowd, column, tokens)
    return max((Fraction(n, sum(counts.values())) for n in counts.values()), default=Fraction(0))


def beta_of(q, p):
    return max([Fraction(0), *((q[v] - p[v]) / p[v] for v in q)])


def is_enhanced(q, p, beta):
    return all(
        float((q[v] - p[v]) / p[v]) <= min(beta, -math.log(p[v])) + 1e-9 for v in q if q[v] > p[v]
    )


def delta_of(q, p):
    return max(abs(math.log(q[v] / p[v])) if q.get(v, 0) > 0 else math.inf for v in p)
