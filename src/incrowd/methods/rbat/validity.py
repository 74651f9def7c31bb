"""Whether rules and kᵐ-anonymity still hold once parts are split, and whether they can hold at
all.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError
from incrowd.methods.rbat.kernels import check as check_kernels
from incrowd.methods.rbat.kernels import km as km_kernels
from incrowd.methods.rbat.kernels.check import BILLION, LEFT, RIGHT, Demands, RuleTable
from incrowd.methods.rbat.parts import Parts, Split
from incrowd.methods.rbat.problem import billionths
from incrowd.methods.shared.item_parts import KmConditions, RuleConditions
from incrowd.threads import Team

ROWS_PER_THREAD = check_kernels.BLOCK_ROWS
"""Fewer distinct rows are counted sooner than threads are told of them; rules take blocks."""


class KmKeeper:
    """Counts the sets of parts that a split makes; all others are as they were."""

    def __init__(self, parts: Parts, conditions: KmConditions, team: Team) -> None:
        self._parts = parts
        self._conditions = conditions
        self._team = team
        self._counts = np.zeros((team.n_threads, 2 * parts.problem.n_public), dtype=np.int64)
        baskets = parts.problem.baskets
        per_row = len(baskets.items) / max(1, len(baskets.n_equal))
        self._steps_per_row = max(1, round(per_row * per_row)) if conditions.m > 2 else 1

    def keeps(self, split: Split) -> bool:
        """Whether every set of up to m parts that a row shows is shown by k rows."""
        ranges = self._team.ranges(len(split.rows), ROWS_PER_THREAD)
        if len(ranges) > 1 and self._conditions.m > 1:
            return not self._is_broken(split, ranges)
        parts = self._parts
        return not km_kernels.few_rows_break(
            parts.shown,
            split.rows,
            parts.flags,
            split.part,
            split.other_part,
            self._conditions.m,
            self._conditions.k,
            split.n_left > split.n_right,
            self._counts[0],
            parts.support,
        )

    def _is_broken(self, split: Split, ranges: list[tuple[int, int]]) -> bool:
        """The same by ranges of the rows; triples by shares of their first parts."""
        k, m = self._conditions.k, self._conditions.m
        sides = (RIGHT, LEFT) if split.n_left > split.n_right else (LEFT, RIGHT)
        if 0 < split.n_left < k or 0 < split.n_right < k:
            return True
        for side in (*sides, LEFT | RIGHT) if m > 2 else sides:
            if self._breaks_pairs(split, side, ranges):
                return True
        return m > 2 and any(self._breaks_triples(split, side) for side in sides)

    def _breaks_pairs(self, split: Split, side: int, ranges: list[tuple[int, int]]) -> bool:
        parts, k = self._parts, self._conditions.k

        def count(number: int) -> int:
            first, end = ranges[number]
            rows, counts = split.rows[first:end], self._counts[number]
            return int(km_kernels.count_side(parts.shown, rows, parts.flags, side, counts))

        n_both = sum(self._team.map(count, range(len(ranges))))
        counts = self._counts.sum(axis=0)
        self._counts[:] = 0
        counts[[split.part, split.other_part]] = 0
        return 0 < n_both < k or bool(((counts > 0) & (counts < k)).any())

    def _breaks_triples(self, split: Split, side: int) -> bool:
        parts, n_threads = self._parts, self._team.n_threads
        is_over = np.zeros(1, dtype=np.bool_)

        def look(share: int) -> bool:
            return bool(
                km_kernels.breaks_triples(
                    parts.shown,
                    split.rows,
                    parts.flags,
                    split.part,
                    split.other_part,
                    side,
                    self._conditions.k,
                    self._counts[share],
                    parts.support,
                    share,
                    n_threads,
                    is_over,
                )
            )

        return any(self._team.map(look, range(n_threads)))

    def steps(self, split: Split) -> int:
        """Return the rows that are read, times the pairs in them where sets of three count."""
        return len(split.rows) * self._steps_per_row

    def accepted(self, split: Split, left: int, right: int) -> None:
        """Nothing is kept between splits."""


# ── rules while parts are split: which of them touch a part, and whether they still hold ──────────


def rules_per_round(n_rules: int, gamma: int) -> int:
    """Return how many rules a round checks: all of them in γ rounds (Definition 6).

    Of a split only the rules that it touches are checked: it takes γ rounds at most.
    """
    return max(1, -(-n_rules // gamma))


class RuleKeeper:
    """Looks again at the rules that a split touches; all others hold as they did."""

    def __init__(self, parts: Parts, conditions: RuleConditions, gamma: int, team: Team) -> None:
        self._parts = parts
        self._conditions = conditions
        self._team = team
        table = parts.problem.rules
        self._per_round = rules_per_round(len(table.told), gamma)
        self.n_rounds = 0
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
        ranges = self._team.ranges(len(split.rows), ROWS_PER_THREAD)
        if len(ranges) > 1:
            return self._hold(rules, split.rows, ranges)
        parts = self._parts
        n_rounds = check_kernels.check_in_rounds(
            parts.shown,
            parts.problem.rules,
            rules,
            parts.side_of_item,
            parts.part_of_item,
            split.rows,
            parts.flags,
            self._local_of_part,
            self._local_of_told,
            self._per_round,
            self._conditions.k,
            billionths(self._conditions.confidence),
        )
        self.n_rounds += abs(int(n_rounds))
        return bool(n_rounds > 0)

    def _hold(
        self, rules: NDArray[np.int32], rows: NDArray[np.int32], ranges: list[tuple[int, int]]
    ) -> bool:
        """Whether rules hold, as ``check_in_rounds`` says, counted by ranges of the rows."""
        parts = self._parts
        local_of_part, local_of_told = self._local_of_part, self._local_of_told
        k, confidence = self._conditions.k, billionths(self._conditions.confidence)
        per_round = self._per_round
        for begin in range(0, len(rules), per_round):
            self.n_rounds += 1
            demands, others, n_bits, n_told = check_kernels.number_demands(
                parts.problem.rules,
                rules[begin : begin + per_round],
                parts.side_of_item,
                parts.part_of_item,
                local_of_part,
                local_of_told,
            )
            count = partial(
                self._count, Demands(*demands), others, n_bits, n_told, rows, parts.flags
            )
            counted = self._team.map(count, ranges)
            holding, telling = (np.sum(counts, axis=0) for counts in zip(*counted, strict=True))
            if not check_kernels.are_demands_met(
                Demands(*demands), holding, telling, local_of_part, local_of_told, k, confidence
            ):
                return False
        return True

    def _count(
        self,
        demands: Demands,
        others: NDArray[np.int32],
        n_bits: int,
        n_told: int,
        rows: NDArray[np.int32],
        flags: NDArray[np.uint8],
        within: tuple[int, int],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the demands within a range of the rows."""
        return check_kernels.count_demands(
            self._parts.shown,
            demands,
            others,
            n_bits,
            n_told,
            rows[within[0] : within[1]],
            flags,
            self._local_of_part,
            self._local_of_told,
        )

    def steps(self, split: Split) -> int:
        """Return the rows that are read."""
        return len(split.rows)

    def accepted(self, split: Split, left: int, right: int) -> None:
        """Hand the part's rules on to its sides."""
        parts = self._parts
        rules = self._touched(split)
        self._rules_of_part.pop(split.part)
        self._rules_of_part[left], self._rules_of_part[right] = check_kernels.rules_of_sides(
            parts.problem.rules, rules, parts.side_of_item
        )

    def _touched(self, split: Split) -> NDArray[np.int32]:
        """Return the rules with an item of what is split, in the order in which they are stated."""
        rules = self._rules_of_part[split.part]
        if split.other_part == split.part:
            return rules
        return np.union1d(rules, self._rules_of_part[split.other_part])


# ── whether even one part of all public items meets the conditions, and what would do if not ──────

MOST_NAMED = 20
"""How many rules an error names; it counts all of them."""


class Counted(Protocol):
    """What is counted before any split, in one process or on an engine: see ``Problem``."""

    @property
    def n_public(self) -> int:
        """How many public items occur."""

    @property
    def n_rows(self) -> int:
        """How many rows hold one."""

    @property
    def n_telling(self) -> NDArray[np.int64]:
        """How many of them hold each sensitive set of rules."""

    @property
    def rules(self) -> RuleTable:
        """The rules whose items occur."""

    @property
    def rule_numbers(self) -> NDArray[np.int64]:
        """Which of the stated rules these are."""


def refuse_infeasible(problem: Counted, conditions: RuleConditions | KmConditions) -> None:
    """Raise InfeasibleError unless all public items as one part meet the conditions.

    Where all public parts have become one, every rule has as many rows as hold any public item,
    and no split raises that. The remedy names the largest k and the least confidence that do.
    """
    if not problem.n_public:
        return
    if isinstance(conditions, KmConditions):
        if problem.n_rows < conditions.k:
            raise InfeasibleError(
                f"only {problem.n_rows} transactions hold a public item, fewer than "
                f"k = {conditions.k}",
                remedy=f"Ask for k of {problem.n_rows} at most.",
            )
        return
    table = problem.rules
    if not len(table.told):
        return
    telling = problem.n_telling[table.told]
    is_rare = problem.n_rows < conditions.k
    most = billionths(conditions.confidence) * problem.n_rows
    sure = problem.rule_numbers[telling * BILLION > most]
    n_sure = len(sure)
    if not is_rare and not n_sure:
        return
    n_rules = len(table.told)
    least = _round_up(int(telling.max()), problem.n_rows)
    reasons = []
    remedies = []
    if is_rare:
        reasons.append(
            f"only {problem.n_rows} transactions hold a public item, fewer than k = {conditions.k}"
        )
        remedies.append(f"k of {problem.n_rows} at most")
    if n_sure:
        reasons.append(
            f"{n_sure} of {n_rules} rules have a confidence above {conditions.confidence:g} where "
            f"all public items are one ({_listed(sure)})"
        )
        remedies.append(f"a confidence of {least} at least")
    raise InfeasibleError(
        "; ".join(reasons),
        remedy=f"Ask for {' and '.join(remedies)}, or state other rules.",
    )


def _listed(rules: NDArray[np.int64]) -> str:
    """Return rules by their numbers, the first of many."""
    named = ", ".join(str(number) for number in rules[:MOST_NAMED].tolist())
    what = "rule" if len(rules) == 1 else "rules"
    return f"{what} {named}{', …' if len(rules) > MOST_NAMED else ''}"


def _round_up(n_telling: int, n_rows: int) -> str:
    """Return the least share with four digits that is not below the exact one."""
    share = -(-n_telling * 10_000 // n_rows) / 10_000
    return f"{share:g}"
