"""Generalized items: how they are written, transactions that hold them, and counts of itemsets."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import DataError, JobError, unknown
from incrowd.sets.files import read_sets
from incrowd.sets.format import SetOptions
from incrowd.sets.names import drop_trivial_names, item_names_of, sort_names, to_integers
from incrowd.sets.sets import Sets

_ASIDE = set(' \t\r\n",()')


def format_label(members: Sequence[str]) -> str:
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


def parse_label(label: str) -> tuple[str, ...]:
    """Return the items that a released item stands for; the inverse of ``format_label``.

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


def generalize_sets(
    sets: Sets, part_of_item: NDArray[np.int32], is_sensitive: NDArray[np.bool_]
) -> Sets:
    """Return the rows with every public item replaced by the label of its part, once in a row.

    ``part_of_item[item]`` is −1 for sensitive items, which stay as they are, and for items that no
    row holds, which are left out. Items of the result are numbered in the order of their labels,
    as a reader of the release numbers them. O(entries).
    """
    from incrowd.transactions.kernels import replace_items

    is_held = np.zeros(sets.n_items, dtype=np.bool_)
    is_held[sets.items] = True
    labels, new_of_item = label_parts(item_names_of(sets), is_held, part_of_item, is_sensitive)
    starts, items = replace_items(sets.starts, sets.items, new_of_item, len(labels))
    return Sets(starts, items, len(labels), sets.row_names, drop_trivial_names(labels))


def label_parts(
    item_names: pa.Array,
    is_held: NDArray[np.bool_],
    part_of_item: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the released items by their labels, in order, and which of them every item becomes."""
    if (is_held & ~is_sensitive & (part_of_item < 0)).any():
        raise ValueError("a public item that a row holds is in no part")
    names = [str(name) for name in item_names.to_pylist()]
    n_parts = int(part_of_item.max(initial=-1)) + 1
    members: list[list[int]] = [[] for _ in range(n_parts)]
    for item in np.flatnonzero(is_held).tolist():
        if is_sensitive[item]:
            members.append([item])
        else:
            members[part_of_item[item]].append(item)
    held = [of_part for of_part in members if of_part]
    labels = pa.array([format_label([names[item] for item in one]) for one in held], pa.string())
    ordered, place = sort_names(to_integers(labels))
    new_of_item = np.full(len(names), -1, dtype=np.int32)
    for new, of_part in zip(place.tolist(), held, strict=True):
        new_of_item[of_part] = new
    return ordered, new_of_item


def original_names(labels: pa.Array) -> pa.Array:
    """Return the items that released ones stand for, in the order in which a reader numbers them.

    Raises DataError as ``parse_label`` does.
    """
    members = sorted({name for label in labels.to_pylist() for name in parse_label(str(label))})
    return sort_names(to_integers(pa.array(members, pa.string())))[0]


# How many rows hold all items of a set, for many sets of items at once.

_MOST_WORDS = 1 << 20  # 8 MB of bits at once

Itemset = tuple[int, ...]


class NumberedItemsets(NamedTuple):
    """Itemsets in numbers of the items that matter: set i has ``places[starts[i]:starts[i + 1]]``.

    ``place_of_item`` is −1 for other items. The last of ``n_places`` is of no item at all: it
    stands for −1 in an itemset, which no row holds.
    """

    place_of_item: NDArray[np.int32]
    n_places: int
    starts: NDArray[np.int64]
    places: NDArray[np.int32]


def number_itemsets(itemsets: Sequence[Itemset], n_items: int) -> NumberedItemsets:
    """Number the items of these itemsets; none of them is empty."""
    sizes = np.array([len(itemset) for itemset in itemsets], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.fromiter(
        (item for itemset in itemsets for item in itemset), dtype=np.int64, count=int(starts[-1])
    )
    used = np.unique(items[items >= 0])
    place_of_item = np.full(n_items + 1, -1, dtype=np.int32)
    place_of_item[used] = np.arange(len(used))
    place_of_item[-1] = len(used)
    return NumberedItemsets(place_of_item[:-1], len(used) + 1, starts, place_of_item[items])


def rows_per_block(n_places: int) -> int:
    """Return how many rows a block has, so that its bits take little memory."""
    return 64 * max(16, min(1024, _MOST_WORDS // n_places))


def count_supports(sets: Sets, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
    """Return how many rows hold all items of each itemset; −1 is an item that no row holds."""
    found = np.zeros(len(itemsets), dtype=np.int64)
    if itemsets:
        add_supports(number_itemsets(itemsets, sets.n_items), sets.starts, sets.items, found)
    return found


def add_supports(
    placed: NumberedItemsets,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:
    """Add how many of some rows hold all items of each itemset."""
    from incrowd.transactions.kernels import count_itemsets

    count_itemsets(
        starts,
        items,
        placed.place_of_item,
        placed.n_places,
        rows_per_block(placed.n_places),
        placed.starts,
        placed.places,
        found,
    )


# A release of generalized items, read by somebody who analyses it.

SUBSETS, SHARE = "subsets", "share"

READINGS = (SUBSETS, SHARE)
"""What the chance of an item is where a part that holds it is shown.

``subsets``: any non-empty subset of the part is as likely as any other. ``share``: one of m.
"""


@dataclass(frozen=True)
class Support:
    """How many transactions hold all items of a query: surely, at most, and expected."""

    least: int
    most: int
    expected: float


@dataclass(frozen=True, eq=False)
class Generalized:
    """Transactions of generalized items; ``members[item]`` are the items that one stands for."""

    sets: Sets
    members: list[tuple[str, ...]]
    item_of_member: dict[str, int] = field(repr=False)

    @property
    def n_rows(self) -> int:
        """How many transactions there are."""
        return self.sets.n_rows

    def support(self, items: str | Iterable[str], reading: str = SUBSETS) -> Support:
        """Return how many transactions hold all of these original items.

        ``most`` counts the transactions that show all of their parts; ``least`` is the same where
        every item stands for itself, else 0: a part tells that one of its items is there, never
        which. ``expected`` multiplies ``most`` by the chance of each item, taken as independent;
        of a part of m items that is 2^(m−1) / (2^m − 1) by ``subsets`` and 1/m by ``share``.

        Raises JobError for an item that the release does not show.
        """
        if reading not in READINGS:
            raise unknown("reading", reading, READINGS)
        names = dict.fromkeys([items] if isinstance(items, str) else items)
        if not names:
            return Support(self.n_rows, self.n_rows, float(self.n_rows))
        missing = [name for name in names if name not in self.item_of_member]
        if missing:
            raise JobError(
                f"{len(missing)} of the items stand in no released item",
                remedy="Name items as the original did; what nobody had is not in a release.",
                examples=missing[:3],
            )
        parts = [self.item_of_member[name] for name in names]
        most = int(count_supports(self.sets, [tuple(sorted(set(parts)))])[0])
        expected = float(most)
        for part in parts:
            expected *= item_chance(len(self.members[part]), reading)
        is_sure = all(len(self.members[part]) == 1 for part in parts)
        return Support(most if is_sure else 0, most, expected)


def item_chance(n_members: int, reading: str = SUBSETS) -> float:
    """Return how likely one of a part's items is, where the part is shown.

    >>> chance(1), chance(2), chance(2, "share")
    (1.0, 0.6666666666666666, 0.5)
    """
    if reading == SHARE:
        return 1.0 / n_members
    return 0.5 / (1.0 - 0.5**n_members)


def read_generalized(
    source: str | os.PathLike[str] | Any, options: SetOptions | None = None
) -> Generalized:
    """Read a release of generalized items from a file, a frame, a matrix or ``Sets``.

    Raises DataError for a file that cannot be read, a label that is none, or an item in two parts.
    """
    if isinstance(source, Sets):
        sets = source
    elif isinstance(source, (str, os.PathLike)):
        sets = read_sets(source, options)
    else:
        from incrowd.sets.frames import sets_from_frame

        sets = sets_from_frame(source, options).sets
    members = [parse_label(str(label)) for label in item_names_of(sets).to_pylist()]
    item_of_member: dict[str, int] = {}
    in_two = {
        name
        for item, of_item in enumerate(members)
        for name in of_item
        if item_of_member.setdefault(name, item) != item
    }
    if in_two:
        raise DataError(
            f"{len(in_two):,} items stand in more than one released item",
            remedy="Give a release in which every item is in one part, such as (a,b,f).",
            examples=sorted(in_two)[:3],
        )
    return Generalized(sets, members, item_of_member)
