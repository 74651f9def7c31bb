"""Trees by their definitions: dictionaries from child to parent, recursion, no NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise


def parent_labels(tree):
    """Child → parent by label, leaves first."""
    return {tree.labels[node]: tree.labels[tree.parent[node]] for node in range(tree.n_nodes - 1)}


def way_up(parent_of, label):
    """The label and everything above it."""
    path = [label]
    while path[-1] in parent_of:
        path.append(parent_of[path[-1]])
    return path


def leaves(parent_of):
    """Labels that are nobody's parent, in the order in which they are named."""
    inner = set(parent_of.values())
    return [label for label in parent_of if label not in inner]


def children(parent_of, label):
    return [child for child, above in parent_of.items() if above == label]


def depth(parent_of, label):
    return len(way_up(parent_of, label)) - 1


def height(parent_of, label):
    return max((1 + height(parent_of, child) for child in children(parent_of, label)), default=0)


def leaves_under(parent_of, label):
    return [leaf for leaf in leaves(parent_of) if label in way_up(parent_of, leaf)]


def span(parent_of, label, number_of):
    """The distance from the least to the largest number under a label."""
    numbers = [number_of[leaf] for leaf in leaves_under(parent_of, label)]
    numbers = [number for number in numbers if not math.isnan(number)]
    return max(numbers) - min(numbers) if numbers else 0.0


def walk(parent_of, label, key):
    """The leaves under a label, children in the order of their least key."""
    below = children(parent_of, label)
    if not below:
        return [label]

    def first(child):
        return min(key[leaf] for leaf in leaves_under(parent_of, child))

    return [leaf for child in sorted(below, key=first) for leaf in walk(parent_of, child, key)]


def at_level(parent_of, leaf, level):
    """The highest label above a leaf that is at most ``level`` steps high."""
    low = [label for label in way_up(parent_of, leaf) if height(parent_of, label) <= level]
    return low[-1]


def interval(number, width, start=0):
    """The edges of a number's interval, in exact fractions of their decimals."""
    number, width, start = Fraction(str(number)), Fraction(str(width)), Fraction(str(start))
    place = (number - start) // width
    return start + place * width, start + (place + 1) * width


def nests(groups_of_level):
    """Whether values that share a group share one on every later level: lists of labels."""
    for lower, upper in pairwise(groups_of_level):
        above = {}
        for group, higher in zip(lower, upper, strict=True):
            if above.setdefault(group, higher) != higher:
                return False
    return True
