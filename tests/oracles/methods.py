"""GkAA and Mondrian as a student would write them: lists, sets and no speed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Valid = Callable[[list[int]], bool]


class StuckError(Exception):
    """All rows in one group are not valid."""


@dataclass(frozen=True)
class Tree:
    """One column's hierarchy: parents, the position of each leaf, prices, how wide nodes are."""

    parent: list[int]
    position: list[int]
    cost_to_root: list[int]
    width: list[float]
    costs: dict[tuple[int, int], int] | None = None

    def cost(self, node: int, above: int) -> int:
        """Return what generalizing a node to an ancestor costs, as stated or by the metric."""
        if self.costs is not None:
            return 0 if node == above else self.costs[node, above]
        return self.cost_to_root[node] - self.cost_to_root[above]

    def ancestors(self, node: int) -> list[int]:
        """Return the node and all above it."""
        path = [node]
        while self.parent[path[-1]] != path[-1]:
            path.append(self.parent[path[-1]])
        return path

    def meet(self, nodes: Sequence[int]) -> int:
        """Return the lowest node above all."""
        common = set(self.ancestors(nodes[0])).intersection(*map(self.ancestors, nodes))
        return next(node for node in self.ancestors(nodes[0]) if node in common)

    def leaves(self, node: int) -> list[int]:
        """Return the leaves at or under a node."""
        return [leaf for leaf in range(len(self.position)) if node in self.ancestors(leaf)]

    def sort_key(self, node: int) -> tuple[int, int]:
        """Return what sorts nodes as a walk does: by first leaf, from above down."""
        return min(self.position[leaf] for leaf in self.leaves(node)), len(self.ancestors(node))


def box(trees: list[Tree], rows: list[tuple[int, ...]], members: list[int]) -> tuple[int, ...]:
    """Return the lowest node above all members, column by column."""
    return tuple(
        tree.meet([rows[row][column] for row in members]) for column, tree in enumerate(trees)
    )


def greedy(
    trees: list[Tree], rows: list[tuple[int, ...]], columns: list[int], valid: Valid
) -> list[tuple[int, ...]]:
    """Return each row's released nodes by Algorithms 1 and 2, ties settled by size and age."""
    members_of = defaultdict(list)
    for row, nodes in enumerate(rows):
        members_of[nodes].append(row)
    order = sorted(
        members_of, key=lambda nodes: [trees[column].sort_key(nodes[column]) for column in columns]
    )
    groups = {number: members_of[nodes] for number, nodes in enumerate(order)}
    boxes = dict(enumerate(order))
    next_number = len(order)
    while True:
        waiting = [number for number in groups if not valid(groups[number])]
        if not waiting:
            break
        if len(groups) == 1:
            raise StuckError
        small = min(waiting, key=lambda number: (len(groups[number]), number))
        partner = min(
            (number for number in groups if number != small),
            key=lambda number: (_merge_cost(trees, groups, boxes, small, number), number),
        )
        groups[next_number] = groups[small] + groups[partner]
        boxes[next_number] = _join(trees, boxes[small], boxes[partner])
        for merged in (small, partner):
            del groups[merged], boxes[merged]
        next_number += 1
    released: list[tuple[int, ...]] = [()] * len(rows)
    for number, members in groups.items():
        for row in members:
            released[row] = boxes[number]
    return released


def _join(trees: list[Tree], first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip(first, second, strict=True)
    return tuple(tree.meet(pair) for tree, pair in zip(trees, pairs, strict=True))


def _merge_cost(
    trees: list[Tree],
    groups: dict[int, list[int]],
    boxes: dict[int, tuple[int, ...]],
    first: int,
    second: int,
) -> int:
    joined = _join(trees, boxes[first], boxes[second])
    cost = 0
    for group in (first, second):
        for tree, node, above in zip(trees, boxes[group], joined, strict=True):
            cost += len(groups[group]) * tree.cost(node, above)
    return cost


def mondrian(
    trees: list[Tree],
    rows: list[tuple[int, ...]],
    content: list[tuple[int, ...]],
    k: int,
    is_strict: bool,
    valid: Valid,
) -> list[tuple[int, ...]]:
    """Return each row's released nodes; ``content`` orders rows that a relaxed cut tells apart."""
    everybody = sorted(range(len(rows)), key=lambda row: (content[row], row))
    if not valid(everybody):
        raise StuckError
    released: list[tuple[int, ...]] = [()] * len(rows)
    waiting = [everybody]
    while waiting:
        part = waiting.pop()
        cut = _cut(trees, rows, part, k, is_strict, valid)
        if cut is not None:
            waiting.extend(cut)
            continue
        for row in part:
            released[row] = box(trees, rows, part)
    return released


def _cut(
    trees: list[Tree],
    rows: list[tuple[int, ...]],
    part: list[int],
    k: int,
    is_strict: bool,
    valid: Valid,
) -> tuple[list[int], list[int]] | None:
    nodes = box(trees, rows, part)
    by_width = sorted(
        range(len(trees)), key=lambda column: (-trees[column].width[nodes[column]], column)
    )
    for column in by_width:
        if len({rows[row][column] for row in part}) == 1:
            continue
        tree = trees[column]
        if max(Counter(_children(tree, rows, part, column, nodes[column])).values()) < k:
            continue
        if is_strict:
            cuts = _strict_cuts(tree, rows, part, column, nodes[column])
        else:
            ranked = sorted(part, key=lambda row: tree.position[rows[row][column]])
            cuts = [set(ranked[: len(part) // 2])]
        n_tried = 0
        for left in cuts:
            if min(len(left), len(part) - len(left)) < k or n_tried == 32:
                continue
            n_tried += 1
            sides = [row for row in part if row in left], [row for row in part if row not in left]
            if valid(sides[0]) and valid(sides[1]):
                return sides
    return None


def _children(
    tree: Tree, rows: list[tuple[int, ...]], part: list[int], column: int, node: int
) -> list[int]:
    """Return the child of a node that each row lies under."""
    paths = [tree.ancestors(rows[row][column]) for row in part]
    return [path[path.index(node) - 1] for path in paths]


def _strict_cuts(
    tree: Tree, rows: list[tuple[int, ...]], part: list[int], column: int, node: int
) -> list[set[int]]:
    """Return the left sides of all cuts between children of a node, nearest the median first."""
    child_of = dict(zip(part, _children(tree, rows, part, column, node), strict=True))
    children = sorted(set(child_of.values()), key=tree.sort_key)
    sides = [
        {row for row in part if child_of[row] in children[:n_left]}
        for n_left in range(1, len(children))
    ]
    return sorted(sides, key=lambda left: (abs(2 * len(left) - len(part)), len(left)))


def group_members(released: list[tuple[int, ...]]) -> list[list[int]]:
    """Return the rows of every group of equal released rows."""
    members = defaultdict(list)
    for row, nodes in enumerate(released):
        members[nodes].append(row)
    assert Counter(map(len, members.values())).total() == len(members)
    return list(members.values())
