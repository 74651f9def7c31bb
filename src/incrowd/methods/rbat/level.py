"""The splits of a level against the rules, in as few rounds as their order allows (Algorithm 5).

Splits are decided one after the other, each with those before it made or not. What a rule comes
to is therefore counted for every case: with and without each of the splits that it touches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat import kernel_level
from incrowd.methods.rbat.counts import DemandCounts, Request
from incrowd.methods.rbat.kernel_demands import RuleTable
from incrowd.methods.rbat.kernel_level import ACCEPTED, MOST_CASES, OPEN, REJECTED, LevelRules
from incrowd.methods.rbat.kernel_nodes import NodeDemands

LEAST_RULES = 4096
"""A round of fewer rules would cost more than it can spare."""


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
        self._per_round = max(LEAST_RULES, -(-len(self._rules) // gamma))
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
        table = self._table
        rules = self._rules[some]
        n_parts = len(self._split_of_part)
        n_touched, begins, touched, cases, demand, starts, nodes = kernel_level.cases_of_rules(
            table,
            rules,
            self._part_of_item,
            self._side_of_item,
            self._split_of_part,
            self.status,
            n_parts,
            kernel_level.room_for_cases(table, rules),
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
        kernel_level.settle(
            self.status,
            self._starts,
            self._places,
            self._cases,
            self._holding,
            self._telling,
            self._k,
            self._confidence,
        )
