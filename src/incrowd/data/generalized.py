"""Items that stand for sets of items: how they are written, and transactions that hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from incrowd.errors import DataError

_ASIDE = set(' \t",()')


def label_of(members: Sequence[str]) -> str:
    """Return how a part of items is written: ``a`` alone, ``(a,b,f)`` for several.

    Members stand in the order given. A name with blanks, commas, quotes or parentheses is quoted
    as in CSV; an item alone whose name looks like a part is written as a part of one.

    >>> label_of(["a", "b", "f"]), label_of(["a"]), label_of(["(a,b)"])
    ('(a,b,f)', 'a', '("(a,b)")')
    """
    if len(members) == 1 and not members[0].startswith("("):
        return members[0]
    cells = [
        '"' + name.replace('"', '""') + '"' if not name or _ASIDE & set(name) else name
        for name in members
    ]
    return "(" + ",".join(cells) + ")"


def members_of(label: str) -> tuple[str, ...]:
    """Return the items that a released item stands for; the inverse of ``label_of``.

    Raises DataError where it begins as a part and does not end as one, or names an item twice.

    >>> members_of('(a,"b c",f)')
    ('a', 'b c', 'f')
    """
    if not label.startswith("("):
        return (label,)
    found: list[list[str]] = []
    if label.endswith(")"):
        try:
            found = list(csv.reader(io.StringIO(label[1:-1], newline=""), strict=True))
        except csv.Error:
            found = []
    if len(found) != 1 or len(set(found[0])) != len(found[0]):
        raise DataError(
            "a released item begins as a set of items and is none",
            remedy="Write (a,b,f): items once each, quoted where they hold blanks or commas.",
            examples=[label],
        )
    return tuple(found[0])
