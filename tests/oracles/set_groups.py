"""Groups of sets, by definition: what may be shown, what is best, what makes a release valid."""

from collections import Counter
from fractions import Fraction
from itertools import combinations


def may_show(kind, vote, need, size, holders):
    """Whether a group of this size and need may show an item that so many of its rows hold."""
    if kind == "suppression":
        return holders == size
    of = size if kind == "smooth" else need
    return 2 * holders > of if vote == "strict" else 2 * holders >= of


def members(group_of_row):
    """Return the rows of every group."""
    groups = {}
    for row, group in enumerate(group_of_row):
        groups.setdefault(group, []).append(row)
    return groups


def jaccard(rows, released):
    """Entries in both over entries in either."""
    both = sum(len(row & shown) for row, shown in zip(rows, released, strict=True))
    either = sum(len(row | shown) for row, shown in zip(rows, released, strict=True))
    return Fraction(both, either) if either else Fraction(1)


def best_utility(rows, group_of_row, kind, vote, needs):
    """Return the best (kept, created) of these groups: the prefix of allowed items, by worth."""
    allowed = []
    for group in members(group_of_row).values():
        need = max(needs[row] for row in group)
        for holders in Counter(item for row in group for item in rows[row]).values():
            if may_show(kind, vote, need, len(group), holders):
                allowed.append((holders, len(group) - holders))
    # best ratio first: the best set of items for a ratio is a prefix of this order
    allowed.sort(key=lambda item: Fraction(item[1], item[0]))
    n_entries = sum(map(len, rows))
    kept = created = 0
    best = (Fraction(0) if n_entries else Fraction(1), 0, 0)
    for more_kept, more_created in allowed:
        kept += more_kept
        created += more_created
        best = max(best, (Fraction(kept, n_entries + created), kept, created))
    return best


def problems(rows, released, kind, vote, needs):
    """Return what is wrong with a release, groups recomputed from it; nothing if it is valid."""
    groups = members([tuple(sorted(shown)) for shown in released])
    wrong = []
    for shown, group in groups.items():
        need = max(needs[row] for row in group)
        if len(group) < need:
            wrong.append(f"a group of {len(group)} where {need} are needed")
        for item in shown:
            holders = sum(item in rows[row] for row in group)
            if not may_show(kind, vote, need, len(group), holders):
                wrong.append(f"an item that {holders} of {len(group)} hold")
    return wrong


def partitions(n_rows, least):
    """Yield every way to put rows into groups of at least so many, as a group for each row."""

    def split(rows):
        if not rows:
            yield []
            return
        first, *others = rows
        for size in range(least - 1, len(others) + 1):
            for chosen in combinations(others, size):
                rest = [row for row in others if row not in chosen]
                if rest and len(rest) < least:
                    continue
                for groups in split(rest):
                    yield [(first, *chosen), *groups]

    for groups in split(list(range(n_rows))):
        group_of_row = [0] * n_rows
        for group, rows in enumerate(groups):
            for row in rows:
                group_of_row[row] = group
        yield group_of_row


def optimum(rows, kind, vote, needs):
    """Return the best Jaccard similarity of all valid groups."""
    best = Fraction(-1)
    for group_of_row in partitions(len(rows), min(needs)):
        if all(
            len(group) >= max(needs[row] for row in group)
            for group in members(group_of_row).values()
        ):
            best = max(best, best_utility(rows, group_of_row, kind, vote, needs)[0])
    return best
