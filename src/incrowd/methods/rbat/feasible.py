"""Whether even one part of all public items keeps a promise, and what would do if not."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError
from incrowd.methods.rbat.kernel_check import BILLION
from incrowd.methods.rbat.kernel_demands import RuleTable
from incrowd.methods.rbat.problem import billionths
from incrowd.methods.rbat.promise import KmPromise, RulePromise

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


def refuse_infeasible(problem: Counted, promise: RulePromise | KmPromise) -> None:
    """Raise InfeasibleError unless all public items as one part keep the promise.

    Where all public parts have become one, every rule has as many rows as hold any public item,
    and no split raises that. The remedy names the largest k and the least confidence that do.
    """
    if not problem.n_public:
        return
    if isinstance(promise, KmPromise):
        if problem.n_rows < promise.k:
            raise InfeasibleError(
                f"only {problem.n_rows} transactions hold a public item, fewer than "
                f"k = {promise.k}",
                remedy=f"Ask for k of {problem.n_rows} at most.",
            )
        return
    table = problem.rules
    if not len(table.told):
        return
    telling = problem.n_telling[table.told]
    is_rare = problem.n_rows < promise.k
    most = billionths(promise.confidence) * problem.n_rows
    sure = problem.rule_numbers[telling * BILLION > most]
    n_sure = len(sure)
    if not is_rare and not n_sure:
        return
    n_rules = len(table.told)
    least = _rounded_up(int(telling.max()), problem.n_rows)
    reasons = []
    remedies = []
    if is_rare:
        reasons.append(
            f"only {problem.n_rows} transactions hold a public item, fewer than k = {promise.k}"
        )
        remedies.append(f"k of {problem.n_rows} at most")
    if n_sure:
        reasons.append(
            f"{n_sure} of {n_rules} rules have a confidence above {promise.confidence:g} where "
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


def _rounded_up(n_telling: int, n_rows: int) -> str:
    """Return the least share with four digits that is not below the exact one."""
    share = -(-n_telling * 10_000 // n_rows) / 10_000
    return f"{share:g}"
