"""What several splits wish to have counted, put together into few requests of one round."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat.counts import Pairs, Patterns, Request, SideCounts
from incrowd.methods.rbat.kernel_split import LEFT, RIGHT
from incrowd.methods.rbat.seeds import MOST_CELLS
from incrowd.methods.rbat.sides import (
    Items,
    Node,
    Splitting,
    WantsLines,
    WantsPatterns,
    WantsSides,
)


class Splittings:
    """Parts on their way to two, all of which go on with every round."""

    def __init__(self, nodes: Iterable[Node], items: Items) -> None:
        self._n_items = len(items.support)
        self._open = [Splitting(node, items) for node in nodes if not node.is_split]
        self._asked: list[list[Splitting]] = []

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


def _n_cells(split: Splitting) -> int:
    """Return how many sums a split asks for."""
    wish = split.wish
    if isinstance(wish, WantsLines):
        return len(wish.items) * len(wish.of)
    if isinstance(wish, WantsSides):
        return 2 + 2 * len(wish.bucket)
    assert wish is not None
    return 1 << len(wish.bits)
