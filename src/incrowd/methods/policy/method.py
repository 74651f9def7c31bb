"""The method that applies a saved policy: its settings, and the way from rows to released rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.methods.base import TableMethod
from incrowd.methods.shared.options import KEEPS
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.progress import Progress


UNFIT = ("refuse", "search")


@documented
@dataclass(frozen=True)
class Policy(TableMethod):
    """Generalize every row to the cheapest combination of an earlier release that covers it.

    Beyond the papers. Groups that would not be valid among the new rows alone are not shown: the
    smallest first, their rows go to the next combination that covers them; at last groups give
    rows they can spare to combinations that lack some. What is left is suppressed where the job
    allows so many rows, else refused, or searched by ``cluster`` together with as few groups as
    make it valid. O(distinct rows · combinations) a round in the worst case, and the cheapest
    come first.
    """

    name: ClassVar[str] = "policy"
    keeps: ClassVar[frozenset[str]] = KEEPS

    combinations: str = option(
        "",
        flag="--policy-combinations",
        help="File with the released combinations of a policy; set by run --policy.",
    )
    unfit: str = option(
        "refuse",
        flag="--policy-unfit",
        help="Rows that fit no valid combination of the policy: refuse (exit 3), or search "
        "them anew.",
        choices=UNFIT,
    )
    rebase: tuple[str, ...] = option(
        (),
        help="Date columns that move with every batch: a combination of the policy stands for "
        "the same unit (day, month, year) of any period, not for the period it names.",
    )

    def __post_init__(self) -> None:
        if self.unfit not in UNFIT:
            raise unknown("answer to unfit rows", str(self.unfit), UNFIT, where="[method] unfit")
        if not isinstance(self.combinations, str) or not self.combinations:
            raise JobError(
                "a policy is a folder that an earlier run saved",
                remedy="Name it with --policy FOLDER; run --save-policy FOLDER makes one.",
            )
        object.__setattr__(self, "rebase", tuple(self.rebase))

    @property
    def files(self) -> list[str]:
        """The files that the settings name and a run reads."""
        return [self.combinations]

    def known_values(self) -> Mapping[str, Sequence[str]]:
        """Return values of the earlier release that hierarchies must have a place for."""
        from incrowd.methods.policy.files import read_known_values

        return read_known_values(Path(self.combinations).parent)

    def run(
        self, rows: Rows, conditions: Conditions, engine: Engine, seed: int, progress: Progress
    ) -> Rows:
        """Return the rows as the policy shows them; raises InfeasibleError where it cannot."""
        from incrowd.methods.policy.search import apply_policy

        return apply_policy(self, rows, conditions, engine, seed, progress)
