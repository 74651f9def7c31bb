"""Items that stand for sets of items: how they are written, and transactions that hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.set_names import in_order, item_names_of, unless_numbers, whole_if_all_are
from incrowd.data.sets import Sets
from incrowd.errors import DataError

_ASIDE = set(' \t\r\n",()')


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


def generalized_sets(
    sets: Sets, part_of_item: NDArray[np.int32], is_sensitive: NDArray[np.bool_]
) -> Sets:
    """Return the rows with every public item replaced by the label of its part, once in a row.

    ``part_of_item[item]`` is −1 for sensitive items, which stay as they are, and for items that no
    row holds, which are left out. Items of the result are numbered in the order of their labels,
    as a reader of the release numbers them. O(entries).
    """
    from incrowd.data.generalized_loops import replaced

    is_held = np.zeros(sets.n_items, dtype=np.bool_)
    is_held[sets.items] = True
    if (is_held & ~is_sensitive & (part_of_item < 0)).any():
        raise ValueError("a public item that a row holds is in no part")
    names = [str(name) for name in item_names_of(sets).to_pylist()]
    n_parts = int(part_of_item.max(initial=-1)) + 1
    members: list[list[int]] = [[] for _ in range(n_parts)]
    for item in np.flatnonzero(is_held).tolist():
        if is_sensitive[item]:
            members.append([item])
        else:
            members[part_of_item[item]].append(item)
    held = [of_part for of_part in members if of_part]
    labels = pa.array([label_of([names[item] for item in one]) for one in held], pa.string())
    ordered, place = in_order(whole_if_all_are(labels))
    new_of_item = np.full(sets.n_items, -1, dtype=np.int32)
    for new, of_part in zip(place.tolist(), held, strict=True):
        new_of_item[of_part] = new
    starts, items = replaced(sets.starts, sets.items, new_of_item, len(held))
    return Sets(starts, items, len(held), sets.row_names, unless_numbers(ordered))


def original_names(released: Sets) -> pa.Array:
    """Return the items that released ones stand for, in the order in which a reader numbers them.

    Raises DataError as ``members_of`` does.
    """
    labels = item_names_of(released).to_pylist()
    members = sorted({name for label in labels for name in members_of(str(label))})
    return in_order(whole_if_all_are(pa.array(members, pa.string())))[0]
