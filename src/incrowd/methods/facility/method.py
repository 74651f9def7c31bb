"""The facility method of sets: its settings, and the way to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.methods.base import SetMethod
from incrowd.methods.shared.options import chunk_rows_option, require_chunk_rows
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.set_groups.vote import Found, SetConditions
    from incrowd.progress import Progress
    from incrowd.sets.sets import EntryStorage, Sets


VARIANTS = ("practical", "alg1", "alg2")


@documented
@dataclass(frozen=True)
class Facility(SetMethod):
    """Open some rows as facilities, each at the price of its nearest rows; clients are groups.

    Follows Esfandiari et al. 2022 (Alg. 1, Alg. 2 and the practical variant of Appendix D); their
    "Anonymizing List Data" is Alg. 2 with α = 1/2. Deviation: their approximation algorithms for
    medians and facility location are replaced by greedy and online ones, so no factor is claimed.
    Above half as many again as ``chunk_rows`` rows are searched in chunks of near ones (minhashes,
    Appendix D). About O(rows · holders of a row's items) per order, within a chunk.
    """

    name: ClassVar[str] = "facility"
    n_kernels: ClassVar[int] = 24
    keeps: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "majority", "suppression", "k-per-person"}
    )
    works_in_chunks: ClassVar[bool] = True

    variant: str = option(
        "practical",
        help="Algorithm of the papers: the practical variant, lower-bounded medians (alg1), or "
        "facilities closed and merged (alg2).",
        choices=VARIANTS,
    )
    alpha: float = option(
        0.5,
        help="alg2: clusters below this share of k are closed; also sets the opening costs.",
        minimum=0,
        maximum=1,
    )
    beta: float = option(
        2.0,
        help="practical: opening costs are summed over the beta · k nearest rows.",
        minimum=1,
    )
    orders: int = option(
        10, help="Number of random row orders to try; the cheapest is kept.", minimum=1
    )
    cut: bool = option(
        True,
        help="Split groups of 2k rows and more; the papers leave them whole.",
    )

    chunk_rows: int = chunk_rows_option()
    repairs: int = option(
        2,
        help="With several chunks: how often the rows of the worst groups of all chunks are "
        "grouped anew; the paper has 0.",
        minimum=0,
    )

    def __post_init__(self) -> None:
        require_chunk_rows(self.chunk_rows)
        if self.variant not in VARIANTS:
            raise unknown("variant", str(self.variant), VARIANTS, where="variant")
        if not _is_number(self.alpha) or not 0 < self.alpha < 1:
            raise JobError(
                "alpha is not a number between 0 and 1", remedy="State 0.5, for example."
            )
        if not _is_number(self.beta) or not 1 < self.beta < 1e6:
            raise JobError("beta is not a number above 1", remedy="State 2, for example.")
        if not isinstance(self.orders, int) or isinstance(self.orders, bool) or self.orders < 1:
            raise JobError(
                "orders is not a whole number of 1 or more", remedy="State 10, for example."
            )
        if not isinstance(self.repairs, int) or isinstance(self.repairs, bool) or self.repairs < 0:
            raise JobError(
                "repairs is not a whole number of 0 or more", remedy="State 2, for example."
            )
        if type(self.cut) is not bool:
            raise JobError("cut is neither true nor false", remedy="State one of the two.")

    def search(
        self,
        sets: Sets,
        conditions: SetConditions,
        engine: Engine | None,
        seed: int,
        progress: Progress,
        storage: EntryStorage | None = None,
    ) -> Found:
        """Return groups of rows, each with as many as the most demanding of them asks for.

        Rows that are searched at once are searched in this process, on the engine's number of
        threads; chunks on the engine, one thread each. Neither changes anything.
        """
        from incrowd.methods.facility.search import search

        return search(
            sets,
            conditions,
            variant=self.variant,
            alpha=self.alpha,
            beta=self.beta,
            orders=self.orders,
            cut=self.cut,
            chunk_rows=self.chunk_rows,
            repairs=self.repairs,
            seed=seed,
            engine=engine,
            progress=progress,
            storage=storage,
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
