"""The partition while it is split: parts, the rows that show them, and how a part is split."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat.kernels import check as check_kernels
from incrowd.methods.rbat.kernels import split as split_kernels
from incrowd.methods.rbat.kernels.split import LEFT, RIGHT, UNDECIDED
from incrowd.methods.rbat.problem import Problem
from incrowd.methods.shared.item_parts import SplitTree
from incrowd.threads import Team

TOGETHER = "together"
"""The most frequent items get their sides first; otherwise the items in their order."""


SMALL_TABLE = 1 << 22
"""So many counts of pairs of items are kept whatever the number of entries."""


ROWS_PER_THREAD = 1 << 14
"""Fewer distinct rows are changed sooner than threads are told of them."""


@dataclass(frozen=True, eq=False)
class Split:
    """A part that may become two: their items, ascending, and how many rows hold each.

    ``rows`` are the distinct rows that hold the part. Where ``other_part`` is another, the two
    are taken as one, and the sides are to be put in their places.
    """

    part: int
    other_part: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    n_left: int
    n_right: int
    rows: NDArray[np.int32]


class Keeper(Protocol):
    """Says of a split whether the conditions hold, and follows what was made of it."""

    def keeps(self, split: Split) -> bool:
        """Whether the conditions hold once this split is made."""

    def steps(self, split: Split) -> int:
        """About how many steps it takes to say so."""

    def accepted(self, split: Split, left: int, right: int) -> None:
        """Take note that a part has become two."""


class Parts:
    """All public items in one part at first; every accepted split makes two of one.

    Parts are numbered as they come about and keep their numbers: they are the nodes of the split
    tree. ``part_of_item`` has the leaf of every item.
    """

    def __init__(self, problem: Problem, team: Team | None = None) -> None:
        self._team = Team(1) if team is None else team
        baskets = problem.baskets
        n_rows, n_public = len(baskets.n_equal), problem.n_public
        self.problem = problem
        self.items: list[NDArray[np.int32]] = [np.arange(n_public, dtype=np.int32)]
        self.left: list[int] = [-1]
        self.right: list[int] = [-1]
        self.part_of_item = np.zeros(n_public, dtype=np.int32)
        self.support = np.zeros(2 * n_public, dtype=np.int64)
        self.support[0] = problem.n_rows
        self.shown = check_kernels.shown_as_one(
            baskets.starts, baskets.n_equal, problem.tells_starts, problem.tells
        )
        self.flags = np.zeros(n_rows, dtype=np.uint8)
        self.side_of_item = np.zeros(n_public, dtype=np.uint8)
        self._rows = np.empty(n_rows, dtype=np.int32)
        self._common = np.zeros(n_public, dtype=np.int64)
        # A table of all pairs only where it takes no more room than the rows themselves.
        has_table = n_public**2 <= max(len(baskets.items), SMALL_TABLE) and not len(problem.weight)
        self._all_common = (
            split_kernels.count_all_common(baskets, n_public)
            if has_table
            else np.empty((0, 0), dtype=np.int32)
        )

    @property
    def n_leaves(self) -> int:
        """How many parts there are now."""
        return (len(self.items) + 1) // 2

    def begin(self, part: int, alpha: int | str, order: str) -> Split:
        """Return the two sides of a part of two items and more.

        Rows and items carry their sides until ``end`` is called.
        """
        items = self.items[part]
        a, b = self._seeds(items)
        rest = items[(items != a) & (items != b)]
        if order == TOGETHER:
            rest = rest[np.argsort(-self.problem.baskets.support[rest], kind="stable")]
        bucket_size = 1 if isinstance(alpha, str) else max(1, ceil(len(rest) / alpha))
        so_far, sides = self._sides(a, b, rest, bucket_size)
        left = np.sort(np.append(rest[sides == LEFT], np.int32(a)))
        right = np.sort(np.append(rest[sides == RIGHT], np.int32(b)))
        return self._begun(part, part, left, right, so_far)

    def begin_with(
        self,
        part: int,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        other_part: int | None = None,
    ) -> Split:
        """The same for stated sides, each ascending: of a part, or of two parts taken as one."""
        baskets = self.problem.baskets
        so_far = np.zeros(5, dtype=np.int64)
        split_kernels.join_all(baskets, left, LEFT, self.flags, self._rows, so_far)
        split_kernels.join_all(baskets, right, RIGHT, self.flags, self._rows, so_far)
        other = part if other_part is None else other_part
        return self._begun(part, other, left, right, so_far)

    def _begun(
        self,
        part: int,
        other_part: int,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        so_far: NDArray[np.int64],
    ) -> Split:
        self.side_of_item[left] = LEFT
        self.side_of_item[right] = RIGHT
        rows = self._held_rows(int(so_far[4]))
        return Split(part, other_part, left, right, int(so_far[0]), int(so_far[2]), rows)

    def _held_rows(self, n_held: int) -> NDArray[np.int32]:
        """Return the rows that hold a side, ascending."""
        if n_held > len(self.flags) // 64:
            return split_kernels.rows_with_sides(self.flags, n_held)
        return np.sort(self._rows[:n_held])

    def accept(self, split: Split) -> tuple[int, int]:
        """Put the two sides in the place of the part; return their numbers."""
        numbers = len(self.items), len(self.items) + 1
        for number, items, n_rows in zip(
            numbers, (split.left, split.right), (split.n_left, split.n_right), strict=True
        ):
            self.items.append(items)
            self.left.append(-1)
            self.right.append(-1)
            self.part_of_item[items] = number
            self.support[number] = n_rows
        self.items[split.part] = split.left[:0]
        self.left[split.part], self.right[split.part] = numbers
        self._show(split, *numbers)
        return numbers

    def replace(self, split: Split) -> None:
        """Put the sides of two parts taken as one in the places of the two."""
        for part, items, n_rows in (
            (split.part, split.left, split.n_left),
            (split.other_part, split.right, split.n_right),
        ):
            self.items[part] = items
            self.part_of_item[items] = part
            self.support[part] = n_rows
        self._show(split, split.part, split.other_part)

    def _show(self, split: Split, left: int, right: int) -> None:
        def show(within: tuple[int, int]) -> None:
            rows = split.rows[within[0] : within[1]]
            check_kernels.show_sides(
                self.shown, rows, self.flags, split.part, split.other_part, left, right
            )

        self._team.map(show, self._team.ranges(len(split.rows), ROWS_PER_THREAD))

    def end(self, split: Split) -> None:
        """Forget the sides of a split, accepted or not."""
        self.flags[split.rows] = 0
        self.side_of_item[split.left] = 0
        self.side_of_item[split.right] = 0

    def tree(self) -> SplitTree:
        """Return how the parts came about, with as many items as they have in the end."""
        n_items = np.array([len(items) for items in self.items], dtype=np.int32)
        for part in range(len(n_items) - 1, -1, -1):
            if self.left[part] >= 0:
                n_items[part] = n_items[self.left[part]] + n_items[self.right[part]]
        left, right = np.array(self.left, dtype=np.int32), np.array(self.right, dtype=np.int32)
        return SplitTree(left, right, n_items)

    def _seeds(self, items: NDArray[np.int32]) -> tuple[int, int]:
        """Return the two items that lose most as a part (Algorithm 3), the least of equals."""
        baskets, weight = self.problem.baskets, self.problem.weight
        if not len(weight):
            by_support = items[np.argsort(-baskets.support[items], kind="stable")]
            a, b = split_kernels.widest_pair(baskets, by_support, self._all_common, self._common)
            return int(a), int(b)
        room = 64
        while True:
            pairs = np.empty((room, 2), dtype=np.int32)
            held_by = np.empty(room, dtype=np.int64)
            n_found = split_kernels.dearest_pairs(
                baskets, items, weight, self._common, pairs, held_by
            )
            if n_found <= room:
                break
            room = 2 * n_found
        best = max(
            range(n_found),
            key=lambda pair: (
                sum(Fraction(float(weight[item])) for item in pairs[pair]) * int(held_by[pair]),
                -int(pairs[pair, 0]),
                -int(pairs[pair, 1]),
            ),
        )
        return int(pairs[best, 0]), int(pairs[best, 1])

    def _sides(
        self, a: int, b: int, rest: NDArray[np.int32], bucket_size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Give every other item a side, bucket by bucket (Algorithm 4)."""
        baskets, weight = self.problem.baskets, self.problem.weight
        so_far = np.zeros(5, dtype=np.int64)
        sides = np.zeros(len(rest), dtype=np.uint8)
        weight_so_far = weight[[a, b]] if len(weight) else np.zeros(2)
        split_kernels.join(baskets, a, LEFT, self.flags, self._rows, so_far)
        split_kernels.join(baskets, b, RIGHT, self.flags, self._rows, so_far)
        place = 0
        while True:
            place = split_kernels.decide(
                baskets,
                rest,
                sides,
                bucket_size,
                place,
                weight,
                weight_so_far,
                self.flags,
                self._rows,
                so_far,
            )
            if place == len(rest):
                return so_far, sides
            given = sides[:place]
            on_left = [a, *rest[:place][given == LEFT].tolist()]
            on_right = [b, *rest[:place][given == RIGHT].tolist()]
            for number in range(place, min(place + bucket_size, len(rest))):
                if sides[number] == UNDECIDED:
                    item = int(rest[number])
                    is_left = self._loss(on_left, item, so_far[0], LEFT) < self._loss(
                        on_right, item, so_far[2], RIGHT
                    )
                    sides[number] = LEFT if is_left else RIGHT

    def _loss(self, others: list[int], item: int, held: np.int64, side: int) -> Fraction:
        """Return what a side would lose with one more item, exactly."""
        baskets, weight = self.problem.baskets, self.problem.weight
        rows = baskets.holders[baskets.list_starts[item] : baskets.list_starts[item + 1]]
        added = baskets.n_equal[rows][self.flags[rows] & side == 0].sum()
        items = [*others, item]
        mean = sum((Fraction(float(weight[other])) for other in items), Fraction()) / len(items)
        return Fraction(2 ** len(items) - 1) * mean * (int(held) + int(added))
