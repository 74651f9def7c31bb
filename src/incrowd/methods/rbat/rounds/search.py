"""MR-RBAT: the same search as in one process, on transactions that lie on an engine (Algorithm
5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.items import ItemRows
from incrowd.methods.rbat.kernels import check as check_kernels
from incrowd.methods.rbat.kernels import level as level_kernels
from incrowd.methods.rbat.kernels.check import RuleTable
from incrowd.methods.rbat.kernels.level import ACCEPTED, MOST_CASES, OPEN, REJECTED, LevelRules
from incrowd.methods.rbat.kernels.nodes import NodeDemands
from incrowd.methods.rbat.kernels.split import LEFT, RIGHT
from incrowd.methods.rbat.problem import Numbering, billionths, numbering_of
from incrowd.methods.rbat.rounds.costs import rounds_of_paper
from incrowd.methods.rbat.rounds.counts import DemandCounts, Pairs, Request, Rounds, Supports
from incrowd.methods.rbat.rounds.sides import MOST_CELLS, Items, Node, Splittings, Table
from incrowd.methods.rbat.validity import refuse_infeasible, rules_per_round
from incrowd.methods.shared.item_parts import FoundParts, RuleConditions, SplitTree, number_parts
from incrowd.progress import Progress, is_stop_requested


class Level:
    """Splits that wait for a verdict, in their order, and the rules that they touch.

    ``rules_of_split[s]`` are the rules with an item of the part of split s; ``side_of_item`` has
    the sides of all of them, ``split_of_part`` is -1 for parts that are not split.
    """

    def __init__(
        self,
        table: RuleTable,
        rules_of_split: list[NDArray[np.int32]],
        part_of_item: NDArray[np.int32],
        side_of_item: NDArray[np.uint8],
        split_of_part: NDArray[np.int32],
        gamma: int,
        k: int,
        confidence: int,
    ) -> None:
        self._table = table
        self._part_of_item = part_of_item
        self._side_of_item = side_of_item
        self._split_of_part = split_of_part
        self._k, self._confidence = k, confidence
        self.status = np.full(len(rules_of_split), OPEN, dtype=np.uint8)
        none = np.empty(0, dtype=np.int32)
        of_split = np.concatenate([*rules_of_split, none])
        self._rules, places = np.unique(of_split, return_inverse=True)
        self._places = places.astype(np.int32)
        sizes = [len(rules) for rules in rules_of_split]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._per_round = rules_per_round(len(table.told), gamma)
        self.n_rounds = 0
        self.n_checked = 0
        n_rules = len(self._rules)
        self._cases = LevelRules(
            np.full(n_rules, -1, dtype=np.int32),
            np.zeros(n_rules, dtype=np.int64),
            none,
            np.zeros(n_rules, dtype=np.int64),
            none.astype(np.int64),
            none.astype(np.int64),
        )
        self._holding = self._telling = none.astype(np.int64)
        self._asked: tuple[NDArray[np.int64], LevelRules, int] | None = None
        self._settle()

    @property
    def is_open(self) -> bool:
        """Whether some split has no verdict yet."""
        return bool((self.status == OPEN).any())

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which splits stand."""
        accepted: NDArray[np.bool_] = self.status == ACCEPTED
        return accepted

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Which splits were refused; the open ones may still stand."""
        rejected: NDArray[np.bool_] = self.status == REJECTED
        return rejected

    def requests(self) -> list[Request]:
        """Return what is to be counted next: the next rules, while a split is open."""
        if not self.is_open:
            return []
        some = self._next()
        self.n_rounds += 1
        self.n_checked += len(some)
        table = self._table
        rules = self._rules[some]
        n_parts = len(self._split_of_part)
        n_touched, begins, touched, cases, demand, starts, nodes = level_kernels.cases_of_rules(
            table,
            rules,
            self._part_of_item,
            self._side_of_item,
            self._split_of_part,
            self.status,
            n_parts,
            level_kernels.room_for_cases(table, rules),
        )
        n_demands = len(starts) - 1
        n_cases = np.diff(np.append(cases, len(demand)))
        keys = demand * table.n_told + np.repeat(table.told[rules], n_cases)
        keys[demand < 0] = -1
        distinct, told = np.unique(keys, return_inverse=True)
        is_none = len(distinct) > 0 and distinct[0] < 0
        distinct, told = distinct[int(is_none) :], told - int(is_none)
        self._asked = (some, LevelRules(n_touched, begins, touched, cases, demand, told), n_demands)
        # only what some rule asks for is looked at in the rows
        wanted, local = np.unique(nodes, return_inverse=True)
        local_of_node = np.full(n_parts + 2 * len(self.status), -1, dtype=np.int32)
        local_of_node[wanted] = np.arange(len(wanted), dtype=np.int32)
        split_of_item = self._split_of_part[self._part_of_item]
        side_node = n_parts + 2 * split_of_item + self._side_of_item.astype(np.int32) - 1
        sides = np.full(len(split_of_item), -1, dtype=np.int32)
        sides[split_of_item >= 0] = local_of_node[side_node[split_of_item >= 0]]
        demands = NodeDemands(
            starts,
            local.astype(np.int32),
            np.searchsorted(distinct, np.arange(n_demands + 1) * table.n_told).astype(np.int64),
            (distinct % table.n_told).astype(np.int32),
            local_of_node[self._part_of_item],
            sides,
            max(1, len(wanted)),
            table.n_told,
        )
        return [DemandCounts(demands)]

    def take(self, counts: list[NDArray[np.int64]]) -> None:
        """Decide what can be decided now."""
        assert self._asked is not None
        some, found, n_demands = self._asked
        (cells,) = counts
        old = self._cases
        old.n_touched[some] = found.n_touched
        old.begins[some] = found.begins + len(old.touched)
        old.cases[some] = found.cases + len(old.demand)
        self._cases = LevelRules(
            old.n_touched,
            old.begins,
            np.concatenate([old.touched, found.touched]),
            old.cases,
            np.concatenate([old.demand, found.demand + len(self._holding)]),
            np.concatenate([old.told, found.told + len(self._telling)]),
        )
        self._holding = np.concatenate([self._holding, cells[:n_demands]])
        self._telling = np.concatenate([self._telling, cells[n_demands:]])
        self._settle()

    def _next(self) -> NDArray[np.int64]:
        """Return the places of the next rules that an open split touches.

        Once all were counted, splits are open only for rules that were not counted in every case:
        these are counted anew, with fewer cases left. The first open split is decided by that.
        """
        split_of_place = np.repeat(np.arange(len(self.status)), np.diff(self._starts))
        is_touched = np.zeros(len(self._rules), dtype=np.bool_)
        is_touched[self._places[self.status[split_of_place] == OPEN]] = True
        uncounted = np.flatnonzero(is_touched & (self._cases.n_touched < 0))
        if len(uncounted):
            return uncounted[: self._per_round]
        return np.flatnonzero(is_touched & (self._cases.n_touched > MOST_CASES))

    def _settle(self) -> None:
        level_kernels.settle(
            self.status,
            self._starts,
            self._places,
            self._cases,
            self._holding,
            self._telling,
            self._k,
            self._confidence,
        )


# ── MR-RBAT: the same search as in one process, on transactions that lie on an engine ─────────────

STAGE = "splitting items"


def search_by_rounds(
    rows: ItemRows,
    conditions: RuleConditions,
    *,
    alpha: int | str,
    gamma: int,
    order: str,
    settings: dict[str, object],
    progress: Progress,
) -> FoundParts:
    """Return the partition that the search of one process returns before it is improved.

    ``settings`` are what the method has settled, for whoever repeats the search.
    Raises InfeasibleError where not even one part of all items meets the conditions. An end that is
    wished for returns the parts as they are, which keep it too.
    """
    numbering = numbering_of(rows.n_rows, rows.support, conditions)
    if not len(numbering.items):
        none = np.empty(0, dtype=np.int32)
        return FoundParts(np.full(rows.n_items, -1, dtype=np.int32), SplitTree(none, none, none))
    rounds = Rounds(rows, numbering)
    progress(STAGE, 0, len(numbering.items))
    items = _first_round(rounds, numbering, conditions, alpha, order)
    search = _Search(rounds, numbering, conditions, items, gamma, progress)
    search.run()
    figures: dict[str, object] = {
        "parts": (len(search.left) + 1) // 2,
        "splits_tried": len(search.tried),
        "n_rounds": len(rounds.counted),
        **search.figures(),
        "passes": 0,
        "rounds": "engine",
        "improve": "none",
    }
    if numbering.n_absent:
        figures["absent_rules"] = numbering.n_absent
    part_of_item = number_parts(search.part_of_item, numbering.items, rows.n_items)
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
    rounds: Rounds, numbering: Numbering, conditions: RuleConditions, alpha: int | str, order: str
) -> Items:
    """Count items and sensitive sets, and pairs of items where they are not too many."""
    n_items = len(numbering.items)
    requests: list[Request] = [Supports(n_items, numbering.told.n_sets)]
    every = np.arange(n_items)
    if n_items**2 <= MOST_CELLS:
        one_part = np.zeros(n_items, dtype=np.int32)
        requests.append(Pairs(n_items**2, one_part, n_items * every, every.astype(np.int32)))
    supports, *pairs = rounds.run(requests)
    refuse_infeasible(_Totals(numbering, rounds.n_rows, supports[n_items:]), conditions)
    table = None
    if pairs:
        counts = pairs[0].reshape(n_items, n_items)
        table = Table(counts + counts.T)
    return Items(supports[:n_items], numbering.weight, alpha, order, table)


@dataclass(frozen=True)
class LevelRounds:
    """The rounds of a level: in which items found their sides, and in which rules were checked.

    A round that checks the rules of a level also serves the sides of the next one: such rounds
    are in both numbers.
    """

    n_splits: int
    n_of_sides: int
    n_candidates: int
    n_of_checks: int
    n_checked: int


class _Search:
    """The split tree while it grows, level after level; its nodes are numbered as accepted."""

    def __init__(
        self,
        rounds: Rounds,
        numbering: Numbering,
        conditions: RuleConditions,
        items: Items,
        gamma: int,
        progress: Progress,
    ) -> None:
        n_items = len(numbering.items)
        self._rounds = rounds
        self._rules = numbering.rules
        self._conditions = conditions
        self._items = items
        self._gamma = gamma
        self._progress = progress
        self._n_settled = 0
        self._rules_of_part = {0: np.arange(len(numbering.rules.told), dtype=np.int32)}
        self.part_of_item = np.zeros(n_items, dtype=np.int32)
        self.left, self.right = [-1], [-1]
        self.n_items = [n_items]
        self.tried: list[int] = []
        self.levels: list[LevelRounds] = []

    def run(self) -> None:
        """Split parts for as long as some split stands, or until an end is wished for."""
        root = Node(np.arange(self.n_items[0], dtype=np.int32))
        sides = Splittings([root], self._items)
        level = [(0, root)]
        while level and not is_stop_requested():
            while (wanted := sides.requests()) and not is_stop_requested():
                sides.take(self._rounds.run(wanted))
            if is_stop_requested():
                break
            level, sides = self._split_level(level, sides)

    def _split_level(
        self, parts: list[tuple[int, Node]], found: Splittings
    ) -> tuple[list[tuple[int, Node]], Splittings]:
        """Decide the splits ``found`` of a level, and look for those of the next meanwhile."""
        self._n_settled += sum(len(node.items) == 1 for _, node in parts)
        splits = [(part, node) for part, node in parts if len(node.items) > 1]
        self.tried += [len(node.items) for _, node in splits]
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
            self._conditions.k,
            billionths(self._conditions.confidence),
        )
        children = [_sides(node) for _, node in splits]
        sides = Splittings([child for pair in children for child in pair], self._items)
        while level.is_open and not is_stop_requested():
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
        self.levels.append(
            LevelRounds(
                len(splits), found.n_rounds, found.n_candidates, level.n_rounds, level.n_checked
            )
        )
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
            zip(numbers, check_kernels.rules_of_sides(self._rules, rules, own), strict=True)
        )
        return numbers

    def figures(self) -> dict[str, object]:
        """Return how many rounds there were of which kind, and what they moved."""
        counted = self._rounds.counted
        n_rules = len(self._rules.told)
        per_round = rules_per_round(n_rules, self._gamma)
        return {
            "levels": len(self.levels),
            "side_rounds": sum(level.n_of_sides for level in self.levels),
            "check_rounds": sum(level.n_of_checks for level in self.levels),
            "items_placed": sum(level.n_candidates for level in self.levels),
            "rules_checked": sum(level.n_checked for level in self.levels),
            "bytes_returned": sum(one.n_bytes for one in counted),
            "rounds_of_paper": rounds_of_paper(self.tried, n_rules, per_round, self._items.alpha),
        }

    def tree(self) -> SplitTree:
        """Return how the parts came about."""
        left, right = np.array(self.left, dtype=np.int32), np.array(self.right, dtype=np.int32)
        return SplitTree(left, right, np.array(self.n_items, dtype=np.int32))


def _sides(node: Node) -> tuple[Node, Node]:
    assert node.left is not None
    assert node.right is not None
    return node.left, node.right
