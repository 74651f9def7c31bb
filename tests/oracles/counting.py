"""Counting and grouping by hand: plain loops over lists of dictionaries."""

from collections import Counter, defaultdict


def count_lines(rows, by, people=None):
    """Return {combination: n_rows} or {combination: (n_rows, n_people)}."""
    n_rows = Counter(tuple(row[name] for name in by) for row in rows)
    if not by:
        n_rows[()] = len(rows)
    if people is None:
        return dict(n_rows)
    seen = defaultdict(set)
    for row in rows:
        seen[tuple(row[name] for name in by)].add(row[people])
    return {combination: (n, len(seen[combination])) for combination, n in n_rows.items()}


def group_rows(rows, key):
    """Return {key: the rows that have it, sorted}."""
    groups = defaultdict(list)
    for row in rows:
        groups[row[key]].append(tuple(row.values()))
    return {value: sorted(members, key=repr) for value, members in groups.items()}


def as_bag(rows):
    """Return rows as a multiset, whatever their order."""
    return Counter(tuple(row.values()) for row in rows)
