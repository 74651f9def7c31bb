"""What the items of a release stand for, read from their labels alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.data.generalized import members_of
from incrowd.data.rules import Rules
from incrowd.data.set_names import item_names_of
from incrowd.data.sets import Sets
from incrowd.errors import DataError
from incrowd.guarantees.evidence import Finding

NOT_SHOWN = -1
"""The number of a released item where none stands for an original one."""


@dataclass(frozen=True, eq=False)
class ReleasedItems:
    """Which original items each released one stands for, and the reverse."""

    members: list[tuple[str, ...]]
    item_of_member: dict[str, int]
    is_sensitive: NDArray[np.bool_]

    def items_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the released item that stands for each name, ``NOT_SHOWN`` where none does."""
        found = (self.item_of_member.get(name, NOT_SHOWN) for name in names)
        return np.fromiter(found, dtype=np.int64)


def inferred_items(rules: Rules) -> frozenset[str]:
    """Return the names of the items that some rule infers: they are sensitive."""
    names = rules.names.to_pylist()
    return frozenset(str(names[item]) for item in np.unique(rules.sensitive).tolist() if item >= 0)


def read_items(released: Sets, sensitive: frozenset[str]) -> tuple[ReleasedItems | None, Finding]:
    """Return what released items stand for, and whether that is one thing each.

    None where it is not: a label that cannot be read, an item in two of them (as with both ``a``
    and ``(a,b,f)``), or a sensitive item that is not intact. A transaction that holds an item
    twice breaks the finding too, and everything can still be counted.
    """
    members: list[tuple[str, ...]] = []
    n_unreadable = 0
    for label in item_names_of(released).to_pylist():
        try:
            members.append(members_of(str(label)))
        except DataError:
            n_unreadable += 1
            members.append(())
    item_of_member: dict[str, int] = {}
    in_two: set[str] = set()
    n_mixed = 0
    for item, of_item in enumerate(members):
        n_mixed += len(of_item) > 1 and not sensitive.isdisjoint(of_item)
        for name in of_item:
            if item_of_member.setdefault(name, item) != item:
                in_two.add(name)
    is_sensitive = np.array(
        [len(of_item) == 1 and of_item[0] in sensitive for of_item in members], dtype=np.bool_
    )
    n_generalized = sum(len(of_item) > 1 for of_item in members)
    figures: dict[str, Any] = {
        "n_items": released.n_items,
        "n_generalized": n_generalized,
        "n_sensitive": int(is_sensitive.sum()),
        "n_unreadable": n_unreadable,
        "n_in_two": len(in_two),
        "n_sensitive_generalized": n_mixed,
        "n_repeated": released.n_repeated,
    }
    faults = [
        f"{count:,} {what}"
        for count, what in (
            (n_unreadable, "released items begin as a set of items and are none"),
            (len(in_two), "items stand in more than one released item"),
            (n_mixed, "released items generalize a sensitive item"),
            (released.n_repeated, "entries stand in their transaction again"),
        )
        if count
    ]
    summary = "; ".join(faults) or (
        f"every item is in one released item; {n_generalized:,} of {released.n_items:,} stand for "
        "several, and sensitive items for themselves"
    )
    finding = Finding("items", not faults, summary, figures)
    if n_unreadable or in_two or n_mixed:
        return None, finding
    return ReleasedItems(members, item_of_member, is_sensitive), finding
