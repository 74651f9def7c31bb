"""Full-domain recoding by trying every choice of levels: Counter, itertools and no pruning."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace

from oracles.methods import Tree
from oracles.validity import Rules, is_valid


@dataclass(frozen=True)
class Best:
    """The best choice: what it costs, its levels, who is suppressed."""

    price: int
    levels: tuple[int, ...]
    suppressed: frozenset[int]


def height(tree: Tree, node: int) -> int:
    """Return the longest way from a node down to a leaf."""
    below = [child for child, parent in enumerate(tree.parent) if parent == node and child != node]
    return max((1 + height(tree, child) for child in below), default=0)


def shown_on(tree: Tree, level: int) -> list[int]:
    """Return the node that each leaf shows: its highest ancestor that is at most so high."""
    n_leaves = len(tree.position)
    return [
        [node for node in tree.ancestors(leaf) if height(tree, node) <= level][-1]
        for leaf in range(n_leaves)
    ]


def restricted(rules: Rules, kept: list[int]) -> Rules:
    """Return the rules over some rows alone, numbered anew; t then compares with those."""
    return replace(
        rules,
        k_of_row=None if rules.k_of_row is None else [rules.k_of_row[row] for row in kept],
        person_of_row=None
        if rules.person_of_row is None
        else [rules.person_of_row[row] for row in kept],
        sensitive=tuple(
            replace(column, codes=[column.codes[row] for row in kept]) for column in rules.sensitive
        ),
    )


def suppressed_rows(groups: list[list[int]], rules: Rules, n_rows: int) -> set[int]:
    """Return the rows of groups that are not valid, judged until no more fall out.

    Groups of fewer than k rows go first: no distribution could save them.
    """
    out = {row for group in groups if len(group) < rules.k for row in group}
    while True:
        kept = [row for row in range(n_rows) if row not in out]
        if not kept:
            return out
        number = {row: place for place, row in enumerate(kept)}
        among = restricted(rules, kept)
        more = {
            row
            for group in groups
            if group[0] not in out and not is_valid([number[row] for row in group], among)
            for row in group
        }
        if not more:
            return out
        out |= more


def best_levels(
    trees: list[Tree],
    rows: list[tuple[int, ...]],
    rules: Rules,
    n_suppressible: int,
    ranges: list[range] | None = None,
) -> Best | None:
    """Return the cheapest choice that holds; ties by the sum of levels, then in order."""
    tops = [height(tree, len(tree.parent) - 1) for tree in trees]
    found = None
    for levels in itertools.product(*(ranges or [range(top + 1) for top in tops])):
        shown = [shown_on(tree, level) for tree, level in zip(trees, levels, strict=True)]
        groups = defaultdict(list)
        for row, leaves in enumerate(rows):
            groups[tuple(nodes[leaf] for nodes, leaf in zip(shown, leaves, strict=True))].append(
                row
            )
        out = suppressed_rows(list(groups.values()), rules, len(rows))
        if len(out) > n_suppressible or len(out) == len(rows):
            continue
        price = 0
        for row, leaves in enumerate(rows):
            for tree, nodes, leaf in zip(trees, shown, leaves, strict=True):
                left = 0 if row in out else tree.cost_to_root[nodes[leaf]]
                price += tree.cost_to_root[leaf] - left
        key = (price, sum(levels), levels)
        if found is None or key < (found.price, sum(found.levels), found.levels):
            found = Best(price, levels, frozenset(out))
    return found
