"""MR-RBAT: the same search as in one process, on transactions that lie on an engine.

The queue of parts is first come, first served, so it is a level of the split tree after another.
A round serves all parts of a level: the rules are checked with every split of the level (γ), and
at the same time both sides of each of these splits get sides of their own (α), for whatever
becomes of a split, the sides of its sides depend on their items alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.engines.base import Engine
from incrowd.interrupts import is_end_wished
from incrowd.methods.rbat import kernel_demands
from incrowd.methods.rbat.counts import Pairs, Request, Rounds, Supports
from incrowd.methods.rbat.feasible import refuse_infeasible
from incrowd.methods.rbat.kernel_demands import RuleTable
from incrowd.methods.rbat.kernel_split import LEFT, RIGHT
from incrowd.methods.rbat.level import Level
from incrowd.methods.rbat.problem import Numbering, billionths, numbering_of
from incrowd.methods.rbat.promise import FoundParts, RulePromise, SplitTree, numbered_parts
from incrowd.methods.rbat.seeds import MOST_CELLS, Table
from incrowd.methods.rbat.side_rounds import Splittings
from incrowd.methods.rbat.sides import Items, Node
from incrowd.progress import Progress

STAGE = "splitting items"


def search_by_rounds(
    sets: Sets,
    promise: RulePromise,
    engine: Engine,
    *,
    alpha: int | str,
    gamma: int,
    order: str,
    settings: dict[str, object],
    progress: Progress,
) -> FoundParts:
    """Return the partition that the search of one process returns before it is improved.

    ``settings`` are what the method has settled, for whoever repeats the search.
    Raises InfeasibleError where not even one part of all items keeps the promise. An end that is
    wished for returns the parts as they are, which keep it too.
    """
    numbering = numbering_of(sets, promise)
    if not len(numbering.items):
        none = np.empty(0, dtype=np.int32)
        return FoundParts(np.full(sets.n_items, -1, dtype=np.int32), SplitTree(none, none, none))
    rounds = Rounds(sets, numbering, engine)
    progress(STAGE, 0, len(numbering.items))
    items = _first_round(rounds, numbering, promise, alpha, order)
    search = _Search(rounds, numbering, promise, items, gamma, progress)
    search.run()
    figures: dict[str, object] = {
        "parts": (len(search.left) + 1) // 2,
        "splits_tried": search.n_tried,
        "n_rounds": rounds.n_rounds,
        "passes": 0,
        "rounds": "engine",
        "improve": "none",
    }
    if numbering.n_absent:
        figures["absent_rules"] = numbering.n_absent
    part_of_item = numbered_parts(search.part_of_item, numbering.items, sets.n_items)
    return FoundParts(part_of_item, search.tree(), figures, settings)


@dataclass(frozen=True, eq=False)
class _Totals:
    """What the first round counted, for those who ask whether there is a solution."""

    numbering: Numbering
    n_rows: int
    n_telling: NDArray[np.int64]

    @property
    def n_public(self) -> int:
        return len(self.numbering.items)

    @property
    def rules(self) -> RuleTable:
        return self.numbering.rules

    @property
    def rule_numbers(self) -> NDArray[np.int64]:
        return self.numbering.rule_numbers


def _first_round(
    rounds: Rounds, numbering: Numbering, promise: RulePromise, alpha: int | str, order: str
) -> Items:
    """Count items and sensitive sets, and pairs of items where they are not too many."""
    n_items = len(numbering.items)
    requests: list[Request] = [Supports(n_items, numbering.told.n_sets)]
    every = np.arange(n_items)
    if n_items**2 <= MOST_CELLS:
        one_part = np.zeros(n_items, dtype=np.int32)
        requests.append(Pairs(n_items**2, one_part, n_items * every, every.astype(np.int32)))
    supports, *pairs = rounds.run(requests)
    refuse_infeasible(_Totals(numbering, rounds.n_rows, supports[n_items:]), promise)
    table = None
    if pairs:
        counts = pairs[0].reshape(n_items, n_items)
        table = Table(counts + counts.T)
    return Items(supports[:n_items], numbering.weight, alpha, order, table)


class _Search:
    """The split tree while it grows, level after level; its nodes are numbered as accepted."""

    def __init__(
        self,
        rounds: Rounds,
        numbering: Numbering,
        promise: RulePromise,
        items: Items,
        gamma: int,
        progress: Progress,
    ) -> None:
        n_items = len(numbering.items)
        self._rounds = rounds
        self._rules = numbering.rules
        self._promise = promise
        self._items = items
        self._gamma = gamma
        self._progress = progress
        self._n_settled = 0
        self._rules_of_part = {0: np.arange(len(numbering.rules.told), dtype=np.int32)}
        self.part_of_item = np.zeros(n_items, dtype=np.int32)
        self.left, self.right = [-1], [-1]
        self.n_items = [n_items]
        self.n_tried = 0

    def run(self) -> None:
        """Split parts for as long as some split stands, or until an end is wished for."""
        root = Node(np.arange(self.n_items[0], dtype=np.int32))
        sides = Splittings([root], self._items)
        level = [(0, root)]
        while level and not is_end_wished():
            while (wanted := sides.requests()) and not is_end_wished():
                sides.take(self._rounds.run(wanted))
            if is_end_wished():
                break
            level, sides = self._split_level(level)

    def _split_level(
        self, parts: list[tuple[int, Node]]
    ) -> tuple[list[tuple[int, Node]], Splittings]:
        """Decide the splits of a level, and look for those of the next meanwhile."""
        self._n_settled += sum(len(node.items) == 1 for _, node in parts)
        splits = [(part, node) for part, node in parts if len(node.items) > 1]
        self.n_tried += len(splits)
        side_of_item = np.zeros(self.n_items[0], dtype=np.uint8)
        split_of_part = np.full(len(self.left), -1, dtype=np.int32)
        for number, (part, node) in enumerate(splits):
            split_of_part[part] = number
            left, right = _sides(node)
            side_of_item[left.items] = LEFT
            side_of_item[right.items] = RIGHT
        level = Level(
            self._rules,
            [self._rules_of_part[part] for part, _ in splits],
            self.part_of_item,
            side_of_item,
            split_of_part,
            self._gamma,
            self._promise.k,
            billionths(self._promise.confidence),
        )
        children = [_sides(node) for _, node in splits]
        sides = Splittings([child for pair in children for child in pair], self._items)
        while level.is_open and not is_end_wished():
            checks, more = level.requests(), sides.requests()
            counts = self._rounds.run([*checks, *more])
            level.take(counts[: len(checks)])
            sides.take(counts[len(checks) :])
            gone = np.flatnonzero(level.rejected).tolist()
            sides.forget(child for split in gone for child in children[split])
        following = []
        for number, (part, node) in enumerate(splits):
            if level.accepted[number]:
                numbers = self._accept(part, children[number], side_of_item)
                following += list(zip(numbers, children[number], strict=True))
            else:
                self._n_settled += len(node.items)
        self._progress(STAGE, self._n_settled, self.n_items[0])
        return following, sides

    def _accept(
        self, part: int, sides: tuple[Node, Node], side_of_item: NDArray[np.uint8]
    ) -> tuple[int, int]:
        """Put two sides in the place of a part; return their numbers."""
        numbers = len(self.left), len(self.left) + 1
        for number, node in zip(numbers, sides, strict=True):
            self.left.append(-1)
            self.right.append(-1)
            self.n_items.append(len(node.items))
            self.part_of_item[node.items] = number
        self.left[part], self.right[part] = numbers
        rules = self._rules_of_part.pop(part)
        # items of other splits have sides too: only those of this part count
        own = np.zeros_like(side_of_item)
        for node in sides:
            own[node.items] = side_of_item[node.items]
        self._rules_of_part.update(
            zip(numbers, kernel_demands.rules_of_sides(self._rules, rules, own), strict=True)
        )
        return numbers

    def tree(self) -> SplitTree:
        """Return how the parts came about."""
        left, right = np.array(self.left, dtype=np.int32), np.array(self.right, dtype=np.int32)
        return SplitTree(left, right, np.array(self.n_items, dtype=np.int32))


def _sides(node: Node) -> tuple[Node, Node]:
    assert node.left is not None
    assert node.right is not None
    return node.left, node.right
