"""Microaggregation as the papers tell it, row by row: MDAV-generic, and sums of squares."""

from fractions import Fraction


def squared(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def mean(rows):
    return [Fraction(sum(column)) / len(rows) for column in zip(*rows, strict=True)]


def mdav(rows, k):
    """Return the groups of MDAV-generic as lists of row numbers; the first of equals is taken."""
    left, groups = list(range(len(rows))), []

    def farthest(point):
        return max(left, key=lambda row: (squared(rows[row], point), -row))

    def gather(row):
        taken = sorted(left, key=lambda other: (squared(rows[other], rows[row]), other))[:k]
        groups.append(sorted(taken))
        left[:] = [other for other in left if other not in taken]

    while len(left) >= 3 * k:
        one = farthest(mean([rows[row] for row in left]))
        other = farthest(rows[one])
        gather(one)
        gather(other)
    if len(left) >= 2 * k:
        gather(farthest(mean([rows[row] for row in left])))
    groups.append(list(left))
    return groups


def spread(rows, groups):
    """Return the sum of squared distances of rows from the means of their groups."""
    total = Fraction(0)
    for group in groups:
        members = [rows[row] for row in group]
        centre = mean(members)
        total += sum(squared(member, centre) for member in members)
    return total


def partitions(rows, k):
    """Yield every way to put rows (numbers) into groups of at least k."""
    if not rows:
        yield []
        return

    def subsets(rest, chosen):
        if not rest:
            yield chosen, []
            return
        for inside, outside in subsets(rest[1:], chosen):
            yield [*inside, rest[0]], outside
            yield inside, [*outside, rest[0]]

    for inside, outside in subsets(rows[1:], [rows[0]]):
        if len(inside) >= k:
            for others in partitions(outside, k):
                yield [inside, *others]
