"""A release of generalized items, read by somebody who analyses it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from incrowd.data.generalized import members_of
from incrowd.data.itemsets import supports
from incrowd.data.set_files import read_sets
from incrowd.data.set_format import SetOptions
from incrowd.data.set_names import item_names_of
from incrowd.data.sets import Sets
from incrowd.errors import DataError, JobError, unknown

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
        most = int(supports(self.sets, [tuple(sorted(set(parts)))])[0])
        expected = float(most)
        for part in parts:
            expected *= chance(len(self.members[part]), reading)
        is_sure = all(len(self.members[part]) == 1 for part in parts)
        return Support(most if is_sure else 0, most, expected)


def chance(n_members: int, reading: str = SUBSETS) -> float:
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
        from incrowd.data.set_frames import sets_from_frame

        sets = sets_from_frame(source, options).sets
    members = [members_of(str(label)) for label in item_names_of(sets).to_pylist()]
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
