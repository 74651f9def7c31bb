"""RBAT: its settings, and the way to parts of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.methods.base import TransactionMethod
from incrowd.methods.shared.options import NONE, parse_effort
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.engines.base import Engine
    from incrowd.engines.items import ItemRows
    from incrowd.guarantees.table import Guarantee
    from incrowd.methods.shared.item_parts import FoundParts, KmConditions, RuleConditions
    from incrowd.progress import Progress
    from incrowd.sets.sets import Sets


FULL = "full"

ORDERS = ("together", "paper")

AUTO, DRIVER, ENGINE = "auto", "driver", "engine"


@documented
@dataclass(frozen=True)
class Rbat(TransactionMethod):
    """Split the public items, all in one part at first, for as long as every rule holds.

    Follows RBAT and MR-RBAT (Memon and Shao 2015, Algorithms 1 to 5). Deviation: an item goes to
    the side on which it loses less (line 11 of Algorithm 4 prints the opposite). Then, beyond the
    paper, parts are split further and items moved while the conditions hold and less is lost.
    About O(entries · depth of the splits), and linear memory.
    """

    name: ClassVar[str] = "rbat"
    n_kernels: ClassVar[int] = 47
    keeps: ClassVar[frozenset[str]] = frozenset({"rules", "km"})

    alpha: str | int = option(
        4,
        help="Number of buckets in which a split assigns items to sides; full decides item by "
        "item.",
    )
    gamma: int = option(
        4,
        help="Number of rounds in which rules are checked; affects time, not the result.",
        minimum=1,
    )
    order: str = option(
        "together",
        help="Order in which a split takes items: most frequent first, or as in the paper.",
        choices=ORDERS,
    )

    improve: str | int = option(
        "auto",
        help="Effort of the improvement after the paper's search: a number of passes, a time "
        "(10s, 2m), quick, auto or full (1, 3 or up to 100 passes), or none.",
    )

    rounds: str = option(
        AUTO,
        help="Where rules are counted: in the driver's memory, or in rounds on the engine "
        "(without improve); auto: in rounds on Spark or if --memory does not suffice, unless "
        "improve is stated; else driver.",
        choices=(AUTO, DRIVER, ENGINE),
    )

    def __post_init__(self) -> None:
        alpha = self.alpha
        if isinstance(alpha, str):
            alpha = alpha.strip().lower()
            alpha = int(alpha) if alpha.isdecimal() else alpha
            object.__setattr__(self, "alpha", alpha)
        if alpha != FULL and (type(alpha) is not int or alpha < 1):
            raise JobError(
                "alpha is neither a whole number of 1 or more nor full",
                remedy="State --alpha 4, for example, or --alpha full.",
            )
        if type(self.gamma) is not int or self.gamma < 1:
            raise JobError(
                "gamma is not a whole number of 1 or more", remedy="State --gamma 4, for example."
            )
        if self.order not in ORDERS:
            raise unknown("order", str(self.order), ORDERS, where="order")
        if self.rounds not in (AUTO, DRIVER, ENGINE):
            raise unknown("rounds", str(self.rounds), (AUTO, DRIVER, ENGINE), where="rounds")
        improve = NONE if str(self.improve) in ("0", NONE) else parse_effort(self.improve)
        object.__setattr__(self, "improve", improve)

    def refuse_guarantee(self, guarantee: Guarantee) -> None:
        """Raise JobError where this guarantee cannot be counted as it is asked for."""
        if guarantee.name == "km":
            self._refuse_rounds_of_km()

    def _refuse_rounds_of_km(self) -> None:
        if self.rounds == ENGINE:
            raise JobError(
                "rounds on the engine count rules, not every set of m items",
                remedy="Leave --rounds out for km, or state --rounds driver.",
            )

    def search(
        self,
        sets: Sets,
        conditions: RuleConditions | KmConditions,
        engine: Engine | None,
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> FoundParts:
        """Return a partition of the public items that meets the conditions.

        Threads, blocks and seed change nothing. Raises InfeasibleError where not even one part of
        all items keeps it.
        """
        from incrowd.methods.shared.item_parts import KmConditions

        if isinstance(conditions, KmConditions):
            self._refuse_rounds_of_km()
        elif engine is not None and self._is_by_rounds(engine):
            from incrowd.engines.items import ItemRows

            return self.search_rows(ItemRows.of_sets(engine, sets), conditions, progress)
        from incrowd.engines.base import threads_of
        from incrowd.methods.rbat.search import search

        return search(
            sets,
            conditions,
            alpha=self.alpha,
            gamma=self.gamma,
            order=self.order,
            effort=self.improve,
            progress=progress,
            n_threads=threads_of(engine),
        )

    def why_in_process(self, guarantee: Guarantee) -> str:
        """Return why one process must hold all transactions; nothing where an engine counts."""
        if guarantee.name == "km":
            return "kᵐ-anonymity counts every set of m items"
        if self.rounds == DRIVER:
            return 'rounds = "driver" counts rules in the memory of one process'
        if self._improves:
            return f"improve = {self.improve} counts rules in the memory of one process"
        return ""

    def search_rows(
        self, rows: ItemRows, conditions: RuleConditions | KmConditions, progress: Progress
    ) -> FoundParts:
        """Return the partition that rules counted in rounds lead to; no row comes here."""
        from incrowd.methods.rbat.rounds.search import search_by_rounds
        from incrowd.methods.shared.item_parts import RuleConditions

        assert isinstance(conditions, RuleConditions)  # ``why_in_process`` has said so
        return search_by_rounds(
            rows,
            conditions,
            alpha=self.alpha,
            gamma=self.gamma,
            order=self.order,
            settings={"rounds": ENGINE, "improve": NONE} if self.rounds == AUTO else {},
            progress=progress,
        )

    @property
    def _improves(self) -> bool:
        """Whether an improvement is asked for that rounds on an engine do not make."""
        return self.rounds == AUTO and self.improve not in (AUTO, NONE)

    def _is_by_rounds(self, engine: Engine) -> bool:
        """Whether rules are counted in rounds on the engine."""
        if self.rounds != AUTO:
            return self.rounds == ENGINE
        return engine.name == "spark" and not self._improves
