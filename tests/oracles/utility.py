"""What a release is good for, computed cell by cell from the definitions."""

from itertools import product


def leaves_under(hierarchy, node):
    import numpy as np

    leaves = np.arange(hierarchy.n_leaves, dtype=np.int32)
    above = np.full(hierarchy.n_leaves, node, dtype=np.int32)
    return leaves[hierarchy.is_ancestor(above, leaves)].tolist()


def expected_count(rows_of_cells, hierarchies, meant):
    """Σ over rows of Π over columns of the share of the cell's leaves that are meant."""
    total = 0.0
    for cells in rows_of_cells:
        product_of_shares = 1.0
        for node, hierarchy, flags in zip(cells, hierarchies, meant, strict=True):
            under = leaves_under(hierarchy, node)
            product_of_shares *= sum(bool(flags[leaf]) for leaf in under) / len(under)
        total += product_of_shares
    return total


def spread_counts(nodes, hierarchy):
    counts = [0.0] * hierarchy.n_leaves
    for node in nodes:
        under = leaves_under(hierarchy, node)
        for leaf in under:
            counts[leaf] += 1 / len(under)
    return counts


def distance(before, after):
    return (
        sum(
            abs(one / sum(before) - other / sum(after))
            for one, other in zip(before, after, strict=True)
        )
        / 2
    )


def pair_counts(nodes_of_rows, hierarchies):
    """The expected number of rows with every pair of leaves."""
    counts = [[0.0] * hierarchies[1].n_leaves for _ in range(hierarchies[0].n_leaves)]
    for one, other in nodes_of_rows:
        ones = leaves_under(hierarchies[0], one)
        others = leaves_under(hierarchies[1], other)
        for a, b in product(ones, others):
            counts[a][b] += 1 / (len(ones) * len(others))
    return counts


def cramers_v(counts):
    rows = [row for row in counts if sum(row) > 0]
    columns = [place for place in range(len(counts[0])) if sum(row[place] for row in counts) > 0]
    if min(len(rows), len(columns)) < 2:
        return 0.0
    total = sum(map(sum, rows))
    chi = 0.0
    for row in rows:
        for place in columns:
            expected = sum(row) * sum(other[place] for other in rows) / total
            chi += (row[place] - expected) ** 2 / expected
    return (chi / (total * (min(len(rows), len(columns)) - 1))) ** 0.5
