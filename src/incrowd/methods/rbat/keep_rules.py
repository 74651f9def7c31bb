"""Rules while parts are split: which of them touch a part, and whether they still hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat import kernel_check, kernel_demands
from incrowd.methods.rbat.parts import Parts, Split
from incrowd.methods.rbat.problem import billionths
from incrowd.methods.rbat.promise import RulePromise


class RuleKeeper:
    """Looks again at the rules that a split touches; all others hold as they did."""

    def __init__(self, parts: Parts, promise: RulePromise, gamma: int) -> None:
        self._parts = parts
        self._promise = promise
        self._gamma = gamma
        table = parts.problem.rules
        self._rules_of_part: dict[int, NDArray[np.int32]] = {
            0: np.arange(len(table.told), dtype=np.int32)
        }
        self._local_of_part = np.zeros(2 * parts.problem.n_public, dtype=np.int32)
        self._local_of_told = np.full(table.n_told, -1, dtype=np.int32)

    def keeps(self, split: Split) -> bool:
        """Whether every rule holds once this split is made (Algorithm 5)."""
        rules = self._touched(split)
        if not len(rules):
            return True
        parts = self._parts
        return bool(
            kernel_check.rules_hold(
                parts.shown,
                parts.problem.rules,
                rules,
                parts.side_of_item,
                parts.part_of_item,
                split.rows,
                parts.flags,
                self._local_of_part,
                self._local_of_told,
                self._gamma,
                self._promise.k,
                billionths(self._promise.confidence),
            )
        )

    def steps(self, split: Split) -> int:
        """Return the rows that are read."""
        return len(split.rows)

    def accepted(self, split: Split, left: int, right: int) -> None:
        """Hand the part's rules on to its sides."""
        parts = self._parts
        rules = self._touched(split)
        self._rules_of_part.pop(split.part)
        self._rules_of_part[left], self._rules_of_part[right] = kernel_demands.rules_of_sides(
            parts.problem.rules, rules, parts.side_of_item
        )

    def _touched(self, split: Split) -> NDArray[np.int32]:
        """Return the rules with an item of what is split, in the order in which they are stated."""
        rules = self._rules_of_part[split.part]
        if split.other_part == split.part:
            return rules
        return np.union1d(rules, self._rules_of_part[split.other_part])
