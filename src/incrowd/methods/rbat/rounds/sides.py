"""The two sides of a part by rounds: seeds, then the side of every other item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat.kernels.split import LEFT, NEAR, RIGHT
from incrowd.methods.rbat.parts import TOGETHER
from incrowd.methods.rbat.rounds.counts import Pairs, Patterns, Request, SideCounts

MOST_CELLS = 1 << 22
"""So many pairs of items are counted in one round."""


@dataclass(frozen=True, eq=False)
class Table:
    """In how many rows every two public items occur together."""

    counts: NDArray[np.int64]

    def common(self, item: int, others: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return in how many rows an item occurs with others."""
        common: NDArray[np.int64] = self.counts[item, others]
        return common


class Seeds:
    """Looks for the seeds of a part, item after item, until no other pair can lose more.

    Items are taken by the most that a pair with them could come to: by falling support, or by
    weight times rows. Of equal pairs the least (a, b) is it.
    """

    def __init__(
        self,
        items: NDArray[np.int32],
        support: NDArray[np.int64],
        weight: NDArray[np.float64],
        table: Table | None,
    ) -> None:
        self._items = items
        self._support = support
        self._weight = weight
        self._table = table
        if len(weight):
            heaviest, widest = weight[items].max(), support[items].max()
            most = (weight[items] + heaviest) * (support[items] + widest).astype(np.float64)
            order = np.argsort(-most, kind="stable")
            self._most = most[order]
            self._order = items[order]
        else:
            self._order = items[np.argsort(-support[items], kind="stable")]
            by_support = support[self._order].astype(np.float64)
            self._most = by_support + np.append(by_support[1:], 0)
        self._n_seen = 0
        self._best = -1.0
        # pairs that may be the best, with the rows that hold either item
        self._found: dict[tuple[float, float, int], tuple[int, int]] = {}

    def wanted(self) -> NDArray[np.int32] | None:
        """Return the items whose common rows are wanted next, the first ones first, or None."""
        while self._n_seen < len(self._order) - 1:
            if self._most[self._n_seen] < self._best * (1.0 - NEAR):
                return None
            if self._table is None:
                return self._order[self._n_seen : -1]
            item = int(self._order[self._n_seen])
            self._see(item, self._table.common(item, self._order[self._n_seen + 1 :]))
        return None

    def take(self, lines_of: NDArray[np.int32], lines: NDArray[np.int64]) -> None:
        """Look at the common rows of the next items with all items of the part."""
        for item, line in zip(lines_of.tolist(), lines, strict=True):
            later = self._order[self._n_seen + 1 :]
            self._see(item, line[np.searchsorted(self._items, later)])

    def _see(self, item: int, common: NDArray[np.int64]) -> None:
        """Look at the pairs of an item with all later ones."""
        others = self._order[self._n_seen + 1 :]
        self._n_seen += 1
        held = self._support[item] + self._support[others] - common
        weight = self._weight
        worth = held.astype(np.float64)
        if len(weight):
            worth *= weight[item] + weight[others]
        best = max(self._best, float(worth.max()))
        if best > self._best * (1.0 + NEAR):
            self._found.clear()
        self._best = best
        for place in np.flatnonzero(worth >= best * (1.0 - NEAR)).tolist():
            other = int(others[place])
            pair = (min(item, other), max(item, other))
            weights = sorted(weight[list(pair)].tolist()) if len(weight) else [1.0, 1.0]
            key = (weights[0], weights[1], int(held[place]))
            self._found[key] = min(pair, self._found.get(key, pair))

    def pair(self) -> tuple[int, int]:
        """Return the seeds, the lesser one first."""
        return max(
            ((_loss(*key), (-pair[0], -pair[1]), pair) for key, pair in self._found.items())
        )[2]


def _loss(weight: float, other_weight: float, n_rows: int) -> Fraction:
    return (Fraction(weight) + Fraction(other_weight)) * n_rows


# ── what several splits wish to have counted, put together into few requests of one round ─────────


class Splittings:
    """Parts on their way to two, all of which go on with every round."""

    def __init__(self, nodes: Iterable[Node], items: Items) -> None:
        self._n_items = len(items.support)
        self._open = [Splitting(node, items) for node in nodes if not node.is_split]
        self._asked: list[list[Splitting]] = []
        self.n_rounds = 0
        self.n_candidates = 0

    def forget(self, nodes: Iterable[Node]) -> None:
        """Leave parts alone that will not come about."""
        gone = set(map(id, nodes))
        self._open = [split for split in self._open if id(split.node) not in gone]

    def requests(self) -> list[Request]:
        """Return what is to be counted next; nothing once all parts have their sides."""
        self._open = [split for split in self._open if split.wish is not None]
        self._asked = []
        requests: list[Request] = []
        for wish, request_of in (
            (WantsLines, self._lines),
            (WantsSides, self._sides),
            (WantsPatterns, self._patterns),
        ):
            asking = [split for split in self._open if isinstance(split.wish, wish)]
            if asking:
                self._asked.append(asking)
                requests.append(request_of(asking))
                self.n_candidates += sum(map(_n_candidates, asking))
        self.n_rounds += bool(requests)
        return requests

    def take(self, counts: list[NDArray[np.int64]]) -> None:
        """Go on with what the requests came to."""
        for asking, cells in zip(self._asked, counts, strict=True):
            sizes = [_n_cells(split) for split in asking]
            for split, some in zip(asking, np.split(cells, np.cumsum(sizes)[:-1]), strict=True):
                split.take(some)

    def _lines(self, asking: list[Splitting]) -> Request:
        """Ask for as many lines of each part as there is room for."""
        part_of_item = np.full(self._n_items, -1, dtype=np.int32)
        line_of_item = np.full(self._n_items, -1, dtype=np.int64)
        column_of_item = np.zeros(self._n_items, dtype=np.int32)
        n_lines = max(1, MOST_CELLS // sum(len(split.node.items) for split in asking))
        n_cells = 0
        for number, split in enumerate(asking):
            wish = split.wish
            assert isinstance(wish, WantsLines)
            wish.of = wish.of[:n_lines]
            size = len(wish.items)
            part_of_item[wish.items] = number
            column_of_item[wish.items] = np.arange(size, dtype=np.int32)
            line_of_item[wish.of] = n_cells + size * np.arange(len(wish.of))
            n_cells += size * len(wish.of)
        return Pairs(n_cells, part_of_item, line_of_item, column_of_item)

    def _sides(self, asking: list[Splitting]) -> Request:
        split_of_item = np.full(self._n_items, -1, dtype=np.int32)
        side_of_item = np.zeros(self._n_items, dtype=np.uint8)
        cell_of_item = np.full(self._n_items, -1, dtype=np.int64)
        cell_of_split = np.zeros(len(asking), dtype=np.int64)
        n_cells = 0
        for number, split in enumerate(asking):
            wish = split.wish
            assert isinstance(wish, WantsSides)
            split_of_item[[*wish.left, *wish.right, *wish.bucket]] = number
            side_of_item[wish.left] = LEFT
            side_of_item[wish.right] = RIGHT
            cell_of_split[number] = n_cells
            cell_of_item[wish.bucket] = n_cells + 2 + 2 * np.arange(len(wish.bucket))
            n_cells += _n_cells(split)
        return SideCounts(n_cells, split_of_item, side_of_item, cell_of_item, cell_of_split)

    def _patterns(self, asking: list[Splitting]) -> Request:
        split_of_item = np.full(self._n_items, -1, dtype=np.int32)
        bit_of_item = np.zeros(self._n_items, dtype=np.int64)
        cell_of_split = np.zeros(len(asking), dtype=np.int64)
        n_cells = 0
        for number, split in enumerate(asking):
            wish = split.wish
            assert isinstance(wish, WantsPatterns)
            for bit, items in enumerate(wish.bits):
                split_of_item[items] = number
                bit_of_item[items] = 1 << bit
            cell_of_split[number] = n_cells
            n_cells += _n_cells(split)
        return Patterns(n_cells, split_of_item, bit_of_item, cell_of_split)


def _n_candidates(split: Splitting) -> int:
    """Return how many items a round counts with both sides of a split, to choose one of them."""
    wish = split.wish
    if isinstance(wish, WantsSides):
        return len(wish.bucket)
    return len(wish.bits) if isinstance(wish, WantsPatterns) else 0


def _n_cells(split: Splitting) -> int:
    """Return how many sums a split asks for."""
    wish = split.wish
    if isinstance(wish, WantsLines):
        return len(wish.items) * len(wish.of)
    if isinstance(wish, WantsSides):
        return 2 + 2 * len(wish.bucket)
    assert wish is not None
    return 1 << len(wish.bits)


# ── the two sides of a part by rounds: the same ones that the search of one process finds ─────────

SMALL = 10
"""Of parts of up to so many items all combinations are counted, once for all later splits."""

WINDOW = 8
"""So many items are counted together with both sides where buckets are small."""


@dataclass(frozen=True, eq=False)
class Items:
    """The public items: how many rows hold each, what they weigh (nothing: all the same)."""

    support: NDArray[np.int64]
    weight: NDArray[np.float64]
    alpha: int | str
    order: str
    table: Table | None

    def goes_left(self, left: Side, right: Side) -> Callable[[int, int, int], bool]:
        """Return whether one more item, of so many rows with either side, goes to the left."""
        times_left = (1 << (len(left.items) + 1)) - 1
        times_right = (1 << (len(right.items) + 1)) - 1
        if not len(self.weight):
            return lambda _, in_left, in_right: times_left * in_left < times_right * in_right
        of_left, of_right = Fraction(times_left), Fraction(times_right)
        of_left /= len(left.items) + 1
        of_right /= len(right.items) + 1

        def compare(item: int, in_left: int, in_right: int) -> bool:
            weight = Fraction(float(self.weight[item]))
            with_left = of_left * (left.weight + weight) * in_left
            return with_left < of_right * (right.weight + weight) * in_right

        return compare

    def add(self, item: int, side: Side) -> None:
        """Put an item on a side."""
        side.items.append(item)
        if len(self.weight):
            side.weight += Fraction(float(self.weight[item]))


@dataclass(eq=False)
class Side:
    """Items that are together so far, and their weight."""

    items: list[int] = field(default_factory=list)
    weight: Fraction = Fraction(0)


@dataclass(eq=False)
class Node:
    """A part, ascending, and the two parts it would become, once they are known.

    ``held`` says how many rows hold any of some of its items, where that is known of all.
    """

    items: NDArray[np.int32]
    left: Node | None = None
    right: Node | None = None
    held: Histogram | None = None

    @property
    def is_split(self) -> bool:
        """Whether its sides are known, or there is nothing to split."""
        return len(self.items) < 2 or self.left is not None


class Histogram:
    """How many rows hold every combination of a few items; answers how many hold any of some."""

    def __init__(self, bit_of_item: dict[int, int], counts: NDArray[np.int64]) -> None:
        self._bit_of_item = bit_of_item
        self._counts = counts
        self._patterns = np.arange(len(counts))

    def mask(self, items: list[int]) -> int:
        """Return the bits of items."""
        mask = 0
        for item in items:
            mask |= self._bit_of_item[item]
        return mask

    def with_bits(self, mask: int) -> int:
        """Return how many rows hold any of some bits."""
        return int(self._counts[(self._patterns & mask) != 0].sum())


@dataclass(eq=False)
class WantsLines:
    """Common rows of some items with all of their part, as lines of cells."""

    items: NDArray[np.int32]
    of: NDArray[np.int32]


@dataclass(eq=False)
class WantsSides:
    """Rows of both sides as they stand, and of both with each of some items."""

    left: list[int]
    right: list[int]
    bucket: list[int]


@dataclass(eq=False)
class WantsPatterns:
    """Rows of all combinations of bits; several items may share one."""

    bits: list[list[int]]


Wish = WantsLines | WantsSides | WantsPatterns


class Splitting:
    """One part on its way to two: ``wish`` is what must be counted next, None at the end."""

    def __init__(self, node: Node, items: Items) -> None:
        self.node = node
        self._items = items
        self._seeds: Seeds | None = None
        self._left, self._right = Side(), Side()
        self._rest: list[int] = []
        self._place = 0
        self._size = 1
        self.wish: Wish | None = None
        if node.held is not None or len(node.items) <= 2:
            self._split_alone()
        elif len(node.items) <= SMALL:
            self.wish = WantsPatterns([[int(item)] for item in node.items])
        else:
            self._seeds = Seeds(node.items, items.support, items.weight, items.table)
            self._look_for_seeds()

    def take(self, counts: NDArray[np.int64]) -> None:
        """Go on with what was wished for."""
        wish = self.wish
        self.wish = None
        if isinstance(wish, WantsLines):
            assert self._seeds is not None
            self._seeds.take(wish.of, counts.reshape(len(wish.of), -1))
            self._look_for_seeds()
        elif isinstance(wish, WantsSides):
            self._decide_bucket(wish, counts)
        elif isinstance(wish, WantsPatterns):
            bits = {item: 1 << bit for bit, items in enumerate(wish.bits) for item in items}
            held = Histogram(bits, counts)
            if self._rest:
                self._decide_window(held)
            else:
                self.node.held = held
                self._split_alone()

    def _split_alone(self) -> None:
        """Split a part all of whose combinations are known, or that has two items."""
        node, held = self.node, self.node.held
        members = node.items.tolist()
        pair = (members[0], members[1])
        if len(members) > 2:
            assert held is not None
            pair = self._dearest(members, held)
        self._begin(*pair)
        while self._place < len(self._rest):
            assert held is not None
            self._decide(held, held.mask(self._left.items), held.mask(self._right.items))
        self._end()

    def _dearest(self, members: list[int], held: Histogram) -> tuple[int, int]:
        """Return the pair that loses most, the least of equals."""
        weight = self._items.weight

        def loss(pair: tuple[int, int]) -> Fraction:
            n_rows = Fraction(held.with_bits(held.mask(list(pair))))
            if not len(weight):
                return n_rows
            return n_rows * sum(Fraction(float(weight[item])) for item in pair)

        return max(combinations(members, 2), key=loss)  # the first of equals

    def _look_for_seeds(self) -> None:
        assert self._seeds is not None
        wanted = self._seeds.wanted()
        if wanted is not None:
            self.wish = WantsLines(self.node.items, wanted)
            return
        a, b = self._seeds.pair()
        self._seeds = None
        self._begin(a, b)
        table = self._items.table
        if table is not None and self._place < len(self._rest):
            bucket = np.array(self._rest[: self._size])
            support = self._items.support
            common = np.stack([table.common(a, bucket), table.common(b, bucket)], axis=1)
            counts = np.concatenate([support[[a, b]], common.ravel()])
            self._decide_bucket(WantsSides([a], [b], bucket.tolist()), counts)
            return
        self._go_on()

    def _begin(self, a: int, b: int) -> None:
        """Begin with two items, one to a side."""
        items = self.node.items
        rest = items[(items != a) & (items != b)]
        if self._items.order == TOGETHER:
            rest = rest[np.argsort(-self._items.support[rest], kind="stable")]
        alpha = self._items.alpha
        self._rest = rest.tolist()
        self._size = 1 if isinstance(alpha, str) else max(1, ceil(len(rest) / alpha))
        self._items.add(a, self._left)
        self._items.add(b, self._right)

    def _go_on(self) -> None:
        """Say what the next bucket needs, or end."""
        rest, place = self._rest, self._place
        if place == len(rest):
            self._end()
        elif self._size <= WINDOW // 2:
            window = rest[place : place + WINDOW // self._size * self._size]
            sides = [self._left.items.copy(), self._right.items.copy()]
            self.wish = WantsPatterns([*sides, *([item] for item in window)])
        else:
            bucket = rest[place : place + self._size]
            self.wish = WantsSides(self._left.items.copy(), self._right.items.copy(), bucket)

    def _decide_bucket(self, wish: WantsSides, counts: NDArray[np.int64]) -> None:
        """Give the items of a bucket their sides, none knowing of another (Algorithm 4)."""
        support = self._items.support[wish.bucket]
        with_sides = counts[2:].reshape(-1, 2)
        in_left = (counts[0] + support - with_sides[:, 0]).tolist()
        in_right = (counts[1] + support - with_sides[:, 1]).tolist()
        self._give(wish.bucket, in_left, in_right)
        self._go_on()

    def _decide_window(self, held: Histogram) -> None:
        """Decide bucket after bucket of a window; its first two bits are the sides so far."""
        end = min(len(self._rest), self._place + WINDOW // self._size * self._size)
        on_left, on_right = 1, 2
        while self._place < end:
            left, right = self._decide(held, on_left, on_right)
            on_left |= held.mask(left)
            on_right |= held.mask(right)
        self._go_on()

    def _decide(self, held: Histogram, on_left: int, on_right: int) -> tuple[list[int], list[int]]:
        """Decide the next bucket where combinations of its items with the sides are known."""
        bucket = self._rest[self._place : self._place + self._size]
        masks = [held.mask([item]) for item in bucket]
        in_left = [held.with_bits(on_left | mask) for mask in masks]
        in_right = [held.with_bits(on_right | mask) for mask in masks]
        return self._give(bucket, in_left, in_right)

    def _give(
        self, bucket: list[int], in_left: list[int], in_right: list[int]
    ) -> tuple[list[int], list[int]]:
        """Put the items of a bucket on the sides where they lose less; ties go right."""
        goes_left = self._items.goes_left(self._left, self._right)
        is_left = list(map(goes_left, bucket, in_left, in_right))
        left = [item for item, is_it in zip(bucket, is_left, strict=True) if is_it]
        right = [item for item, is_it in zip(bucket, is_left, strict=True) if not is_it]
        for items, side in ((left, self._left), (right, self._right)):
            for item in items:
                self._items.add(item, side)
        self._place += len(bucket)
        return left, right

    def _end(self) -> None:
        node = self.node
        left, right = (
            np.sort(np.array(side.items, dtype=np.int32)) for side in (self._left, self._right)
        )
        node.left, node.right = Node(left, held=node.held), Node(right, held=node.held)
