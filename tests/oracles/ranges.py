"""Ranges by what their labels say: read with the eye of a stranger, no NumPy."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import product

NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"


@cache
def edges(label):
    """The least number of a range and the first beyond it; None is open. None for no range."""
    if found := re.fullmatch(rf"<({NUMBER})", label):
        return None, Fraction(found[1])
    if found := re.fullmatch(rf">=({NUMBER})", label):
        return Fraction(found[1]), None
    if found := re.fullmatch(rf"({NUMBER}) to <({NUMBER})", label):
        return Fraction(found[1]), Fraction(found[2])
    if found := re.fullmatch(r"(-?[0-9]+)(?:-| to )(-?[0-9]+)", label):
        return Fraction(found[1]), Fraction(found[2]) + 1
    return None


@cache
def holds(label, text):
    """Whether a range holds a number's text; ``*`` holds everything, a text only itself."""
    if label in ("*", text):
        return True
    found = edges(label)
    if found is None or re.fullmatch(NUMBER, text) is None:
        return False
    low, beyond = found
    number = Fraction(text)
    return (low is None or number >= low) and (beyond is None or number < beyond)


def penalty(label, texts, is_whole):
    """The width of a range over that of the numbers, cut to where the numbers end."""
    numbers = [Fraction(text) for text in texts if re.fullmatch(NUMBER, text)]
    least, greatest = min(numbers), max(numbers)
    if label == "*":
        return Fraction(1)
    found = edges(label)
    if found is None:
        return Fraction(0)
    low = least if found[0] is None else max(least, found[0])
    high = greatest if found[1] is None else min(greatest, found[1] - (1 if is_whole else 0))
    return (high - low) / (greatest - least)


def partitions(items, k):
    """All ways to put items into groups of at least k."""
    if not items:
        yield []
        return
    head, rest = items[0], items[1:]
    for chosen in product((False, True), repeat=len(rest)):
        group = [head, *(item for item, is_in in zip(rest, chosen, strict=True) if is_in)]
        left = [item for item, is_in in zip(rest, chosen, strict=True) if not is_in]
        if len(group) >= k:
            for others in partitions(left, k):
                yield [group, *others]
