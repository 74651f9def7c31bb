"""Covers, matchings, neighbours and crowds by their definitions: no arrays, no shortcuts."""

from itertools import combinations


def in_order(edges):
    """Return the numbers of edges (u, v, weight) by weight, smaller end, larger end."""
    return sorted(
        range(len(edges)),
        key=lambda edge: (edges[edge][2], min(edges[edge][:2]), max(edges[edge][:2])),
    )


def degrees(edges, taken, n_vertices):
    """Return how many of the taken edges each vertex has."""
    degree = [0] * n_vertices
    for edge in taken:
        for end in edges[edge][:2]:
            degree[end] += 1
    return degree


def reverse_delete(edges, b):
    """Return the edges that are left when each, heaviest first, goes if nobody falls below b."""
    left = set(range(len(edges)))
    for edge in reversed(in_order(edges)):
        degree = degrees(edges, left, len(b))
        if all(degree[end] > b[end] for end in edges[edge][:2]):
            left.remove(edge)
    return left


def greedy_matching(edges, b):
    """Return the matching that takes each edge, heaviest first, where both ends have room."""
    taken = set()
    room = list(b)
    for edge in reversed(in_order(edges)):
        ends = edges[edge][:2]
        if all(room[end] > 0 for end in ends):
            taken.add(edge)
            for end in ends:
                room[end] -= 1
    return taken


def greedy_cover(edges, b):
    """Return the cover that takes the edge of least weight per lacking end, again and again."""
    taken = set()
    while True:
        degree = degrees(edges, taken, len(b))
        best = None
        for place, edge in enumerate(in_order(edges)):
            n_lacking = sum(degree[end] < b[end] for end in edges[edge][:2])
            if edge in taken or n_lacking == 0:
                continue
            key = (edges[edge][2] / n_lacking, -n_lacking, place)
            if best is None or key < best[0]:
                best = (key, edge)
        if best is None:
            return taken
        taken.add(best[1])


def lightest_of_each(edges, b):
    """Return the edges that are among the b lightest of one of their ends."""
    taken = set()
    for vertex, count in enumerate(b):
        own = [edge for edge in in_order(edges) if vertex in edges[edge][:2]]
        taken.update(own[:count])
    return taken


def subsets(edges):
    """Return every set of edges."""
    for size in range(len(edges) + 1):
        yield from combinations(range(len(edges)), size)


def is_cover(edges, taken, b):
    """Return whether every vertex has at least b of the taken edges."""
    degree = degrees(edges, taken, len(b))
    return all(has >= wish for has, wish in zip(degree, b, strict=True))


def weight_of(edges, taken):
    """Return the sum of the taken edges' weights."""
    return sum(edges[edge][2] for edge in taken)


def least_cover(edges, b):
    """Return the least weight of a cover, by trying all."""
    return min(weight_of(edges, taken) for taken in subsets(edges) if is_cover(edges, taken, b))


def most_matching(edges, b):
    """Return the most weight of a matching, by trying all."""
    most = 0
    for taken in subsets(edges):
        degree = degrees(edges, taken, len(b))
        if all(has <= wish for has, wish in zip(degree, b, strict=True)):
            most = max(most, weight_of(edges, taken))
    return most


def n_differences(rows, edges, taken):
    """Return h(G): the cells in which the rows of a taken edge differ, counted on both sides."""
    total = 0
    for edge in taken:
        one, other = (rows[end] for end in edges[edge][:2])
        total += 2 * sum(left != right for left, right in zip(one, other, strict=True))
    return total


def n_stars(rows, edges, taken):
    """Return s(G): the cells that differ from those of some neighbour."""
    stars = set()
    for edge in taken:
        one, other = edges[edge][:2]
        for cell, (left, right) in enumerate(zip(rows[one], rows[other], strict=True)):
            if left != right:
                stars.update({(one, cell), (other, cell)})
    return len(stars)


def one_hot(row, n_values):
    """Return a row of codes as bits."""
    return [
        int(code == value)
        for code, count in zip(row, n_values, strict=True)
        for value in range(count)
    ]


def crowd_sizes(rows, is_masked):
    """Return for each row how many rows it is mutually compatible with, itself included."""

    def fits(person, released):
        return all(
            masked or rows[person][cell] == rows[released][cell]
            for cell, masked in enumerate(is_masked[released])
        )

    everybody = range(len(rows))
    return [sum(fits(one, other) and fits(other, one) for other in everybody) for one in everybody]


def distance(rows, weights, one, other):
    """Return the weighted distance of two rows of cells: both rows' weights where they differ."""
    return sum(
        weights[one][cell] + weights[other][cell]
        for cell in range(len(rows[one]))
        if rows[one][cell] != rows[other][cell]
    )


def nearest_rows(rows, weights, rank, row, count):
    """Return the nearest rows with other cells than a row's own, by distance, then rank."""
    others = [other for other in range(len(rows)) if rows[other] != rows[row]]
    others.sort(key=lambda other: (distance(rows, weights, row, other), rank[other]))
    return others[:count]


def ranks_of(rows, k, is_bit):
    """Return each row's need of rows of other profiles, and its rank among all.

    Ranks go by falling k where bits are masked, else by falling need; then by profile.
    """
    need = [max(0, wish - rows.count(row)) for row, wish in zip(rows, k, strict=True)]
    first = k if is_bit else need
    order = sorted(range(len(rows)), key=lambda row: (-first[row], rows[row], k[row], row))
    return need, {row: rank for rank, row in enumerate(order)}


def algorithm_1(rows, cells, k, weight_of_count, n_iterations):
    """Return the masks of Algorithm 1 after each iteration, on the whole graph.

    ``cells`` are the rows as they are shown: themselves, or bits. Rows with equal cells have no
    edge between them and lower each other's need.
    """
    need, rank = ranks_of(rows, k, is_bit=cells is not rows)
    order = sorted(rank, key=rank.get)
    weights = [[weight_of_count(0)] * len(cells[0]) for _ in rows]
    masks = []
    for _ in range(n_iterations):
        edges = [
            (rank[one], rank[other], distance(cells, weights, one, other))
            for one, other in combinations(range(len(rows)), 2)
            if cells[one] != cells[other]
        ]
        cover = reverse_delete(edges, [need[row] for row in order])
        counts = [[0] * len(cells[0]) for _ in rows]
        for edge in cover:
            one, other = (order[end] for end in edges[edge][:2])
            for cell, (left, right) in enumerate(zip(cells[one], cells[other], strict=True)):
                if left != right:
                    counts[one][cell] += 1
                    counts[other][cell] += 1
        weights = [[weight_of_count(count) for count in line] for line in counts]
        masks.append([[count > 0 for count in line] for line in counts])
    return masks
